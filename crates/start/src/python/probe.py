"""Tests imports in disposable processes.

A trial is a child that imports the modules one by one. The tracer stops it before a module
acts. After each module, the trial checks whether the module has printed, started threads that
outlive a fork, left a descriptor open, kept a random value, or read a variable that the
program sets or that differs at each start; in the end, whether its exit functions or the
finalizers of its objects print or act. Such a module is left out, and a new trial continues
without it. The parent then imports the modules that passed; it is never patched.
"""

import os
import sys

# If more modules than this cannot be imported ahead, none are.
MAX_OFFENDERS = 24

# Must be imported by the program: it stores the address of the arguments of its process.
BY_PROGRAM = {"setproctitle"}

# PyTorch generates it when it is imported; each start does so again (temporary.py).
GENERATED = "_remote_module_non_scriptable"

# May be left open: they have no position and no owner.
HARMLESS = {"/dev/null", "/dev/urandom", "/dev/random"}


# The module that pytest loads when it runs tests, rather than when a library imports pytest, and
# why only pytest itself is imported ahead then.
PYTEST = "_pytest.helpconfig"
RUNS_TESTS = "runs tests with conftest files and plugins that are known only then"

# Threads that a fork may lose: jemalloc, of which pyarrow has its own, then does their work in the
# threads that allocate.
DISPENSABLE = {"jemalloc_bg_thd"}


# Ends of reasons to leave out a module that do not apply after the program's first lines have
# run.
BY_CODE = ("which the program sets", "warns the module that imports it")


class Found:
    """Names that are safe to import, and the variables that matter to them."""

    def __init__(self, asked):
        self.names = []
        self.asked = asked
        self.arguments = False
        self.left_out = []
        # True if code before the imports of the program prevents some imports.
        self.is_restricted = False
        # The number of the program's modules that are then loaded.
        self.modules = 0
        self.states = []
        self.reason = None
        # True if there is a temporary directory (temporary.py).
        self.temporary = False
        # True if module-level code mentions a standard stream, which may be closed.
        self.uses_streams = False
        self.ledger = b""
        # The names that each module imports, and the places that imports change (graph.py).
        self.requests, self.places = {}, {}
        # The uses of functions that change where modules are searched for, by file of the program.
        self.uses = {}
        # The paths that each module has asked for and that the program may change first (inputs.py).
        self.inputs = None
        # Top-level names of modules that imports have looked for, and that are not loaded.
        self.sought = set()
        # The end of the program's first lines that have run, and the top-level names of
        # modules that they have searched for.
        self.end, self.searched = None, set()


class Tools:
    """The dependencies of a trial."""

    def __init__(self, tracer, chance, load):
        self.tracer, self.chance = tracer, chance
        self.watching, self.draws = load("watch.py"), load("draws.py")
        self.exits = load("exits.py")["Exits"]
        self.finalizers = load("end.py")["Finalizers"](load("generators.py")["waits_in_try"])
        learn = load("learn.py")
        self.facts, self.load = learn["facts"], load
        self.lasting, self.passing = learn["settings"], learn["passing_settings"]
        self.variables, self.initial = learn["variables"], learn["INITIAL"]
        self.searches_elsewhere = learn["SEARCHES_ELSEWHERE"], ""
        self.graph, self.effects = load("graph.py")["Graph"], load("effects.py")
        self.importing, self.inputs = load("importing.py"), load("inputs.py")

    def settings(self):
        return dict([*self.lasting(), *self.passing()])


# The end of variables that limit the threads of numerical libraries, which read them when they are
# loaded.
LIMITS = "_NUM_THREADS"


def find_safe(plan, tools, hook=None):
    """Finds modules that are safe to import; `hook` is set after the program's first lines
    have run."""
    found = Found(tools.watching["Asked"]())
    left_out = set(BY_PROGRAM)
    before = Before(plan, tools, hook)
    found.uses = before.uses
    why = RUNS_TESTS if PYTEST in plan.modules else None
    only = [] if hook and plan.finalizes else before.restrict(found, why)
    if only is None and tools.searches_elsewhere in plan.facts:
        only = before.restrict(found, "changes " + tools.searches_elsewhere[0])
    libraries = sorted(name for name in before.sets if name.startswith(plan.libraries))
    found.is_restricted = found.is_restricted or bool(libraries or before.limits)
    if before.limits:
        why = "may read %s, which %s sets" % tuple(reversed(before.limits[0]))
        found.left_out.append(("what is imported from packages", why))
    for _ in range(MAX_OFFENDERS):
        names = plan.modules if only is None else only
        names = [name for name in names if not is_within(name, left_out)]
        if libraries or before.limits:
            names = [name for name in names if not is_package(plan.modules[name])]
        plan.tell("testing the import of %d modules" % len(names))
        how = before.sets, bool(found.left_out), only is not None, hook is not None
        said, asked = ask(names, plan, tools, *how) if names else ([], [])
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
            plan.tell("leaving out %s: it %s" % (name, why))
            continue
        if said[0][0] == "influenced" and only is None:
            only = before.restrict(found, said[0][1])
            continue
        changed = take(found, said)
        found.inputs = tools.inputs["Inputs"](asked)
        # Imports end in another order than they begin, so it is unknown whether a module that
        # limits threads came before those that read the limit; and another start may not make it.
        is_limit = lambda name: name.endswith(LIMITS) and name.startswith(plan.libraries)
        changed = {name for name in changed if not is_limit(name)}
        if hook:
            changed |= hook.changed()
        # Variables that changed while the program ran, but not by an import, were set by the
        # program, perhaps before the imports that read them.
        set_by_program = set(plan.changed) - changed
        asked = {name for name in set_by_program if plan.changed[name]}
        asked |= set_by_program if found.asked.everything else found.asked.names(set_by_program)
        packages = [name for name in names if is_package(plan.modules[name])]
        if asked and packages:
            left_out.update(packages)
            reason = "may read %s, which the program or a package sets" % min(asked)
            found.left_out.append((packages[0] + " and other packages", reason))
            found.is_restricted = True
            continue
        late = before.late(names, found) or before.written(names, found) if only is None else None
        if late:
            modules, why = late
            left_out.update(modules)
            found.left_out.append(why)
            found.is_restricted = True
            plan.tell("leaving out %s: it %s" % why)
            continue
        found.names = names
        return found
    return found


class Before:
    """The code before the imports of the program (before.py)."""

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
            known, redirects = tools.load("before.py"), tools.load("redirects.py")
            files = [path for path, _ in plan.own]
            try:
                changing = redirects["Redirects"](lambda _: False).names(plan.modules)
                # Before the files are searched: a use that is added meanwhile is found by then.
                uses = [(path, redirects["uses"](path, changing)) for path in files]
                code, names = plan.one.get("code"), plan.influences
                how = plan.harmless, ran or {}, redirects["Redirects"]
                own = known["Own"](main, code, files, names, *how)
                own.is_module = "main" in plan.one
                said = [("import", name) for name in own.imports()]
                said += [("changing", " ".join(sorted(changing)))]
                said += [("uses", "\n".join(each)) for each in uses]
                said += [("sets", name) for name in own.variables()]
                limits = own.limits(plan.modules, LIMITS)
                said += [("limits", "\n".join(each)) for each in limits]
                said += [("effect", "\n".join(each)) for each in own.shown_effects()]
                said += [("writes", "\n".join(each)) for each in own.shown_writes()]
                for kind in {each[-1] for each in own.effects + own.writes}:
                    late, early = own.late(kind)
                    said += [("late " + kind, name) for name in late]
                    said += [("early " + kind, name) for name in early]
                return said + [("influence", own.first())] if own.influences else said
            except (OSError, RecursionError) as error:
                return [("influence", "%s\ncannot be read (%s)" % (self.name, error))]

        # If the analysis fails, assume an influence.
        said = elsewhere(lambda _: read(_) + [("read", "")], tools.tracer)
        if ("read", "") not in said:
            said = [("influence", self.name + "\ncannot be read")]
        self.imports = [name for kind, name in said if kind == "import"]
        # The uses of names by which libraries change where modules are searched for, by file.
        changing = "".join(text for kind, text in said if kind == "changing")
        uses = [text.split("\n") for kind, text in said if kind == "uses"]
        self.uses = {each[0]: changing + "\n" + each[-1] for each in uses}
        self.influences = [text for kind, text in said if kind == "influence"]
        # Numbers of threads that modules may set which the learning start has not imported.
        limits = [text.split("\n") for kind, text in said if kind == "limits"]
        self.limits = sorted(each for each in limits if each[1].startswith(plan.libraries))
        if ran and not self.influences:
            self.sets = {name for kind, name in said if kind == "sets"}
        # Code that may influence late imports: where it is, a predicate, a package, a kind.
        self.effects = [text.split("\n") for kind, text in said if kind == "effect"]
        # Code that may write a file: where it is, a predicate, the path if that is known.
        self.writes = [text.split("\n") for kind, text in said if kind == "writes"]
        self.said = said

    def late(self, names, found):
        """Modules that the program's files import after code that may influence them, with all
        that these import and that depend on them, and the reason; None if there are none."""
        installed = [name for name in names if is_package(self.plan.modules[name])]
        requests = found.requests
        for where, what, package, kind in self.effects:
            late = [name for each, name in self.said if each == "late " + kind]
            late = [name for name in late if name in installed]
            early = [name for each, name in self.said if each == "early " + kind]
            mine = [
                name
                for name in late
                if not package or is_within_any(reached([name], requests), package)
            ]
            if not mine:
                continue
            left_out = reached(mine, requests) - reached(early, requests)
            more = left_out = left_out.intersection(installed)
            while more:
                more = {
                    name
                    for name in installed
                    if name not in left_out and not left_out.isdisjoint(requests.get(name, ()))
                }
                left_out |= more
            if left_out:
                return left_out, ("what is imported after " + where, what)
        return None

    def written(self, names, found):
        """Modules that have asked for something that the program's files may write before it imports
        them, with all that depend on them, and the reason; None if there are none."""
        early = [name for each, name in self.said if each == "early writes"]
        early, installed = reached(early, found.requests), set(names)
        dependents = self.tools.inputs["Dependents"](found.requests)
        left_out, why = set(), None
        for where, what, path in self.writes:
            for name in sorted(found.inputs.readers(path) - early):
                some = dependents.of(name).intersection(installed) - early
                if some:
                    left_out |= some
                    reads = "%s, and %s may read it" % (what, name)
                    why = why or ("what is imported after " + where, reads)
        return (left_out, why) if why else None

    def restrict(self, found, why=None):
        """Returns the only names that may be imported, if code before the others may influence
        them; None if no code does."""
        if why is None and not self.influences:
            return None
        found.is_restricted = True
        where, what = (self.name, why) if why else self.influences[0].split("\n", 1)
        found.left_out.append(("what is imported after " + where, what))
        found.reason = "%s %s before it imports" % (where, what)
        self.plan.tell("leaving out what is imported after %s: it %s" % (where, what))
        return [name for name in dict.fromkeys(self.imports) if name in self.plan.modules]


def reached(names, requests):
    """Modules that the import of these names imports."""
    found, left = set(), list(names)
    while left:
        name = left.pop()
        if name not in found:
            found.add(name)
            left += [each for each in requests.get(name, ()) if not each.startswith("=")]
            left += [name.rpartition(".")[0]] if "." in name else []
    return found


def is_within_any(names, package):
    return any(is_within(name, {package}) for name in names)


def changed_facts(plan, tools):
    """The state that imports depend on and that the program has changed."""
    now = set(tools.facts())
    first = os.path.realpath(plan.first) if plan.first else None
    for kind, value in plan.facts:
        if (kind, value) in now:
            continue
        if kind == "sys.path" and (not os.path.exists(value) or os.path.realpath(value) == first):
            continue
        yield kind


# If this many modules of a package cannot be imported, the whole package is left out.
MAX_PARTS = 4


def to_leave_out(name, left_out):
    """The module, or its package if another module of it was left out before. Not the
    top-level package at once, since most of it may be fine."""
    outermost, package = name.partition(".")[0], name.rpartition(".")[0]
    if sum(is_within(known, {outermost}) for known in left_out) >= MAX_PARTS:
        return outermost
    if package != outermost and any(is_within(known, {package}) for known in left_out):
        return package
    return name


def take(found, said):
    """Adds the results of a successful trial; returns the variables that imports change."""
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
        elif kind == "streams":
            found.uses_streams = True
        elif kind == "modules":
            found.modules = int(value)
        elif kind == "imports":
            name, *requests = value.split("\n")
            found.requests[name] = requests
        elif kind == "sought":
            found.sought.add(value)
        elif kind == "place":
            name, *place = value.split("\n")
            found.places.setdefault(name, []).append(place)
    found.asked = asked
    return changed


def is_package(origin):
    """Returns True for modules outside the standard library."""
    return "site-packages" in origin or "dist-packages" in origin


def is_within(name, packages):
    return any(name == package or name.startswith(package + ".") for package in packages)


def ask(names, plan, tools, *how):
    """The results of a trial of these names, as pairs of a kind and a value. If the trial was
    stopped or has exited, the module that it was importing cannot be imported. Also what its
    imports have asked for (inputs.py)."""
    clear_output()  # The output of an earlier trial.
    said = elsewhere(lambda say: run_trial(names, plan, tools, *how, say), tools.tracer)
    why, asked = tools.tracer.verdict(), tools.tracer.asked()
    importing = [name for kind, name in said if kind == "importing"]
    rest = [each for each in said if each[0] != "importing"]
    if rest or not importing:
        return rest, asked
    return [("offender", importing[-1]), ("", why or "ends the process")], asked


def elsewhere(work, tracer):
    """The results of `work` in a disposable process; incomplete if it is killed."""
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


def run_trial(names, plan, tools, sets, is_part, is_restricted, has_begun, say):
    """In a trial: imports all modules, or reports the first that must not be imported. `sets`
    are variables that the program may set, `is_part` if some modules were left out before,
    `is_restricted` if these come before all other code, `has_begun` if the program's first lines
    have run."""
    before, environment = descriptors(), dict(os.environ._data)
    tracer, watch = tools.tracer, tools.watching["Watch"](tools.tracer)
    draws, exits = tools.draws["Draws"](tools.importing), tools.exits(tools.finalizers)
    asked = watch.take()
    watch.watch_code(tools.importing)
    watch.arguments.names_later = not has_begun and "main" in plan.one
    inside = lambda name: tracer.say("module", name)
    graph = tools.graph(plan.names_of, tools.effects, tools.importing, inside)
    for name in names:
        if name in sys.modules:
            continue
        known, settings, variables = set(sys.modules), tools.settings(), tools.variables()
        imported = outermost(name, known, plan.modules)
        say("importing", imported)
        exits.name = imported
        tracer.say("theirs")
        failed = import_quietly(name)
        tracer.say("ours")
        of_this = watch.take()
        why = (
            failed
            or imported_foreign(known, plan)
            or problem(before)
            or not_ahead(of_this, plan, environment, sets)
            or draws.problem()
            or watch.warned()
            or watch.shows_parent()
            or changed_setting(settings, variables, tools)
        )
        if why:
            return [("offender", imported), ("", why)]
        asked.add(of_this)
        exits.see_objects()
    exits.end()
    kinds = {kind for kind, _ in tools.lasting()}
    for kind in changed_facts(plan, tools):
        # Modules that were left out may have changed others.
        if not is_part or not is_restricted and kind in kinds:
            return [("influenced", "changes " + kind)]
    now = os.environ._data
    both = set(environment) | set(now)
    changed = [os.fsdecode(name) for name in both if environment.get(name) != now.get(name)]
    said = [("fine", "")] + reports(asked)
    said += [("arguments", "")] * watch.reads_arguments()
    said += [("temporary", "")] * watch.temporary
    said += [("streams", "")] * watch.mentions_streams
    said += [("state", state) for state in tools.chance["states"]()]
    said += [("changed", name) for name in changed]
    said.append(("modules", str(len(plan.modules.keys() & sys.modules.keys()))))
    said += graph.report(lambda origin: origin.startswith(plan.roots))
    offender = exits.run(tracer, say, output)
    return [("offender", offender[0]), ("", offender[1])] if offender else said


def changed_setting(settings, variables, tools):
    """The reason if the last import has changed a setting of the process, which a start that does
    not import the module would notice."""
    now = tools.settings()
    for kind, value in now.items():
        # The import may load the module that has the setting.
        if settings.get(kind, tools.initial.get(kind, value)) != value:
            return "changes %s when it is imported" % kind
    for variable, value in tools.variables().items():
        if variables.get(variable, MISSING) is not value:
            return "sets the context variable %s when it is imported" % variable.name
    return None


MISSING = object()


def outermost(name, known, modules):
    """The outermost package that the import of a module imports too. Any other module of it
    would import it again, so that leaving out only this one would cost another trial."""
    parts = name.split(".")
    packages = (".".join(parts[:count]) for count in range(1, len(parts)))
    # A package without a file has no code.
    new = (package for package in packages if package not in known and modules.get(package))
    return next(new, name)


def reports(asked):
    """The variables that were read, as pairs of strings."""
    said = [("variable", name) for name in sorted(asked.variables)]
    said += [("beginning", name) for name in sorted(asked.beginnings)]
    said += [("ending", name) for name in sorted(asked.endings)]
    return said + [("everything", "")] * asked.everything


def asked_before(plan, tools):
    """The variables that .pth files and their imports read. Python executes them before our
    code, so they are executed once more, in a disposable process."""
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
            if is_package(plan.names_of(module).get("__file__") or ""):
                del sys.modules[name]
        for directory, name in files:
            site.addpackage(directory, name, set())
        return [("fine", "")] + reports(watch.take())

    said = elsewhere(again, tools.tracer)
    clear_output()  # It has printed the same before.
    if said[:1] == [("fine", "")]:
        take(found, said)
    else:
        found.asked.everything = True
    return found.asked


def imports(path):
    """Returns True if a .pth file has a line that Python executes."""
    with open(path, "rb") as file:
        return any(line.startswith((b"import ", b"import\t")) for line in file)


def not_ahead(asked, plan, environment, set_later):
    """The reason why a variable that was read will have another value in the program, which
    may set some variables."""
    sets, varies = asked.names(set_later), asked.names(plan.varies)
    if sets:
        return "reads %s, which the program sets" % min(sets)
    if varies:
        return "reads %s, which differs at each start" % min(varies)
    if asked.everything:
        sets = set_later & set(map(os.fsdecode, environment))
        if sets:
            return "reads the whole environment, and the program may set %s" % min(sets)
        if plan.varies:
            return "reads the whole environment, and %s differs at each start" % min(plan.varies)
    return None


def imported_foreign(known, plan):
    """The reason if an installed module has imported a module of the program."""
    for name in set(sys.modules) - known:
        file = plan.names_of(sys.modules[name]).get("__file__")
        if name == GENERATED or not isinstance(file, str):
            continue
        if os.path.isabs(file) and not file.startswith(plan.roots):
            return "imports %s, which is not installed" % file
    return None


def import_quietly(name):
    """Imports a module. Returns the reason if it must not be imported ahead: the program has to
    see the same error, and native modules cannot be loaded twice. An absent module is no reason."""
    try:
        __import__(name)
    except ModuleNotFoundError:
        pass
    except Exception as error:
        return "fails with %s when it is imported" % type(error).__name__
    return None


def clear_output():
    """Truncates standard output and error, which are private files of this process."""
    for stream in (1, 2):
        os.ftruncate(stream, 0)
        os.lseek(stream, 0, os.SEEK_SET)


def output():
    """The contents of standard output and error."""
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    return [os.pread(stream, os.fstat(stream).st_size, 0) for stream in (1, 2)]


def problem(before):
    """The reason why this process must not be forked into a program, as a predicate of the
    module."""
    return "prints when it is imported" if any(output()) else left_behind(before)


def left_behind(before):
    """Like `problem`, but ignores output."""
    for number, target in descriptors().items():
        if before.get(number) == target or target in HARMLESS:
            continue
        if target.startswith("/dev/nvidia"):
            return "opens the GPU"
        return "leaves %s open" % target
    if threads() > 1:
        # Some modules stop their threads for a fork.
        process = os.fork()
        if process == 0:
            os._exit(0)
        os.waitpid(process, 0)
        if threads() > 1:
            return "starts threads"
    return None


def shared():
    """The reason if this process has a semaphore; the tracer lets one pass that joblib removes."""
    with open("/proc/self/maps", "rb") as file:
        if any(b" /dev/shm/sem." in line for line in file):
            return "creates a semaphore that all starts would share"
    return None


def threads():
    """The number of threads that a child of this process would miss, and the calling one."""
    count = 0
    for each in os.listdir("/proc/self/task"):
        try:
            with open("/proc/self/task/%s/comm" % each) as file:
                count += file.read().strip() not in DISPENSABLE
        except OSError:
            pass  # It has just ended.
    return count


def descriptors():
    found = {}
    for name in os.listdir("/proc/self/fd"):
        try:
            found[int(name)] = os.readlink("/proc/self/fd/" + name)
        except OSError:
            pass
    return found
