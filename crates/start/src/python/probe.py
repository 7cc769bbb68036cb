"""Finds out what imports do, in processes that are thrown away.

A probe is a child that imports the modules one by one, and looks after each: has it
printed, started threads that outlive a fork, left something open, asked for a variable
that the program sets itself or that is another at each start? Such a module is left out, and a new probe goes on without
it. What passes is then imported once more by the parent itself, which nothing was ever
patched in.
"""

import os
import sys

# After so many modules that cannot be imported ahead, none is.
MOST_OFFENDERS = 12

# Must be imported by the program: it keeps the place of the arguments of its process.
BY_PROGRAM = {"setproctitle"}

# May be left open: it has no position and no owner.
HARMLESS = {"/dev/null", "/dev/urandom", "/dev/random"}


class Found:
    """Names that are safe to import, and the variables that matter to them."""

    def __init__(self, asked):
        self.names = []
        self.asked = asked
        self.arguments = False
        self.left_out = []
        self.states = []
        self.reason = None


def find_safe(plan, chance, watching):
    found = Found(watching["Asked"]())
    left_out = set(BY_PROGRAM)
    for _ in range(MOST_OFFENDERS):
        names = [name for name in plan.modules if not is_within(name, left_out)]
        plan.tell("%d modules are imported on trial" % len(names))
        said = ask(names, plan, chance, watching) if names else []
        if not said:
            found.reason = found.reason or "its imports end the process"
            return found
        if said[0][0] == "offender":
            (_, name), (_, why) = said
            left_out.add(to_leave_out(name, left_out))
            found.left_out.append((name, why))
            found.reason = "%s %s" % (name, why)
            plan.tell("%s is left out: it %s" % (name, why))
            continue
        changed = take(found, said)
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
            continue
        found.names = names
        return found
    return found


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
    found.asked = asked
    return changed


def is_package(origin):
    """Whether a module is no part of the standard library."""
    return "site-packages" in origin or "dist-packages" in origin


def is_within(name, packages):
    return any(name == package or name.startswith(package + ".") for package in packages)


def ask(names, plan, chance, watching):
    """What a probe says of these names: kinds, each with a value."""
    os.ftruncate(1, 0)  # What an earlier one has printed.
    said = elsewhere(lambda: look(names, plan, chance, watching["Watch"](), False))
    if said == [CLOSELY]:
        said = elsewhere(lambda: look(names, plan, chance, watching["Watch"](), True))
    return said


# A probe has to look for shared memory after every module, which takes its time.
CLOSELY = ("closely", "")


def elsewhere(work):
    """What `work` gives, in a process that is thrown away; nothing if it does not end."""
    ours, theirs = os.pipe()
    process = os.fork()
    if process == 0:
        try:
            os.close(ours)
            said = work()
            text = "".join(field + "\0" for each in said for field in each)
            with open(theirs, "wb") as file:
                file.write(text.encode("utf-8", "surrogateescape"))
        finally:
            os._exit(0)
    os.close(theirs)
    with open(ours, "rb") as file:
        said = file.read().decode("utf-8", "surrogateescape").split("\0")
    os.waitpid(process, 0)
    return list(zip(*[iter(said)] * 2))


def look(names, plan, chance, watch, closely):
    """In a probe: imports all of them, or tells of the first that may not be."""
    before, environment = descriptors(), dict(os.environ._data)
    shared = shared_memory()
    asked = watch.take()
    for name in names:
        if name in sys.modules:
            continue
        known = set(sys.modules)
        import_quietly(name)
        of_this = watch.take()
        why = (
            imported_foreign(known, plan.roots)
            or problem(before)
            or not_ahead(of_this, plan, environment)
            or closely and shares(shared)
        )
        if why:
            return [("offender", name), ("", why)]
        asked.add(of_this)
    if shares(shared):
        return [CLOSELY]
    now = os.environ._data
    both = set(environment) | set(now)
    changed = [os.fsdecode(name) for name in both if environment.get(name) != now.get(name)]
    said = [("fine", "")] + told(asked)
    said += [("arguments", "")] * watch.arguments.was_read
    said += [("state", state) for state in chance["states"]()]
    said += [("changed", name) for name in changed]
    return said


def told(asked):
    """What was asked for, as pairs of texts."""
    said = [("variable", name) for name in sorted(asked.variables)]
    said += [("beginning", name) for name in sorted(asked.beginnings)]
    said += [("ending", name) for name in sorted(asked.endings)]
    return said + [("everything", "")] * asked.everything


def asked_before(watching):
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
    found = Found(watching["Asked"]())
    if not files:
        return found.asked

    def again():
        watch = watching["Watch"]()
        for name, module in list(sys.modules.items()):
            if is_package(getattr(module, "__file__", None) or ""):
                del sys.modules[name]
        for directory, name in files:
            site.addpackage(directory, name, set())
        return [("fine", "")] + told(watch.take())

    said = elsewhere(again)
    os.ftruncate(1, 0)  # What it has printed, it has printed before.
    if said[:1] == [("fine", "")]:
        take(found, said)
    else:
        found.asked.everything = True
    return found.asked


def imports(path):
    """Whether a .pth file has a line that Python executes."""
    with open(path, "rb") as file:
        return any(line.startswith((b"import ", b"import\t")) for line in file)


def not_ahead(asked, plan, environment):
    """Why what was asked for will be another when the program is there."""
    sets, varies = asked.names(plan.sets), asked.names(plan.varies)
    if sets:
        return "asks for %s, which the program sets" % min(sets)
    if varies:
        return "asks for %s, which is another at each start" % min(varies)
    if asked.everything:
        sets = plan.sets & set(map(os.fsdecode, environment))
        if sets:
            return "looks at all variables, and the program may set %s" % min(sets)
        if plan.varies:
            return "looks at all variables, and %s is another at each start" % min(plan.varies)
    return None


def imported_foreign(known, roots):
    """Why not, if a module that is the program's own was imported by an installed one."""
    for name in set(sys.modules) - known:
        file = getattr(sys.modules[name], "__file__", None)
        if isinstance(file, str) and os.path.isabs(file) and not file.startswith(roots):
            return "imports %s, which is not installed" % file
    return None


def import_quietly(name):
    """An import that fails is one that the program will see fail, or not do."""
    try:
        __import__(name)
    except Exception:
        pass


def problem(before):
    """Why this process may not be forked into a program; a predicate of a module."""
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    if any(os.fstat(stream).st_size for stream in (1, 2)):
        return "prints when it is imported"
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


def shares(before):
    """Why not, if there is memory that all children would write to."""
    for path in sorted(shared_memory() - before):
        what = "a semaphore" if "/sem." in path else "memory"
        return "makes %s that all starts would share" % what
    return None


def shared_memory():
    """Memory that a fork does not copy."""
    with open("/proc/self/maps", "rb") as file:
        fields = [line.split(None, 5) for line in file if b"s " in line]
    return {
        os.fsdecode(each[0] + b" " + each[-1])
        for each in fields
        if each[1][1:2] == b"w" and each[1][3:] == b"s"
    }


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
