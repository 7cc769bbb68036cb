"""Wraps the function of importlib that Python calls by name for each module that is not loaded.

The wrappers have the name and the file name of that function, so that tracebacks omit them too.
"""

import _frozen_importlib as bootstrap
import _frozen_importlib_external as external
import _thread
import sys

FILE = "<frozen importlib._bootstrap>"


def compiled(text):
    """The namespace of functions that belong to importlib."""
    scope = {"__name__": bootstrap.__name__, "__builtins__": __builtins__}
    exec(compile(text, FILE, "exec"), scope)
    return scope


class Imports:
    """Calls functions around each import of a module that is not loaded, in the thread that has
    created this object. An error in them ends this, and does not disturb the import."""

    def __init__(self):
        self.original, self.main = bootstrap._find_and_load, _thread.get_ident()
        self.is_broken = False

    def begin(self, enter, leave, again=None):
        """`again` is called for a module that is loaded, if Python asks for that."""
        make, again = compiled(AROUND)["make"], self.guarded(again or (lambda name: None))
        enter, leave = self.guarded(enter), self.guarded(leave)
        bootstrap._find_and_load = make(self.original, sys.modules, enter, leave, again)

    def end(self):
        bootstrap._find_and_load = self.original

    def guarded(self, function):
        def guard(*values):
            if self.is_broken or _thread.get_ident() != self.main:
                return
            try:
                function(*values)
            except Exception:
                self.is_broken = True

        return guard


AROUND = """
def make(original, modules, enter, leave, again):
    def _find_and_load(name, import_):
        if name in modules:
            again(name)
            return original(name, import_)
        enter(name)
        try:
            return original(name, import_)
        finally:
            leave(name)
    return _find_and_load
"""


class Showing:
    """Calls `show` before the import of a module that is hidden."""

    def __init__(self, hidden, show):
        self.original = bootstrap._find_and_load
        self.function = compiled(BEFORE)["make"](self.original, sys.modules, hidden, show)

    def begin(self):
        bootstrap._find_and_load = self.function

    def end(self):
        if bootstrap._find_and_load is self.function:
            bootstrap._find_and_load = self.original


BEFORE = """
def make(original, modules, hidden, show):
    def _find_and_load(name, import_):
        if name in hidden and name not in modules:
            show(name)
        return original(name, import_)
    return _find_and_load
"""


def new_entries(known, pending):
    """New names in `sys.modules`, other than of modules that are being imported; adds them to
    those that are known."""
    found = []
    # They are the last ones, but for modules that have just been executed.
    for name in reversed(sys.modules):
        if name in known:
            break
        # A module that waits for its package may be an entry that the package makes.
        inner = pending[len(pending) - pending[::-1].index(name) :] if name in pending else None
        if inner is None or inner[:1] == [name.rpartition(".")[0]]:
            found.append(name)
    known.update(found)
    return found[::-1]
