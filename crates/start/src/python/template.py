"""The warm parent: imports the modules of the program, and forks children that continue as the
program.

Only a child that serves a start returns from `begin`; everything else exits the process. The
result is one of two files next to the socket: the state, by which a client decides whether
this parent matches its start, or the reason why the parent could not be made.
"""

import os
import sys


class Unsuitable(Exception):
    """The reason why no program can be started from this process."""


class Plan:
    """The instructions of the client: records of a kind and two values."""

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
        self.absent = []
        self.influences, self.harmless = set(), set()
        self.facts = []
        self.replaces = []
        self.libraries = ()
        self.roots = ()
        self.status, self.namespaces = [], []
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
            elif kind == "absent":
                self.absent.append(name)
            elif kind == "influence":
                self.influences.add(name)
            elif kind == "harmless":
                self.harmless.add(name)
            elif kind == "fact":
                self.facts.append((name, value))
            elif kind == "replaces":
                self.replaces.append(name)
            elif kind == "library":
                self.libraries += (name,)
            elif kind == "root":
                self.roots += (name,)
            elif kind == "status":
                self.status.append(name)
            elif kind == "namespace":
                self.namespaces.append(name)
            else:
                self.one[kind] = name
                if kind == "learned":
                    self.stamp = value

    def tell(self, sentence):
        """Sends a progress message to the client that waits for this parent, if any."""
        if "progress" in self.one:
            try:
                os.write(int(self.one["progress"]), os.fsencode(sentence) + b"\n")
            except OSError:
                pass

    def path(self, ending):
        return os.path.join(self.one["directory"], self.one["name"] + ending)


def begin(fd, load, collector):
    """Reads the plan from `fd`; `load` returns the namespace of another of our files."""
    plan = None
    try:
        plan = Plan(int(fd))
        if "progress" in plan.one:
            os.set_inheritable(int(plan.one["progress"]), False)
        tracer = load("tracer.py")["Tracer"](int(plan.one["tracer"]))
        go_on = prepare(plan, load, tracer, collector)
    except BaseException as error:
        fail(plan, error)
    # From here on this process is the program.
    go_on()


def prepare(plan, load, tracer, collector):
    """Imports, and serves; returns in a child, with its last step."""
    tracer.say("begin")
    check_interpreter()
    # A script with a `#!` line gives its name to the process.
    with open("/proc/self/comm", "wb", 0) as file:
        file.write(os.fsencode(plan.one["process-name"]))
    # The arguments of the start that requested this parent; each child sets its own. If
    # modules read them during import, the parent only serves starts with the same ones.
    sys.argv[1:] = plan.arguments
    if hasattr(sys, "orig_argv"):
        sys.orig_argv += plan.arguments
    making = Making(plan, load, tracer, collector)
    making.search_first()
    found = making.probe["find_safe"](plan, making.tools)
    found.asked.add(making.asked_before)
    making.search_as_before()
    end = making.end_of_prefix(found)
    if callable(end):
        return making.beginning(end)  # This process is a trial.
    if end is None:
        if not found.names:
            raise Unsuitable(found.reason or "it imports nothing that could be imported ahead")
        if plan.finalizes:
            raise Unsuitable("its finalizers (__del__) would run at other times")
        making.search_first()
        making.make_imports(found)
        making.search_as_before()
        return making.serve(found)
    if ("temporary", "") in end.said:
        tracer.say("permit")
    run = load("prefix.py")["run"]
    return making.beginning(run(plan, tracer, end, lambda hook: making.arrive(hook, end)))


class Making:
    """A parent while it is being created."""

    def __init__(self, plan, load, tracer, collector):
        self.plan, self.load, self.tracer = plan, load, tracer
        self.collector = collector
        # Called when the program exits, after all functions that it has registered.
        plan.last = []
        learn = load("learn.py")
        plan.finalizes, plan.names_of = defines_finalizers(plan), learn["names_of"]
        plan.is_last = load("exits.py")["register_first"](
            lambda: learn["at_exit"](lambda: [each() for each in plan.last])
        )
        self.probe, self.chance = load("probe.py"), load("chance.py")
        self.base = Base(plan, self.probe["descriptors"]())
        self.tools = self.probe["Tools"](tracer, self.chance, load)
        # Installed modules may search for files next to the program, such as plugins.
        plan.first = searched_first(plan.one.get("script"))
        self.asked_before = self.probe["asked_before"](plan, self.tools)

    def search_first(self):
        """Adds the directory that Python searches first."""
        if self.plan.first:
            sys.path.insert(0, self.plan.first)

    def search_as_before(self):
        if self.plan.first:
            sys.path.remove(self.plan.first)
            sys.path_importer_cache.pop(self.plan.first, None)

    def end_of_prefix(self, found):
        """The end of the lines of the program that run in this parent; None if none do."""
        alone = self.plan.finalizes
        if not (found.is_restricted or alone) or "prefix" not in self.plan.one:
            return None
        end = self.load("prefix.py")["find_end"](self.plan, self.tools, self.probe)
        is_of_use = end is None or callable(end) or alone or end.modules() > found.modules
        return end if is_of_use else None

    def beginning(self, begin):
        """Returns a function that runs the program."""

        def last():
            self.collector.begin()
            begin()

        return last

    def arrive(self, hook, end):
        """Called at the end of the prefix, or without a hook if that was not reached. Returns
        in a child, with its last step."""
        try:
            # Each child collects the garbage of the program itself.
            self.collector.pause()
            stamp = self.load("state.py")["stamp"]
            if hook is None or any(stamp(path) != then for path, then in self.plan.own):
                raise Unsuitable("its first lines ran differently than in the trial")
            held = end.held()
            if self.probe["output"]() != [b"", held]:
                raise Unsuitable("its first lines printed something else than in the trial")
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

        entered = hook.entered

        def last():
            self.plan.hidden.enter(entered)
            write_error(held)
            go_on()
            self.collector.resume()

        return last

    def make_imports(self, found):
        plan, tracer, probe = self.plan, self.tracer, self.probe
        plan.tell("importing %d modules" % len(found.names))
        if found.temporary:
            tracer.say("permit")
        loaded = {"effects.py": self.tools.effects, "importing.py": self.tools.importing}

        def part(name):
            """Each only once: objects of its classes are compared."""
            loaded[name] = loaded.get(name) or self.load(name)
            return loaded[name]

        nodes, names_of = part("nodes.py"), plan.names_of
        places = part("places.py")["Places"](part("effects.py"), found.places, names_of)
        recorder = part("recorder.py")["Recorder"](nodes, places, part("importing.py"), names_of)
        search = part("search.py")["Search"](names_of, nodes)
        recorder.begin()
        tracer.say("theirs")
        for name in found.names:
            probe["import_quietly"](name)
        tracer.say("ours")
        recorder.end(found.requests)
        search.end()
        problem = recorder.problem()
        if problem:
            raise Unsuitable("its modules could not be hidden: " + problem)
        plan.hidden = part("hidden.py")["Hidden"](recorder, search, part)
        problem = probe["problem"](self.base.descriptors) or probe["shared"]()
        if problem:
            raise Unsuitable("one of its modules " + problem)
        check_origins(plan)
        self.temporary = self.load("temporary.py")["take"]()
        # From here on this process is no longer traced.
        searched = [path for path in sys.path if isinstance(path, str)]
        found.ledger = tracer.ledger(int(plan.one["ledger"]), searched)
        if not found.ledger:
            raise Unsuitable("its tracer has exited")

    def serve(self, found):
        """Returns in a child, with its last step."""
        plan, load = self.plan, self.load
        known = set(sys.modules)
        by_chance = self.chance["by_chance"](found.states)
        for name in set(sys.modules) - known:
            del sys.modules[name]
        telling = title(plan, found, load)
        renew = load("draws.py")["Renewal"](self.chance, by_chance, self.temporary, plan.hidden)
        return load("serve.py")["serve"](plan, self.base, found, load, renew, telling)


def defines_finalizers(plan):
    """Returns True if the program's own code has a `__del__`. The garbage collector calls it after
    so many allocations, and allocations of imports made ahead would not count; so only the
    program's first lines may run ahead, in which they do."""
    texts = [os.fsencode(plan.one.get("code", ""))]
    for path, _ in plan.own:
        try:
            with open(path, "rb") as file:
                texts.append(file.read())
        except FileNotFoundError:
            pass
        except NotADirectoryError:
            raise Unsuitable("its modules are in an archive, which is not searched")
        except OSError:
            return True
    return any(b"__del__" in text for text in texts)


def write_error(text):
    """Writes to standard error, which may be closed."""
    try:
        while text:
            text = text[os.write(2, text) :]
    except OSError:
        pass


def searched_first(script):
    """The directory or archive that Python will search first; None if there is none."""
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
    """The object with which children set their arguments, if that is possible."""
    title = load("title.py")
    telling = title["telling"](plan.modules)
    if title["CHANGES_TITLE"] in plan.modules:
        if telling is None:
            raise Unsuitable("it uses setproctitle, and this Python has no ctypes")
        # Otherwise only starts with the same arguments can be served.
        found.arguments = found.arguments or not telling.takes_any_arguments()
    return telling


def check_interpreter():
    if sys.implementation.name != "cpython" or sys.version_info < (3, 8):
        raise Unsuitable("warm starts need CPython 3.8 or newer")
    if "t" in getattr(sys, "abiflags", ""):
        raise Unsuitable("this Python is free-threaded, and its threads do not survive a fork")
    if sys.flags.inspect or sys.flags.interactive:
        raise Unsuitable("it is interactive")
    if sys.gettrace() or sys.getprofile():
        raise Unsuitable("it is traced")


def check_origins(plan):
    """Checks that every module has the same file as in the program."""
    for name, module in list(sys.modules.items()):
        origin = plan.modules.get(name)
        file = plan.names_of(module).get("__file__")
        if origin and file and os.path.isabs(origin) and file != origin:
            raise Unsuitable("its module %s is %s, not the installed one" % (name, origin))


class Base:
    """The state of this process before it imported anything."""

    def __init__(self, plan, descriptors):
        self.modules = set(sys.modules)
        self.descriptors = descriptors
        now = os.environ._data
        with open("/proc/self/environ", "rb") as file:
            entries = [entry.partition(b"=") for entry in file.read().split(b"\0")]
        # The environment of the client, without preheat's variables.
        self.given = {name: value for name, _, value in entries if name in now}
        if b"PYTHONPATH" in now:
            self.given[b"PYTHONPATH"] = now[b"PYTHONPATH"]
        # Variables that Python has added: LC_CTYPE in some locales.
        self.added = {
            name: value for name, value in now.items() if self.given.get(name) != value
        }
        self.before = dict(now)
        self.changes = {}

    def see_changes(self):
        """Records the changes that imports made to the environment, which a child repeats."""
        now, self.changes = os.environ._data, {}
        for name in set(self.before) | set(now):
            if self.before.get(name) != now.get(name):
                self.changes[name] = now.get(name)


def fail(plan, error):
    """Exits this process; the parent first stores the reason for later clients."""
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
