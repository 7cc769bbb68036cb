"""Sees, in a process that is thrown away, which variables imports ask for, and whether they
look at arguments.

Who goes through all variables to find those of a certain beginning has asked for that
beginning, and for nothing else. So a walk through the environment gives names that note
what is done with them: `startswith`, `endswith` and `==` tell what was looked for. Whatever
else is done with a name, before one of these was true of it, means that everything was
looked at; and so does a name that is kept, or that nothing was seen of: code in C may
read it unseen.
"""

import os
import sys


class Asked:
    """What was asked for."""

    def __init__(self):
        self.variables = set()
        self.beginnings = set()
        self.endings = set()
        self.everything = False

    def names(self, names):
        """Which of these names were asked for, as far as it does not take everything."""
        beginnings, endings = tuple(self.beginnings), tuple(self.endings)
        return {
            name
            for name in names
            if name in self.variables or name.startswith(beginnings) or name.endswith(endings)
        }

    def add(self, other):
        self.variables |= other.variables
        self.beginnings |= other.beginnings
        self.endings |= other.endings
        self.everything = self.everything or other.everything


class Watch:
    """Stands in for the environment and the arguments from now on; `watches_warnings` if
    what is imported may warn who imports it."""

    def __init__(self, tracer=None, watches_warnings=True):
        self.asked = Asked()
        self.walks = []
        # Whether the directory was made that is made again in each start.
        self.temporary = False
        # What was done that nobody may do ahead; a predicate.
        self.acts = None
        self.tracer = tracer
        watch = self
        of = type(os.environ)

        class Watched(of):
            def __getitem__(self, name):
                if type(name) is Name:
                    return of.__getitem__(self, name.used())
                watch.asked.variables.add(name if isinstance(name, str) else os.fsdecode(name))
                return of.__getitem__(self, name)

            def __iter__(self):
                if self is os.environ:
                    return walk(watch, of.__iter__(self))
                watch.asked.everything = True
                return of.__iter__(self)

            def items(self):
                return Items(self)

            def values(self):
                watch.asked.everything = True
                return of.values(self)

        class Items(type(os.environ.items())):
            def __iter__(self):
                # The value goes with the name: who passes over that has no use for it.
                for name in self._mapping:
                    plain = name.plain if type(name) is Name else name
                    yield name, of.__getitem__(self._mapping, plain)

        os.environ.__class__ = Watched
        os.environb.__class__ = Watched
        self.arguments = sys.argv = Arguments(sys.argv)
        self.all_arguments = []
        if hasattr(sys, "orig_argv"):
            self.all_arguments = sys.orig_argv = Arguments(sys.orig_argv)
        self.warns = False
        if tracer:
            sys.addaudithook(self.audit)
            if watches_warnings:
                self.watch_warnings()

    def lists(self):
        """The arguments, by their names in `sys`."""
        named = [("argv", self.arguments), ("orig_argv", self.all_arguments)]
        return [each for each in named if hasattr(sys, each[0])]

    def reads_arguments(self):
        return any(each.was_read for _, each in self.lists())

    def forget_reads(self):
        for _, each in self.lists():
            each.was_read = False

    def watch_warnings(self):
        """A warning is about who imports a module if it is meant for a place outside of
        what is imported: the program's own line, which is not here."""
        import warnings

        original = warnings.warn

        def warn(message, category=None, stacklevel=1, source=None, **named):
            frame = sys._getframe(1)
            for _ in range(stacklevel - 1):
                frame = frame and frame.f_back
                while frame and "importlib" in module_of(frame):
                    frame = frame.f_back
            if frame is None or module_of(frame).startswith("preheat_"):
                self.warns = True
            return original(message, category, stacklevel + 1, source, **named)

        warnings.warn = warn

    def warned(self):
        warns, self.warns = self.warns, False
        return "warns who imports it" if warns else None

    def audit(self, event, values):
        """Sees what Python itself tells of; in the middle of anything, so it must not fail."""
        if event == "os.listdir" or event == "os.scandir":
            if module_of(sys._getframe(1)) in SEARCHERS:
                path = values[0] if values and values[0] is not None else "."
                if not isinstance(path, int):
                    self.tracer.say("searches", os.path.realpath(path))
        elif event == "open":
            path = values[0] if values else None
            if isinstance(path, str) and path.startswith("/proc/"):
                self.asked.everything = self.asked.everything or path.endswith("/environ")
                if path.endswith("/cmdline"):
                    self.arguments.was_read = True
        elif event in OBSERVES:
            self.acts = self.acts or "calls %s" % event
        elif event == "tempfile.mkdtemp":
            frame = sys._getframe(1)
            while frame and module_of(frame) in ("tempfile", "importlib._bootstrap"):
                frame = frame.f_back
            if frame and module_of(frame) == MAKES_DIRECTORY:
                self.temporary = True
                self.tracer.say("permit")

    def take(self):
        """What was asked for since the last time."""
        for each in self.walks:
            each.end()
        self.walks = [each for each in self.walks if each.alive]
        asked, self.asked = self.asked, Asked()
        return asked


# List directories to find modules and what packages tell of themselves: both are compared
# at each start.
SEARCHERS = {
    "importlib._bootstrap_external",
    "_frozen_importlib_external",
    "importlib.metadata",
    "importlib_metadata",
    "pkg_resources",
}

# What is registered by these would be called for what preheat does, too.
OBSERVES = {"sys.addaudithook", "sys.settrace", "sys.setprofile"}

# Makes a directory for temporary files, which each start has again (temporary.py).
MAKES_DIRECTORY = "torch.distributed.nn.jit.instantiator"


def module_of(frame):
    return str(frame.f_globals.get("__name__"))


class Arguments(list):
    """Arguments of the program, which note that they were read."""

    was_read = False

    def __getitem__(self, at):
        # The first is the program, which this parent is for.
        self.was_read = self.was_read or at != 0
        return list.__getitem__(self, at)


def reading(method):
    original = getattr(list, method)

    def read(self, *values):
        self.was_read = True
        return original(self, *values)

    return read


for method in "iter len contains reversed eq ne lt le gt ge add mul rmul repr".split():
    setattr(Arguments, "__%s__" % method, reading("__%s__" % method))
for method in "copy count index pop".split():
    setattr(Arguments, method, reading(method))


def walk(watch, names):
    """The names, each of which tells what is done with it."""
    this = Walk(watch)
    watch.walks.append(this)
    for name in names:
        yield this.next(name)


class Walk:
    """One walk through the environment."""

    def __init__(self, watch):
        self.watch = watch
        # Names that are still there, by their number; whether they were looked for.
        self.alive = {}
        self.count = 0

    def next(self, plain):
        name = Name(plain)
        name.plain, name.walk, name.number = plain, self, self.count
        name.was_looked_at = name.was_looked_for = False
        self.alive[self.count] = False
        self.count += 1
        return name

    def end(self):
        """The module that went through the environment is there. The last name may stay,
        as the variable of its loop."""
        kept = [number for number, looked_for in self.alive.items() if not looked_for]
        if any(number + 1 < self.count for number in kept):
            self.everything()
            self.alive = {}

    def everything(self):
        self.watch.asked.everything = True


class Name(str):
    """The name of a variable, from a walk."""

    def looked(self, is_it):
        self.was_looked_at = True
        if is_it:
            self.was_looked_for = True
            self.walk.alive[self.number] = True
            self.walk.watch.asked.variables.add(self.plain)
        return is_it

    def used(self):
        """For something that tells nothing of what is looked for."""
        self.was_looked_at = True
        if not self.was_looked_for:
            self.walk.everything()
        return self.plain

    def __del__(self):
        if not self.was_looked_at:
            self.walk.everything()
        self.walk.alive.pop(self.number, None)

    def startswith(self, beginning, *where):
        return self.affix("startswith", "beginnings", beginning, where)

    def endswith(self, ending, *where):
        return self.affix("endswith", "endings", ending, where)

    def affix(self, method, kind, affix, where):
        if where:
            return getattr(self.used(), method)(affix, *where)
        is_it = getattr(self.plain, method)(affix)
        asked = getattr(self.walk.watch.asked, kind)
        asked.update(affix if isinstance(affix, tuple) else (affix,))
        return self.looked(is_it)

    def __eq__(self, other):
        if type(other) is not str:
            return self.used() == (other.used() if type(other) is Name else other)
        self.walk.watch.asked.variables.add(other)
        return self.looked(self.plain == other)

    def __ne__(self, other):
        return not self == other

    def __radd__(self, other):
        return other + self.used()


def using(method):
    def use(self, *arguments, **named):
        return getattr(self.used(), method)(*arguments, **named)

    return use


# Those that every object has are no use of it, but for these.
FOR_TEXT = {"__hash__", "__str__", "__repr__", "__format__", "__lt__", "__le__", "__gt__"}
FOR_TEXT |= {"__ge__", "__reduce_ex__", "__reduce__"}
for method in dir(str):
    if method not in vars(Name) or method == "__hash__":
        if method not in dir(object) or method in FOR_TEXT:
            setattr(Name, method, using(method))
