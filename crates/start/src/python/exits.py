"""Functions that modules register with `atexit` when they are imported.

`.pth` files import some modules before preheat begins. Their functions would be called after
preheat's, so they are registered again (`register_first`).

A start that does not import such a module, because it fails or takes another branch, must not
notice its function. So a trial calls the functions, after everything else. Functions of the
standard library are not called: they flush streams, or serve objects that the program makes.
The same holds for the finalizers of objects that a module has made when it was imported.
"""

import os
import sys

# The directory of the standard library.
LIBRARY = os.path.dirname(os.__file__) + os.sep


class Exits:
    """Records, in a disposable process, what is registered from now on."""

    def __init__(self, finalizers):
        import atexit
        import gc

        self.name, self.all = None, []
        self.finalizers, self.gc = finalizers, gc
        self.known = set(map(id, registered_finalizers()))
        # Objects that exist already are not listed later.
        gc.freeze()
        original = atexit.register

        def register(function, *values, **named):
            if is_called(function, sys._getframe(1)):
                self.all.append((self.name, function, values, named))
            return original(function, *values, **named)

        atexit.register = register

    def see_objects(self):
        """After an import: records the objects with finalizers that it has made."""
        found = [finalizer(each) for each in self.finalizers.acting(self.gc.get_objects())]
        found += [each for each in registered_finalizers() if id(each) not in self.known]
        self.known.update(map(id, found))
        self.all += [(self.name, each, (), {}) for each in found if each]
        self.gc.freeze()

    def end(self):
        """After all imports: has the garbage collector list all objects again."""
        self.gc.unfreeze()

    def run(self, tracer, say, output):
        """Calls the functions and finalizers; returns the name of a module and why it must not
        be imported, or None. The tracer stops this process if a function acts."""
        for name, function, values, named in reversed(self.all):
            say("importing", name)
            tracer.say("theirs")
            try:
                function(*values, **named)
            except Exception:
                pass
            tracer.say("ours")
            if any(output()):
                return name, "prints when the program exits"
        return None


def is_called(function, frame):
    """Returns True for what modules that are installed register."""
    path = frame.f_code.co_filename
    return not path.startswith(LIBRARY) or "-packages" + os.sep in path


def registered_finalizers():
    """The `weakref.finalize` objects that are called when the program exits."""
    weakref = sys.modules.get("weakref")
    return list(weakref.finalize._registry) if weakref else []


def finalizer(each):
    """A function that does what Python would when it frees an object; None if that is native
    code, which leaves a descriptor open until then."""
    if hasattr(each, "gi_frame"):
        return each.close
    callback = getattr(each, "__callback__", None)
    if callback is not None:
        return lambda: callback(each)
    bases = type(each).__mro__
    found = [base.__dict__["__del__"] for base in bases if "__del__" in base.__dict__]
    is_python = bool(found) and type(found[0]) is type(finalizer)
    return (lambda: found[0](each)) if is_python else None


class Listing:
    """Collects the functions that are registered: `atexit.unregister` compares each with its
    argument."""

    def __init__(self):
        self.functions = []

    def __eq__(self, other):
        self.functions.append(other)
        return False

    __hash__ = None


# Flags of code that accepts any number of arguments.
VARIABLE = 0x04 | 0x08


def register_first(register):
    """Calls `register`, which registers a function that must be called after all others. Returns
    False if others are called even later."""
    atexit = sys.modules.get("atexit")
    if atexit is None:
        register()
        return True
    listing = Listing()
    atexit.unregister(listing)
    earlier = listing.functions
    # Their arguments are not known. Before 3.14 the order is that in which they were registered.
    is_known = len(earlier) == atexit._ncallbacks() and all(map(takes_nothing, earlier))
    if not is_known or len(earlier) > 1 and sys.version_info >= (3, 14):
        register()
        return False
    for each in earlier:
        atexit.unregister(each)
    register()
    for each in earlier:
        atexit.register(each)
    return True


def takes_nothing(function):
    """Returns True for functions and methods that can only be registered without arguments."""
    is_method = type(function) is type(Listing().__eq__)
    if not is_method and type(function) is not type(takes_nothing):
        return False
    code = function.__code__
    return not code.co_flags & VARIABLE and (
        code.co_argcount + code.co_kwonlyargcount == int(is_method)
    )
