"""The warm parent: imports what the program will import, and lets children go on as the
program.

Only a child that was asked for returns from `begin`; every other way out ends the process
on the spot. What was found out goes to one of two files beside the socket: the state, by
which a client tells whether this parent is right for it, or the reason why there is none.
"""

import os
import sys


class Unsuitable(Exception):
    """Why no program can be started from here; a sentence."""


class Plan:
    """What we are told: kinds, each with two values."""

    def __init__(self, fd):
        with open(fd, "rb") as file:
            fields = os.fsdecode(file.read()).split("\0")
        self.process = os.getpid()
        self.one = {}
        self.modules = {}
        self.sets = set()
        self.varies = set()
        self.changed = {}
        self.arguments = []
        self.always = ()
        self.own = []
        self.skeletons = []
        self.influences = set()
        self.facts = []
        self.replaces = []
        self.libraries = ()
        self.roots = ()
        for kind, name, value in zip(*[iter(fields)] * 3):
            if kind == "module":
                self.modules[name] = value
            elif kind == "sets":
                self.sets.add(name)
            elif kind == "varies":
                self.varies.add(name)
            elif kind == "changed":
                self.changed[name] = bool(value)
            elif kind == "argument":
                self.arguments.append(name)
            elif kind == "always":
                self.always += (name,)
            elif kind == "own":
                self.own.append((name, value))
            elif kind == "skeleton":
                self.skeletons.append((name, value))
            elif kind == "influence":
                self.influences.add(name)
            elif kind == "fact":
                self.facts.append((name, value))
            elif kind == "replaces":
                self.replaces.append(name)
            elif kind == "library":
                self.libraries += (name,)
            elif kind == "root":
                self.roots += (name,)
            else:
                self.one[kind] = name
                if kind == "learned":
                    self.stamp = value

    def tell(self, sentence):
        """To who waits for this parent, if anybody does."""
        if "progress" in self.one:
            try:
                os.write(int(self.one["progress"]), os.fsencode(sentence) + b"\n")
            except OSError:
                pass

    def path(self, ending):
        return os.path.join(self.one["directory"], self.one["name"] + ending)


def begin(fd, load, collector):
    """`fd` has what we are told; `load` gives the names of one of our other files."""
    plan = None
    try:
        plan = Plan(int(fd))
        if "progress" in plan.one:
            os.set_inheritable(int(plan.one["progress"]), False)
        tracer = load("tracer.py")["Tracer"](int(plan.one["tracer"]))
        go_on = prepare(plan, load, tracer, collector)
    except BaseException as error:
        fail(plan, error)
    # From here on this is the program.
    go_on()


def prepare(plan, load, tracer, collector):
    """Imports, and serves; returns in a child, with what is left to do there."""
    tracer.say("begin")
    check_interpreter()
    # A script that names its interpreter gives the process its own name.
    with open("/proc/self/comm", "wb", 0) as file:
        file.write(os.fsencode(plan.one["process-name"]))
    # Those of the start for which this is made; a child has its own. Modules that look at
    # them when they are imported are right only for who has the same.
    sys.argv[1:] = plan.arguments
    making = Making(plan, load, tracer, collector)
    making.search_first()
    found = making.probe["find_safe"](plan, making.tools)
    found.asked.add(making.asked_before)
    making.search_as_before()
    end = making.end_of_prefix(found)
    if callable(end):
        return making.beginning(end)  # This is a trial.
    if end is None:
        if not found.names:
            raise Unsuitable(found.reason or "it imports nothing that could be imported ahead")
        making.search_first()
        making.make_imports(found)
        making.search_as_before()
        return making.serve(found)
    if ("temporary", "") in end.said:
        tracer.say("permit")
    run = load("prefix.py")["run"]
    return making.beginning(run(plan, tracer, end, lambda hook: making.arrive(hook, end)))


class Making:
    """A parent that comes up."""

    def __init__(self, plan, load, tracer, collector):
        self.plan, self.load, self.tracer = plan, load, tracer
        self.collector = collector
        # Called at the end of the program, after everything that it has registered itself.
        plan.last = []
        load("learn.py")["at_exit"](lambda: [each() for each in plan.last])
        self.probe, self.chance = load("probe.py"), load("chance.py")
        self.base = Base(plan, self.probe["descriptors"]())
        self.tools = self.probe["Tools"](tracer, self.chance, load)
        # Installed modules may look for files beside the program, such as plugins.
        plan.first = searched_first(plan.one.get("script"))
        self.asked_before = self.probe["asked_before"](self.tools)

    def search_first(self):
        """In the directory that Python searches before all others."""
        if self.plan.first:
            sys.path.insert(0, self.plan.first)

    def search_as_before(self):
        if self.plan.first:
            sys.path.remove(self.plan.first)
            sys.path_importer_cache.pop(self.plan.first, None)

    def end_of_prefix(self, found):
        """Up to where the program itself runs in this parent; None if it does not."""
        if not found.is_restricted or "prefix" not in self.plan.one:
            return None
        end = self.load("prefix.py")["find_end"](self.plan, self.tools, self.probe)
        is_of_use = end is None or callable(end) or end.modules() > found.modules
        return end if is_of_use else None

    def beginning(self, begin):
        """A function that has the program run."""

        def last():
            self.collector.begin()
            begin()

        return last

    def arrive(self, hook, end):
        """At the end of the prefix, or without a hook elsewhere. Returns in a child, with what
        is left to do there."""
        try:
            # What the program has left behind is for each child to collect.
            self.collector.pause()
            stamp = self.load("state.py")["stamp"]
            if hook is None or any(stamp(path) != then for path, then in self.plan.own):
                raise Unsuitable("its first lines ran otherwise than on trial")
            held = end.held()
            if self.probe["output"]() != [b"", held]:
                raise Unsuitable("its first lines print otherwise than on trial")
            self.probe["clear_output"]()
            known = set(sys.modules)
            here = set(self.chance["states"]())
            for name in set(sys.modules) - known:
                del sys.modules[name]
            found = self.probe["find_safe"](self.plan, self.tools, hook)
            later = [state for state in found.states if state not in here]
            asked, is_temporary, found.states = found.asked, found.temporary, later
            self.probe["take"](found, end.said)
            found.asked.add(asked)
            found.asked.add(self.asked_before)
            found.temporary = is_temporary
            found.end, found.searched = end, hook.names
            self.make_imports(found)
            go_on = self.serve(found)
        except BaseException as error:
            fail(self.plan, error)

        def last():
            write_error(held)
            go_on()
            self.collector.resume()

        return last

    def make_imports(self, found):
        plan, tracer, probe = self.plan, self.tracer, self.probe
        plan.tell("%d modules are imported" % len(found.names))
        if found.temporary:
            tracer.say("permit")
        tracer.say("theirs")
        for name in found.names:
            probe["import_quietly"](name)
        tracer.say("ours")
        problem = probe["problem"](self.base.descriptors)
        if problem:
            raise Unsuitable("one of its modules " + problem)
        check_origins(plan)
        self.temporary = self.load("temporary.py")["take"]()
        # From here on nothing traces this process any more.
        searched = [path for path in sys.path if isinstance(path, str)]
        found.ledger = tracer.ledger(int(plan.one["ledger"]), searched)
        if not found.ledger:
            raise Unsuitable("its tracer has left it")

    def serve(self, found):
        """Returns in a child, with what is left to do there."""
        plan, load = self.plan, self.load
        self.base.see_changes()
        known = set(sys.modules)
        by_chance = self.chance["by_chance"](found.states)
        for name in set(sys.modules) - known:
            del sys.modules[name]
        telling = title(plan, found, load)
        renew = load("draws.py")["Renewal"](self.chance, by_chance, self.temporary)
        return load("serve.py")["serve"](plan, self.base, found, load, renew, telling)


def write_error(text):
    """To standard error, which may be gone."""
    try:
        while text:
            text = text[os.write(2, text) :]
    except OSError:
        pass


def searched_first(script):
    """The directory or archive that Python will put before all others; None if none."""
    if getattr(sys.flags, "safe_path", False):
        return None
    if script is None:
        return os.getcwd()
    for hook in sys.path_hooks:
        try:
            hook(script)
        except ImportError:
            continue
        return script
    return os.path.dirname(os.path.realpath(script))


def title(plan, found, load):
    """By which children put their arguments in place, if they can."""
    title = load("title.py")
    telling = title["telling"](plan.modules)
    if title["CHANGES_TITLE"] in plan.modules:
        if telling is None:
            raise Unsuitable("it uses setproctitle, and this Python has no ctypes")
        # Else only starts with as many arguments would be right.
        found.arguments = found.arguments or not telling.takes_any_arguments()
    return telling


def check_interpreter():
    if sys.implementation.name != "cpython" or sys.version_info < (3, 8):
        raise Unsuitable("only CPython from 3.8 on can be forked warm")
    if "t" in getattr(sys, "abiflags", ""):
        raise Unsuitable("this Python is free-threaded, whose threads do not survive a fork")
    if sys.flags.inspect or sys.flags.interactive:
        raise Unsuitable("it is interactive")
    if sys.gettrace() or sys.getprofile():
        raise Unsuitable("it is traced")


def check_origins(plan):
    """Everything must come from where the program has it from."""
    for name, module in list(sys.modules.items()):
        origin = plan.modules.get(name)
        file = getattr(module, "__file__", None)
        if origin and file and os.path.isabs(origin) and file != origin:
            raise Unsuitable("its module %s is %s, not the installed one" % (name, origin))


class Base:
    """What this process had before it imported anything."""

    def __init__(self, plan, descriptors):
        self.modules = set(sys.modules)
        self.descriptors = descriptors
        now = os.environ._data
        with open("/proc/self/environ", "rb") as file:
            entries = [entry.partition(b"=") for entry in file.read().split(b"\0")]
        # What we were started with, but for what told us where to begin.
        self.given = {name: value for name, _, value in entries if name in now}
        if b"PYTHONPATH" in now:
            self.given[b"PYTHONPATH"] = now[b"PYTHONPATH"]
        # What Python itself has added: LC_CTYPE, where it must.
        self.added = {
            name: value for name, value in now.items() if self.given.get(name) != value
        }
        self.before = dict(now)
        self.changes = {}

    def see_changes(self):
        """What imports have changed of the environment, a child is to have as well."""
        now = os.environ._data
        for name in set(self.before) | set(now):
            if self.before.get(name) != now.get(name):
                self.changes[name] = now.get(name)


def fail(plan, error):
    """Ends this process; the parent leaves a sentence for the clients that will ask for it."""
    if plan and os.getpid() == plan.process:
        tell(plan, str(error) if isinstance(error, Unsuitable) else "it failed: %r" % error)
    os._exit(1)


def tell(plan, reason):
    try:
        path = plan.path(".plain")
        new = "%s.new-%d" % (path, os.getpid())
        with open(new, "w", encoding="utf-8", errors="replace") as file:
            file.write(reason)
        os.rename(new, path)
    except Exception:
        pass
