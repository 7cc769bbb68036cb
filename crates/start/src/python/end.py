"""Shortens the exit of a program that was forked from a warm parent.

When Python exits, it runs the garbage collector over all remaining objects, several times,
and frees whatever modules refer to. Most of these objects were created by imports in the
parent, and the kernel has to copy their pages before they can be freed. None of this can be
observed, except for objects with finalizers.

The parent therefore exempts its objects from garbage collection (`gc.freeze`), unless one of
them has a finalizer: exempt objects would be finalized later than others, and in another order.
When the program exits, after all `atexit` functions, the exemption stays only if the program has
not created such an object either. Otherwise it is undone, and Python exits as usual.
"""

import _weakref
import sys

# Functions of `gc` that show exempt objects, searched for in the program's source files.
SHOWS = (b"get_objects", b"get_referrers", b"get_freeze_count")

# Modules that iterate over all objects.
WALKERS = {"guppy", "meliae", "objgraph", "pympler"}

# Types whose finalizers have no effect outside the process.
HARMLESS = {("torch.library", "Library"), ("_io", "BytesIO"), ("_io", "StringIO")}

# Types without a finalizer that act when they are freed: a database in WAL mode is written
# back when its last connection closes.
ACTING = {("sqlite3", "Connection"), ("_sqlite3", "Connection")}

# Modules whose weak reference callbacks only maintain tables.
TABLES = {"weakref", "_weakrefset", "logging", "functools", "_frozen_importlib", None}


class End:
    """The exit of all children of a parent."""

    def __init__(self, gc, plan):
        """To be called before objects for serving are created."""
        self.gc = gc
        self.is_exempt = not is_observed(plan) and not any_acts(gc.get_objects(), Streams())
        # A list that contains itself and is exempt is never freed.
        self.kept = []
        self.kept.append(self.kept)

    def freeze(self):
        """In the parent, before it forks."""
        if self.is_exempt:
            self.gc.freeze()

    def prepare(self):
        """When a child exits, after everything else."""
        if not self.is_exempt:
            return
        if self.has_new_finalizers():
            self.gc.unfreeze()
        else:
            # Python clears the remaining modules, and thus frees what the program has stored
            # in them and in `__main__`, which is the parent's too.
            self.kept.extend(sys.modules.values())

    def has_new_finalizers(self):
        try:
            # Without the parent's objects, which are exempt.
            return any_acts(self.gc.get_objects(), Streams())
        except Exception:
            return True


def is_observed(plan):
    """Returns True if the program may inspect which objects exist."""
    if WALKERS & set(plan.modules):
        return True
    words = getattr(sys, "orig_argv", None)
    if words is None or "script" not in plan.one and not {"-c", "-m"} & set(words):
        return True  # Its source is not known.
    texts = [word.encode("utf-8", "surrogateescape") for word in words]
    for path, _ in plan.own:
        try:
            with open(path, "rb") as file:
                texts.append(file.read())
        except OSError:
            return True
    return any(name in text for name in SHOWS for text in texts)


def any_acts(objects, streams):
    """Returns True if one of these objects may act when it is finalized."""
    known = {}
    for each in objects:
        # Use type(): __class__ may be a property with side effects. Use id(): a metaclass may
        # define equality.
        of = type(each)
        if id(of) not in known:
            known[id(of)] = acts_at_end(of)
        acts = known[id(of)]
        if acts and acts(each) and each not in streams:
            return True
    return False


def acts_at_end(of):
    """A predicate for objects of this type that may act when they are finalized; or None."""
    name = of.__module__, of.__qualname__
    if name in HARMLESS:
        return None
    if name in ACTING:
        return always
    if _weakref.ref in of.__mro__:
        return calls
    if of.__module__ == "_io":
        return is_open
    # Types in C with a finalizer have it too: sockets, generators.
    return always if any("__del__" in base.__dict__ for base in of.__mro__) else None


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
