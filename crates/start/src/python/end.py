"""Makes the end of a program short that was forked from a warm parent.

When Python ends it has the garbage collector look for cycles in everything that is left,
several times, and frees whatever modules refer to. Most of that was made by imports, in the
parent, and to free it the kernel first has to copy it. None of it can be observed, but for
objects that do something when they are finalized.

So the parent exempts its objects from garbage collection (`gc.freeze`), unless one of them has
a finalizer: exempt objects would be finalized later than others, and in another order. At the
end of the program, after all functions of `atexit`, the exemption stays only if the program has
not made such an object either. Otherwise it is undone, and Python ends the program as ever.
"""

import _weakref
import sys

# Functions of `gc` that show which objects are exempt, in the program's own files.
SHOWS = (b"get_objects", b"get_referrers", b"get_freeze_count")

# Modules that walk through all objects.
WALKERS = {"guppy", "meliae", "objgraph", "pympler"}

# Types whose finalizers do nothing outside of the process.
HARMLESS = {("torch.library", "Library"), ("_io", "BytesIO"), ("_io", "StringIO")}

# Types without a finalizer that do something when they are freed: a database in WAL mode is
# written back when its last connection goes.
ACTING = {("sqlite3", "Connection"), ("_sqlite3", "Connection")}

# Modules whose own callbacks of weak references only keep their tables.
TABLES = {"weakref", "_weakrefset", "logging", "functools", "_frozen_importlib", None}


class End:
    """Of all children of a parent."""

    def __init__(self, gc, plan):
        """Before serving has made objects of its own."""
        self.gc = gc
        self.is_exempt = not is_observed(plan) and not any_acts(gc.get_objects(), Streams())
        # Nothing frees a list that holds itself and is exempt.
        self.kept = []
        self.kept.append(self.kept)

    def freeze(self):
        """In the parent, before it forks."""
        if self.is_exempt:
            self.gc.freeze()

    def prepare(self):
        """At the end of a child, after everything else."""
        if not self.is_exempt:
            return
        if self.has_new_finalizers():
            self.gc.unfreeze()
        else:
            # Python clears modules that are still there, and so frees what the program has
            # put into them, and into `__main__`, which is the parent's too.
            self.kept.extend(sys.modules.values())

    def has_new_finalizers(self):
        try:
            # Without those of the parent, which are exempt.
            return any_acts(self.gc.get_objects(), Streams())
        except Exception:
            return True


def is_observed(plan):
    """Whether the program may look at which objects there are."""
    if WALKERS & set(plan.modules):
        return True
    words = getattr(sys, "orig_argv", None)
    if words is None or "script" not in plan.one and not {"-c", "-m"} & set(words):
        return True  # Its text is not known.
    texts = [word.encode("utf-8", "surrogateescape") for word in words]
    for path, _ in plan.own:
        try:
            with open(path, "rb") as file:
                texts.append(file.read())
        except OSError:
            return True
    return any(name in text for name in SHOWS for text in texts)


def any_acts(objects, streams):
    """Whether one of these objects may do something when it is finalized."""
    known = {}
    for each in objects:
        # By its type: asking an object for its class may make it do things. By its address:
        # a class of a class may say what equals it.
        of = type(each)
        if id(of) not in known:
            known[id(of)] = acts_at_end(of)
        acts = known[id(of)]
        if acts and acts(each) and each not in streams:
            return True
    return False


def acts_at_end(of):
    """A function that says of an object of this type whether it may do something; or None."""
    name = of.__module__, of.__qualname__
    if name in HARMLESS:
        return None
    if name in ACTING:
        return always
    if _weakref.ref in of.__mro__:
        return calls
    if of.__module__ == "_io":
        return is_open
    # Types in C have it too, if they have a finalizer: sockets, generators.
    return always if any("__del__" in base.__dict__ for base in of.__mro__) else None


def always(_):
    return True


def calls(reference):
    """Whether a weak reference calls something that may be seen."""
    callback = reference.__callback__
    return callback is not None and getattr(callback, "__module__", "") not in TABLES


def is_open(file):
    """Of the files in C: what is in their buffers is written when they are freed."""
    try:
        return not file.closed
    except (AttributeError, ValueError):
        return False  # It is none, or has none below it.


class Streams:
    """The standard streams and what is below them: Python flushes these by name."""

    def __init__(self):
        self.all = []
        for name in ("stdin", "stdout", "stderr"):
            stream = getattr(sys, "__%s__" % name)
            buffer = getattr(stream, "buffer", None)
            self.all += [stream, buffer, getattr(buffer, "raw", None)]

    def __contains__(self, each):
        return any(each is known for known in self.all)
