"""Finds out what imports do, in processes that are thrown away.

A probe is a child that imports the modules one by one, and looks after each: has it
printed, started threads that outlive a fork, left something open, asked for a variable
that the program sets itself? Such a module is left out, and a new probe goes on without
it. What passes is then imported once more by the parent itself, which nothing was ever
patched in.
"""

import os
import sys

# After so many modules that cannot be imported ahead, none is.
MOST_OFFENDERS = 12

# May be left open: it has no position and no owner.
HARMLESS = {"/dev/null", "/dev/urandom", "/dev/random"}


class Found:
    """Names that are safe to import, and the variables that matter to them."""

    def __init__(self):
        self.names = []
        self.variables = set()
        self.all_variables = False
        self.arguments = False
        self.left_out = []
        self.states = []
        self.reason = None


def find_safe(plan, chance):
    found = Found()
    left_out = set()
    for _ in range(MOST_OFFENDERS):
        names = [name for name in plan.modules if not is_within(name, left_out)]
        fields = ask(names, plan, chance) if names else []
        if not fields:
            found.reason = found.reason or "its imports end the process"
            return found
        if fields[0] == "offender":
            # The second of a package stands for all of it.
            package = fields[1].partition(".")[0]
            again = any(is_within(name, {package}) for name in left_out)
            left_out.add(package if again else fields[1])
            found.left_out.append((fields[1], fields[2]))
            found.reason = "%s %s" % (fields[1], fields[2])
            continue
        found.all_variables = "all" in fields[1]
        found.arguments = "arguments" in fields[1]
        found.states = fields[2].split()
        found.variables = set(fields[4:])
        # What was changed when the program ran, and not by an import, it has set itself:
        # perhaps before the imports that ask for it.
        set_by_program = set(plan.changed) - set(fields[3].split())
        asked = [name for name in set_by_program if plan.changed[name] or name in found.variables]
        packages = [name for name in names if is_package(plan.modules[name])]
        if asked and packages:
            left_out.update(packages)
            reason = "may ask for %s, which the program sets" % min(asked)
            found.left_out.append((packages[0] + " and other packages", reason))
            continue
        found.names = names
        return found
    return found


def is_package(origin):
    """Whether a module is no part of the standard library."""
    return "site-packages" in origin or "dist-packages" in origin


def is_within(name, packages):
    return any(name == package or name.startswith(package + ".") for package in packages)


def ask(names, plan, chance):
    """What a probe says of these names."""
    os.ftruncate(1, 0)  # What an earlier one has printed.
    ours, theirs = os.pipe()
    process = os.fork()
    if process == 0:
        try:
            os.close(ours)
            said = "\0".join(look(names, plan, chance))
            with open(theirs, "wb") as file:
                file.write(said.encode("utf-8", "surrogateescape"))
        finally:
            os._exit(0)
    os.close(theirs)
    with open(ours, "rb") as file:
        said = file.read()
    os.waitpid(process, 0)
    return said.decode("utf-8", "surrogateescape").split("\0") if said else []


def look(names, plan, chance):
    """In a probe: imports all of them, or tells of the first that may not be."""
    before, environment = descriptors(), dict(os.environ._data)
    watch = Watch()
    asked = set()
    for name in names:
        if name in sys.modules:
            continue
        known = set(sys.modules)
        watch.begin()
        import_quietly(name)
        foreign = imported_foreign(known, plan.roots)
        if foreign:
            return "offender", name, "imports %s, which is not installed" % foreign
        is_problem = problem(before)
        if is_problem:
            return "offender", name, is_problem
        sets = plan.sets & watch.variables
        if sets:
            return "offender", name, "asks for %s, which the program sets" % min(sets)
        asked |= watch.variables
    now = os.environ._data
    both = set(environment) | set(now)
    changed = [os.fsdecode(name) for name in both if environment.get(name) != now.get(name)]
    changed = " ".join(changed)
    states = " ".join(chance["states"]())
    everything = "all" if watch.all_variables else ""
    if watch.arguments.was_read:
        everything += " arguments"
    return ("fine", everything, states, changed) + tuple(sorted(asked))


def imported_foreign(known, roots):
    """A module that is the program's own, and was imported by one that is installed."""
    for name in set(sys.modules) - known:
        file = getattr(sys.modules[name], "__file__", None)
        if isinstance(file, str) and os.path.isabs(file) and not file.startswith(roots):
            return file
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


class Watch:
    """Sees which variables are asked for, and whether arguments are."""

    def __init__(self):
        self.variables = set()
        self.all_variables = False
        of = type(os.environ)
        watch = self

        class Watched(of):
            def __getitem__(self, name):
                watch.variables.add(name if isinstance(name, str) else os.fsdecode(name))
                return of.__getitem__(self, name)

            def __iter__(self):
                watch.all_variables = True
                return of.__iter__(self)

        class Arguments(list):
            was_read = False

            def __getitem__(self, at):
                # The first is the program, which this parent is for.
                self.was_read = self.was_read or at != 0
                return list.__getitem__(self, at)

            def __iter__(self):
                self.was_read = True
                return list.__iter__(self)

            def __len__(self):
                self.was_read = True
                return list.__len__(self)

        os.environ.__class__ = Watched
        os.environb.__class__ = Watched
        self.arguments = sys.argv = Arguments(sys.argv)

    def begin(self):
        self.variables = set()
