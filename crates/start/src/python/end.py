"""Shortens the exit of a program that was forked from a warm parent.

When Python exits, it runs the garbage collector over all remaining objects, several times,
and frees whatever modules refer to. Most of these objects were created by imports in the
parent, and the kernel has to copy their pages before they can be freed. None of this can be
observed, except for objects with finalizers.

The parent therefore exempts its objects from garbage collection (`gc.freeze`), unless one of
them has a finalizer: exempt objects would be finalized later than others, and in another order.
When the program exits, after all `atexit` functions, the exemption stays only if the program has
not created such an object either. Otherwise it is undone, and Python exits as usual.

If the exemption stays, and all native libraries are known not to act when they are unloaded
(`native.py`), the modules of libraries stay as they are, and exit functions of native libraries are
skipped: nothing that they would do can be observed.
"""

import _weakref
import sys

# Functions of `gc` that show exempt objects, searched for in the program's source files.
SHOWS = (b"get_objects", b"get_referrers", b"get_freeze_count")

# Modules that iterate over all objects.
WALKERS = {"guppy", "meliae", "objgraph", "pympler"}

# Types whose finalizers have no effect outside the process.
HARMLESS = {
    ("torch.library", "Library"),
    ("_io", "BytesIO"),
    ("_io", "StringIO"),
    ("posix", "ScandirIterator"),
}

# Types without a finalizer that act when they are freed: a database in WAL mode is written
# back when its last connection closes.
ACTING = {("sqlite3", "Connection"), ("_sqlite3", "Connection")}

SOCKETS = {("_socket", "socket"), ("socket", "socket")}

# Modules whose weak reference callbacks only maintain tables.
TABLES = {
    "weakref",
    "_weakrefset",
    "logging",
    "functools",
    "_frozen_importlib",
    "importlib._bootstrap",
    None,
}


# The flag of types whose objects the garbage collector knows.
IS_COLLECTED = 1 << 14


class End:
    """The exit of all children of a parent."""

    def __init__(self, gc, plan, load):
        """To be called before objects for serving are created."""
        self.gc = gc
        self.finalizers = Finalizers(load("generators.py")["waits_in_try"])
        texts = sources(plan)
        # Other exit functions may be called after `prepare`.
        self.is_exempt = plan.is_last and not is_observed(plan, texts)
        if self.is_exempt and self.finalizers.any_acts(gc.get_objects()):
            self.is_exempt = False
        self.native = load("native.py")["Native"](plan, texts) if self.is_exempt else None
        self.libraries = libraries(plan)
        # A list that contains itself and is exempt is never freed.
        self.kept = []
        self.kept.append(self.kept)

    def freeze(self):
        """In the parent, before it forks."""
        if self.is_exempt:
            self.gc.freeze()

    def has_restore(self, shim):
        """In a parked standby that becomes a program which is not recorded: Python has waited
        for the restore when the exit functions of native libraries are due, and the shim has
        nothing else to do then."""
        if self.native:
            self.native.know(shim)

    def prepare(self):
        """Called when a child exits, after everything else."""
        if not self.is_exempt:
            return
        if self.has_new_finalizers():
            self.gc.unfreeze()
            return
        # Python clears the remaining modules, and thus frees what the program has stored in
        # them and in `__main__`, which is the parent's too.
        self.kept.extend(sys.modules.values())
        if self.is_unobserved() and self.native.skip():
            self.keep_libraries()

    def has_new_finalizers(self):
        try:
            if any(acts(each) for acts, each in self.finalizers.watched):
                return True
            # Without the parent's objects, which are exempt.
            return self.finalizers.any_acts(self.gc.get_objects())
        except Exception:
            return True

    def is_unobserved(self):
        """Returns True if no Python code runs after this, and no library has objects of native
        code that act when they are freed."""
        try:
            streams = (sys.stdout, sys.__stdout__), (sys.stderr, sys.__stderr__)
            if any(now is not then for now, then in streams) or len(sys._current_frames()) > 1:
                return False
            # A flush that fails calls this, and every call of Python code calls those.
            if sys.unraisablehook is not sys.__unraisablehook__:
                return False
            if sys.gettrace() or sys.getprofile():
                return False
            distributed = sys.modules.get("torch.distributed.distributed_c10d")
            return not (distributed and distributed._world.pg_map)
        except Exception:
            return False

    def keep_libraries(self):
        """Removes the modules of libraries from `sys.modules`, so that Python does not clear
        them."""
        for name, module in self.libraries:
            if sys.modules.get(name) is module:
                del sys.modules[name]


def libraries(plan):
    """Modules that are files of the standard library or of installed packages."""
    found = []
    for name, module in sys.modules.items():
        file = plan.names_of(module).get("__file__")
        if name != "__main__" and isinstance(file, str) and file.startswith(plan.roots):
            found.append((name, module))
    return found


def sources(plan):
    """The text of the program: its words, and its own files; None if they are not known."""
    words = getattr(sys, "orig_argv", None)
    if words is None or "script" not in plan.one and not {"-c", "-m"} & set(words):
        return None
    texts = [word.encode("utf-8", "surrogateescape") for word in words]
    for path, _ in plan.own:
        try:
            with open(path, "rb") as file:
                texts.append(file.read())
        except OSError:
            return None
    return texts


def is_observed(plan, texts):
    """Returns True if the program may inspect which objects exist."""
    if texts is None or WALKERS & set(plan.modules):
        return True
    return any(name in text for name in SHOWS for text in texts)


class Finalizers:
    """Finds objects that may act when they are finalized."""

    def __init__(self, waits_in_try):
        # Predicates for types, whose result may change.
        self.changing = {
            ("builtins", "generator"): waits_in_try,
            ("multiprocessing.resource_tracker", "ResourceTracker"): is_started,
        }
        # The parent's objects of these types, with the predicates.
        self.watched = []

    def any_acts(self, objects):
        return any(True for _ in self.acting(objects))

    def acting(self, objects):
        """Yields the objects that may act."""
        streams, known = Streams(), {}
        for each in objects:
            # Use type(): __class__ may be a property with side effects. Use id(): a metaclass
            # may define equality.
            of = type(each)
            if id(of) not in known:
                known[id(of)] = self.acts_at_end(of)
            acts = known[id(of)]
            if not acts:
                continue
            if acts(each) and each not in streams:
                yield each
            elif acts in self.changing.values():
                self.watched.append((acts, each))

    def acts_at_end(self, of):
        """A predicate for objects of this type that may act when they are finalized; or None."""
        name = of.__module__, of.__qualname__
        if name in HARMLESS:
            return None
        if name in ACTING:
            return always
        if name in self.changing:
            return self.changing[name]
        if name in SOCKETS:
            return is_open_socket
        if type in of.__mro__:
            return has_unseen_objects
        if _weakref.ref in of.__mro__:
            return calls
        if of.__module__ == "_io":
            return is_open
        # Types in C with a finalizer have it too: sockets, generators.
        return always if any("__del__" in base.__dict__ for base in of.__mro__) else None


def is_started(tracker):
    return tracker._fd is not None


def has_unseen_objects(of):
    """Returns True if the objects of a type have a finalizer, but are not known to the garbage
    collector: those of a class with empty slots."""
    if "__del__" not in of.__dict__ or of.__flags__ & IS_COLLECTED:
        return False
    return (of.__module__, of.__qualname__) not in HARMLESS


def always(_):
    return True


def calls(reference):
    """Returns True if a weak reference has a callback that may be observed."""
    callback = reference.__callback__
    return callback is not None and getattr(callback, "__module__", "") not in TABLES


def is_open(file):
    """Returns True for open files, whose buffers are written when they are freed."""
    try:
        return not file.closed
    except (AttributeError, ValueError):
        return False  # It is not a file, or detached.


def is_open_socket(socket):
    """Returns True for open sockets; the finalizer of a closed one does nothing."""
    return socket.fileno() != -1


class Streams:
    """The standard streams and their buffers, which Python flushes by name."""

    def __init__(self):
        self.all = []
        for name in ("stdin", "stdout", "stderr"):
            stream = getattr(sys, "__%s__" % name)
            buffer = getattr(stream, "buffer", None)
            self.all += [stream, buffer, getattr(buffer, "raw", None)]

    def __contains__(self, each):
        return any(each is known for known in self.all)
