"""Finds out what imports do, in processes that are thrown away.

A trial is a child that imports the modules one by one. The tracer stops it before a module
acts; after each module it checks whether that has printed, started threads that outlive a
fork, left something open, kept something by chance, or asked for a variable that the program
sets or that differs at each start. Such a module is left out, and a new trial goes on without
it. The parent itself then imports what has passed; nothing is ever patched there.
"""

import os
import sys

# After so many modules that cannot be imported ahead, none is.
MOST_OFFENDERS = 24

# Must be imported by the program: it keeps the place of the arguments of its process.
BY_PROGRAM = {"setproctitle"}

# PyTorch writes it when it is imported; each start has it again (temporary.py).
GENERATED = "_remote_module_non_scriptable"

# May be left open: it has no position and no owner.
HARMLESS = {"/dev/null", "/dev/urandom", "/dev/random"}


# Ends of reasons for which a module is left out, and which do not hold where the program's
# own code has run before.
BY_CODE = ("which the program sets", "warns who imports it")


class Found:
    """Names that are safe to import, and the variables that matter to them."""

    def __init__(self, asked):
        self.names = []
        self.asked = asked
        self.arguments = False
        self.left_out = []
        # Whether what the program does before its imports keeps some from being made ahead.
        self.is_restricted = False
        # How many of the program's modules there are then.
        self.modules = 0
        self.states = []
        self.reason = None
        # Whether there is a directory for temporary files, of which `temporary` knows.
        self.temporary = False
        self.ledger = b""
        # Where the program's first lines end that have run, and the outermost names of
        # modules that they have searched for.
        self.end, self.searched = None, set()


class Tools:
    """What a trial needs."""

    def __init__(self, tracer, chance, load):
        self.tracer, self.chance = tracer, chance
        self.watching, self.draws = load("watch.py"), load("draws.py")
        self.facts, self.load = load("learn.py")["facts"], load


def find_safe(plan, tools, hook=None):
    """With a hook, after the program's first lines have run."""
    found = Found(tools.watching["Asked"]())
    left_out = set(BY_PROGRAM)
    before = Before(plan, tools, hook)
    only = before.restrict(found)
    libraries = sorted(name for name in before.sets if name.startswith(plan.libraries))
    found.is_restricted = found.is_restricted or bool(libraries)
    for _ in range(MOST_OFFENDERS):
        names = plan.modules if only is None else only
        names = [name for name in names if not is_within(name, left_out)]
        if libraries:
            names = [name for name in names if not is_package(plan.modules[name])]
        plan.tell("%d modules are imported on trial" % len(names))
        said = ask(names, plan, tools, before.sets, bool(found.left_out)) if names else []
        if not names and hook:
            return found
        if not said:
            found.reason = found.reason or "its imports end the process"
            return found
        if said[0][0] == "offender":
            (_, name), (_, why) = said
            found.is_restricted = found.is_restricted or why.endswith(BY_CODE)
            left_out.add(to_leave_out(name, left_out))
            found.left_out.append((name, why))
            found.reason = "%s %s" % (name, why)
            plan.tell("%s is left out: it %s" % (name, why))
            continue
        if said[0][0] == "influenced" and only is None:
            only = before.restrict(found, said[0][1])
            continue
        changed = take(found, said)
        if hook:
            changed |= hook.changed()
        # What was changed when the program ran, and not by an import, it has set itself:
        # perhaps before the imports that ask for it.
        set_by_program = set(plan.changed) - changed
        asked = {name for name in set_by_program if plan.changed[name]}
        asked |= set_by_program if found.asked.everything else found.asked.names(set_by_program)
        packages = [name for name in names if is_package(plan.modules[name])]
        if asked and packages:
            left_out.update(packages)
            reason = "may ask for %s, which the program sets" % min(asked)
            found.left_out.append((packages[0] + " and other packages", reason))
            found.is_restricted = True
            continue
        found.names = names
        return found
    return found


class Before:
    """What the program does before its imports (before.py)."""

    def __init__(self, plan, tools, hook):
        self.plan, self.tools = plan, tools
        # Variables that the program may still set.
        self.sets = plan.sets
        ran = hook and hook.ran()
        main = plan.one.get("main") or plan.one.get("script")
        if main and os.path.isdir(main):
            main = os.path.join(main, "__main__.py")
        self.name = os.path.basename(main) if main else "the program"

        def read(_):
            known = tools.load("before.py")
            files = [path for path, _ in plan.own]
            try:
                own = known["Own"](main, plan.one.get("code"), files, plan.influences, ran or {})
                said = [("import", name) for name in own.imports()]
                said += [("sets", name) for name in own.variables()]
                return said + [("influence", own.first())] if own.influences else said
            except (OSError, RecursionError) as error:
                return [("influence", "%s cannot be read (%s)" % (self.name, error))]

        # What it does not come to say, because it fails, counts against the program.
        said = elsewhere(lambda _: read(_) + [("read", "")], tools.tracer)
        if ("read", "") not in said:
            said = [("influence", self.name + " cannot be read")]
        self.imports = [name for kind, name in said if kind == "import"]
        self.influences = [text for kind, text in said if kind == "influence"]
        if ran and not self.influences:
            self.sets = {name for kind, name in said if kind == "sets"}

    def restrict(self, found, why=None):
        """Names that alone may be imported, if something before the others may influence
        them."""
        if why is None and not self.influences:
            return None
        found.is_restricted = True
        where, _, what = (self.influences or [self.name + " " + why])[0].partition(" ")
        found.left_out.append(("what is imported after " + where, what))
        found.reason = "%s %s before it imports" % (where, what)
        self.plan.tell("what is imported after %s is left out: it %s" % (where, what))
        return [name for name in dict.fromkeys(self.imports) if name in self.plan.modules]


def changed_facts(plan, tools):
    """What the program has changed that imports depend on."""
    now = set(tools.facts())
    first = os.path.realpath(plan.first) if plan.first else None
    for kind, value in plan.facts:
        if (kind, value) in now:
            continue
        if kind == "sys.path" and (not os.path.exists(value) or os.path.realpath(value) == first):
            continue
        yield kind


# So many parts of a package that may not be imported stand for all of it.
MOST_PARTS = 4


def to_leave_out(name, left_out):
    """A module, or, where others beside it were left out before, its package: not at once
    the outermost, of which much may be fine."""
    outermost, package = name.partition(".")[0], name.rpartition(".")[0]
    if sum(is_within(known, {outermost}) for known in left_out) >= MOST_PARTS:
        return outermost
    if package != outermost and any(is_within(known, {package}) for known in left_out):
        return package
    return name


def take(found, said):
    """What a probe says that had nothing to object to; variables that imports change."""
    asked, changed = type(found.asked)(), set()
    for kind, value in said:
        if kind == "variable":
            asked.variables.add(value)
        elif kind == "beginning":
            asked.beginnings.add(value)
        elif kind == "ending":
            asked.endings.add(value)
        elif kind == "everything":
            asked.everything = True
        elif kind == "arguments":
            found.arguments = True
        elif kind == "state":
            found.states.append(value)
        elif kind == "changed":
            changed.add(value)
        elif kind == "temporary":
            found.temporary = True
        elif kind == "modules":
            found.modules = int(value)
    found.asked = asked
    return changed


def is_package(origin):
    """Whether a module is no part of the standard library."""
    return "site-packages" in origin or "dist-packages" in origin


def is_within(name, packages):
    return any(name == package or name.startswith(package + ".") for package in packages)


def ask(names, plan, tools, sets, is_part):
    """What a trial says of these names: kinds, each with a value. If it was stopped, or has
    ended, it is the module that it was importing that may not be imported."""
    clear_output()  # What an earlier one has printed.
    said = elsewhere(lambda say: look(names, plan, tools, sets, is_part, say), tools.tracer)
    why = tools.tracer.verdict()
    importing = [name for kind, name in said if kind == "importing"]
    rest = [each for each in said if each[0] != "importing"]
    if rest or not importing:
        return rest
    return [("offender", importing[-1]), ("", why or "ends the process")]


def elsewhere(work, tracer):
    """What `work` says, in a process that is thrown away; less if it does not end."""
    ours, theirs = os.pipe()
    process = os.fork()
    if process == 0:
        try:
            os.close(ours)
            tracer.say("trial")

            def say(kind, value):
                text = kind + "\0" + value + "\0"
                os.write(theirs, text.encode("utf-8", "surrogateescape"))

            for each in work(say):
                say(*each)
        finally:
            os._exit(0)
    os.close(theirs)
    with open(ours, "rb") as file:
        said = file.read().decode("utf-8", "surrogateescape").split("\0")
    os.waitpid(process, 0)
    return list(zip(*[iter(said)] * 2))


def look(names, plan, tools, sets, is_part, say):
    """In a trial: imports all of them, or tells of the first that may not be. `sets` are
    variables that the program may set, `is_part` if some modules were left out before."""
    before, environment = descriptors(), dict(os.environ._data)
    tracer, watch = tools.tracer, tools.watching["Watch"](tools.tracer)
    draws = tools.draws["Draws"]()
    asked = watch.take()
    for name in names:
        if name in sys.modules:
            continue
        known = set(sys.modules)
        say("importing", name)
        tracer.say("theirs")
        import_quietly(name)
        tracer.say("ours")
        of_this = watch.take()
        why = (
            imported_foreign(known, plan.roots)
            or problem(before)
            or not_ahead(of_this, plan, environment, sets)
            or draws.problem()
            or watch.warned()
        )
        if why:
            return [("offender", name), ("", why)]
        asked.add(of_this)
    if not is_part:
        for kind in changed_facts(plan, tools):
            return [("influenced", "changes " + kind)]
    now = os.environ._data
    both = set(environment) | set(now)
    changed = [os.fsdecode(name) for name in both if environment.get(name) != now.get(name)]
    said = [("fine", "")] + told(asked)
    said += [("arguments", "")] * watch.reads_arguments()
    said += [("temporary", "")] * watch.temporary
    said += [("state", state) for state in tools.chance["states"]()]
    said += [("changed", name) for name in changed]
    said.append(("modules", str(len(plan.modules.keys() & sys.modules.keys()))))
    return said


def told(asked):
    """What was asked for, as pairs of texts."""
    said = [("variable", name) for name in sorted(asked.variables)]
    said += [("beginning", name) for name in sorted(asked.beginnings)]
    said += [("ending", name) for name in sorted(asked.endings)]
    return said + [("everything", "")] * asked.everything


def asked_before(tools):
    """What lines of .pth files and what they import ask for. Python executes them before
    us, so they are executed once more, in a process that is thrown away."""
    import site

    directories = list(getattr(site, "getsitepackages", list)())
    directories.append(getattr(site, "USER_SITE", None))
    files = [
        (directory, name)
        for directory in directories
        if directory in sys.path and os.path.isdir(directory)
        for name in sorted(os.listdir(directory))
        if name.endswith(".pth") and imports(os.path.join(directory, name))
    ]
    found = Found(tools.watching["Asked"]())
    if not files:
        return found.asked

    def again(_):
        watch = tools.watching["Watch"](tools.tracer)
        for name, module in list(sys.modules.items()):
            if is_package(getattr(module, "__file__", None) or ""):
                del sys.modules[name]
        for directory, name in files:
            site.addpackage(directory, name, set())
        return [("fine", "")] + told(watch.take())

    said = elsewhere(again, tools.tracer)
    clear_output()  # What it has printed, it has printed before.
    if said[:1] == [("fine", "")]:
        take(found, said)
    else:
        found.asked.everything = True
    return found.asked


def imports(path):
    """Whether a .pth file has a line that Python executes."""
    with open(path, "rb") as file:
        return any(line.startswith((b"import ", b"import\t")) for line in file)


def not_ahead(asked, plan, environment, set_later):
    """Why what was asked for will be another when the program is there, which may set some
    variables itself."""
    sets, varies = asked.names(set_later), asked.names(plan.varies)
    if sets:
        return "asks for %s, which the program sets" % min(sets)
    if varies:
        return "asks for %s, which is another at each start" % min(varies)
    if asked.everything:
        sets = set_later & set(map(os.fsdecode, environment))
        if sets:
            return "looks at all variables, and the program may set %s" % min(sets)
        if plan.varies:
            return "looks at all variables, and %s is another at each start" % min(plan.varies)
    return None


def imported_foreign(known, roots):
    """Why not, if a module that is the program's own was imported by an installed one."""
    for name in set(sys.modules) - known:
        file = getattr(sys.modules[name], "__file__", None)
        if name == GENERATED or not isinstance(file, str):
            continue
        if os.path.isabs(file) and not file.startswith(roots):
            return "imports %s, which is not installed" % file
    return None


def import_quietly(name):
    """An import that fails is one that the program will see fail, or not do."""
    try:
        __import__(name)
    except Exception:
        pass


def clear_output():
    """Standard output and error of this process are files of its own."""
    for stream in (1, 2):
        os.ftruncate(stream, 0)
        os.lseek(stream, 0, os.SEEK_SET)


def output():
    """What was written to both."""
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    return [os.pread(stream, os.fstat(stream).st_size, 0) for stream in (1, 2)]


def problem(before):
    """Why this process may not be forked into a program; a predicate of a module."""
    return "prints when it is imported" if any(output()) else left_behind(before)


def left_behind(before):
    """The same, whatever it has printed."""
    for number, target in descriptors().items():
        if before.get(number) == target or target in HARMLESS:
            continue
        if target.startswith("/dev/nvidia"):
            return "opens the GPU"
        return "leaves %s open" % target
    if threads() > 1:
        # Some end their threads when the process forks, and begin again.
        process = os.fork()
        if process == 0:
            os._exit(0)
        os.waitpid(process, 0)
        if threads() > 1:
            return "starts threads"
    return None


def threads():
    return len(os.listdir("/proc/self/task"))


def descriptors():
    found = {}
    for name in os.listdir("/proc/self/fd"):
        try:
            found[int(name)] = os.readlink("/proc/self/fd/" + name)
        except OSError:
            pass
    return found
