"""Records, in a disposable process, which variables imports read, and whether they read the
arguments.

Code that iterates over all variables to find those with a certain prefix depends on that
prefix only. Iterating over the environment therefore yields names that record how they are
used: `startswith`, `endswith` and `==` show which variables are wanted. Any other use of a
name, before one of these was true, means that the whole environment was read; and so does a
name that is kept, or whose use was not observed, since C code may read it unnoticed.
"""

import os
import sys


class Asked:
    """The variables that were read."""

    def __init__(self):
        self.variables = set()
        self.beginnings = set()
        self.endings = set()
        self.everything = False

    def names(self, names):
        """Those of these names that were read, by name, prefix or suffix."""
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
    """Replaces the environment and the arguments from now on; with `watches_warnings`, also
    detects warnings about the importing module."""

    def __init__(self, tracer=None, watches_warnings=True):
        self.asked = Asked()
        self.walks = []
        # True if the temporary directory was created that each start creates again.
        self.temporary = False
        # An act that must not happen ahead, as a predicate.
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

        for method in "__len__ __repr__ __reduce_ex__".split():
            setattr(Watched, method, reading_all(watch, of, method))

        class Items(type(os.environ.items())):
            def __iter__(self):
                # The value counts as read only if the name is used.
                for name in self._mapping:
                    plain = name.plain if type(name) is Name else name
                    yield name, of.__getitem__(self._mapping, plain)

        os.environ.__class__ = Watched
        os.environb.__class__ = Watched
        posix = sys.modules["posix"]
        posix.environ = Posix(posix.environ)
        posix.environ.asked = lambda: watch.asked
        self.arguments = sys.argv = Arguments(sys.argv)
        self.all_arguments = []
        if hasattr(sys, "orig_argv"):
            self.all_arguments = sys.orig_argv = Arguments(sys.orig_argv)
        self.warns = self.mentions_streams = False
        # A predicate, if something was read that shows the parent rather than the start.
        self.of_parent = None
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
        """Detects warnings that refer to the line that imports a module, by their stack level:
        in a trial, that line is not the program's."""
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
        return "warns the module that imports it" if warns else None

    def shows_parent(self):
        """The reason if something was read that shows the parent: its command line has no
        arguments, its status another umask."""
        why, self.of_parent = self.of_parent, None
        if self.arguments.names_later and self.arguments.first_was_read:
            self.arguments.first_was_read = False
            why = why or "reads the path of the program, which is set later"
        if any(getattr(sys, name) is not each or list.__ne__(each, each.then) for name, each in self.lists()):
            why = why or "changes the arguments when it is imported"
        return why

    def watch_code(self, importing):
        """Detects module-level code that mentions a standard stream. Where a stream is closed, the
        module may keep that there is none."""

        def see(function, values):
            if function is not exec or not mentions(values[0], STREAMS):
                return
            name = str(values[1].get("__name__"))
            if name.partition(".")[0] not in HARMLESS_MENTIONS:
                self.mentions_streams = True
            if mentions(values[0], KEPT_BY_STREAMS):
                self.of_parent = "inspects a standard stream when it is imported"

        make, bootstrap = importing["compiled"](EXECUTES)["make"], importing["bootstrap"]
        original = bootstrap._call_with_frames_removed
        bootstrap._call_with_frames_removed = make(original, see)

    def audit(self, event, values):
        """An audit hook, called in the middle of anything, so it must not fail."""
        if event == "os.listdir" or event == "os.scandir":
            if module_of(sys._getframe(1)) in SEARCHERS:
                path = values[0] if values and values[0] is not None else "."
                if not isinstance(path, int):
                    self.tracer.say("searches", os.path.realpath(path))
        elif event == "open":
            path = values[0] if values else None
            if isinstance(path, (str, bytes)) and path in RANDOM_FILES:
                self.of_parent = self.acts = "reads random bytes when it is imported"
            if isinstance(path, str) and path.startswith("/proc/"):
                self.asked.everything = self.asked.everything or path.endswith("/environ")
                if path.endswith("/cmdline"):
                    self.arguments.was_read = True
                    self.of_parent = "reads the command line of its process"
                elif path.endswith("/status"):
                    self.of_parent = "reads the status of its process"
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
        """Returns the variables that were read since the last call."""
        for each in self.walks:
            each.end()
        self.walks = [each for each in self.walks if each.alive]
        asked, self.asked = self.asked, Asked()
        return asked


# Modules that list directories to find modules and metadata of packages, both of which each
# start compares.
SEARCHERS = {
    "importlib._bootstrap_external",
    "_frozen_importlib_external",
    "importlib.metadata",
    "importlib_metadata",
    "pkg_resources",
}

# Functions that they register would also be called for preheat's code.
OBSERVES = {"sys.addaudithook", "sys.settrace", "sys.setprofile"}

# Files with other bytes in each process.
RANDOM_FILES = {"/dev/urandom", "/dev/random", "/dev/hwrng"}
RANDOM_FILES |= {"/proc/sys/kernel/random/uuid", b"/dev/urandom", b"/dev/random"}

# Creates a temporary directory, which each start creates again (temporary.py).
MAKES_DIRECTORY = "torch.distributed.nn.jit.instantiator"


EXECUTES = """
def make(original, see):
    def _call_with_frames_removed(f, *args, **kwds):
        see(f, args)
        return original(f, *args, **kwds)
    return _call_with_frames_removed
"""

# Names by which module-level code uses a standard stream.
STREAMS = {"stdin", "stdout", "stderr", "__stdin__", "__stdout__", "__stderr__"}

# numpy has streams as default arguments of functions, which it calls to show itself.
HARMLESS_MENTIONS = {"numpy"}

# Properties that a stream stores when it is opened, so that reading one makes no system call.
KEPT_BY_STREAMS = {"seekable"}

# Set in the flags of the code of functions, not in that of modules and classes.
OF_FUNCTION = 1


def mentions(code, names):
    """Returns True if code that runs when a module is imported may read one of these attributes of
    `sys`, or keep a stream in a log handler."""
    if "sys" in code.co_names and not names.isdisjoint(code.co_names):
        return True
    if names is STREAMS and "StreamHandler" in code.co_names and "logging" in code.co_names:
        return True
    return any(
        mentions(each, names)
        for each in code.co_consts
        if isinstance(each, type(code)) and not each.co_flags & OF_FUNCTION
    )


def module_of(frame):
    return str(frame.f_globals.get("__name__"))


class Arguments(list):
    """Arguments of the program that record that they were read."""

    was_read = first_was_read = False

    def __init__(self, then):
        list.__init__(self, then)
        # The original arguments.
        self.then = list(then)

    # True for `python -m`, which sets the first one when it has found the module.
    names_later = False

    def __getitem__(self, at):
        # The first one is the program, the same for all starts of this parent.
        self.was_read = self.was_read or at != 0
        is_first = at == 0 or isinstance(at, slice) and not at.start
        self.first_was_read = self.first_was_read or is_first
        return list.__getitem__(self, at)

    def __radd__(self, other):
        """`[...] + sys.argv` would copy the items in C; Python asks here first."""
        self.was_read = self.first_was_read = True
        return NotImplemented


def reading(method):
    original = getattr(list, method)

    def read(self, *values):
        self.was_read = True
        self.first_was_read = self.first_was_read or method != "__len__"
        return original(self, *values)

    return read


for method in "iter len contains reversed eq ne lt le gt ge add mul rmul repr".split():
    setattr(Arguments, "__%s__" % method, reading("__%s__" % method))
for method in "copy count index pop remove".split():
    setattr(Arguments, method, reading(method))


def reading_all(watch, kind, method):
    """A method that counts as a read of the whole environment."""
    original = getattr(kind, method)

    def read(self, *values):
        # `list` and `bool` ask for the length too, which does not show a variable.
        if method != "__len__" or "len" in sys._getframe(1).f_code.co_names:
            watch.asked.everything = True
        return original(self, *values)

    return read


class Posix(dict):
    """`posix.environ`, from which `os.environ` is made, as a copy that records that it was read."""

    def __init__(self, names):
        dict.__init__(self, names)
        self.asked = None

    def __getitem__(self, name):
        self.asked().variables.add(os.fsdecode(name))
        return dict.__getitem__(self, name)

    def get(self, name, default=None):
        self.asked().variables.add(os.fsdecode(name))
        return dict.get(self, name, default)

    def __contains__(self, name):
        self.asked().variables.add(os.fsdecode(name))
        return dict.__contains__(self, name)


def reading_posix(method):
    original = getattr(dict, method)

    def read(self, *values):
        self.asked().everything = True
        return original(self, *values)

    return read


for method in "iter len repr reversed eq ne or ror reduce_ex".split():
    if hasattr(dict, "__%s__" % method):
        setattr(Posix, "__%s__" % method, reading_posix("__%s__" % method))
for method in "copy keys items values pop popitem setdefault".split():
    setattr(Posix, method, reading_posix(method))


def walk(watch, names):
    """Yields the names as objects that record how they are used."""
    this = Walk(watch)
    watch.walks.append(this)
    for name in names:
        yield this.next(name)


class Walk:
    """One iteration over the environment."""

    def __init__(self, watch):
        self.watch = watch
        # Names that are still referenced, by number; True if they were wanted.
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
        """Called after the import of the module that iterated. The last name may remain, as
        the variable of its loop."""
        kept = [number for number, looked_for in self.alive.items() if not looked_for]
        if any(number + 1 < self.count for number in kept):
            self.everything()
            self.alive = {}

    def everything(self):
        self.watch.asked.everything = True


class Name(str):
    """The name of a variable, from an iteration."""

    def looked(self, is_it):
        self.was_looked_at = True
        if is_it:
            self.was_looked_for = True
            self.walk.alive[self.number] = True
            self.walk.watch.asked.variables.add(self.plain)
        return is_it

    def used(self):
        """Records a use that does not show which variables are wanted."""
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


# Methods that every object has do not count as a use, except for these.
FOR_TEXT = {"__hash__", "__str__", "__repr__", "__format__", "__lt__", "__le__", "__gt__"}
FOR_TEXT |= {"__ge__", "__reduce_ex__", "__reduce__"}
for method in dir(str):
    if method not in vars(Name) or method == "__hash__":
        if method not in dir(object) or method in FOR_TEXT:
            setattr(Name, method, using(method))
