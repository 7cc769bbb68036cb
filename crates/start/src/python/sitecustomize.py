"""Loaded by Python at its start, before the program, in three kinds of processes.

A program that is started plainly and has not been seen before (`learn`) tells at its end
which modules it had. A warm parent (`template`) imports such modules and then waits here:
each of its children returns from this file, and Python itself goes on with the program,
as it would have without us. A start that keeps bytecode (`bytecode`, or `learn` too)
finds it by us.

Nothing of this may be seen by the program: it leaves sys.path, sys.modules and the
environment as they would be without it, prints nothing and raises nothing. It must stay
readable to every Python, also to those for which it then does nothing.
"""

import sys


def begin(os):
    """Does what the environment asks for, and takes that out of it."""
    asked = os.environ.pop("PREHEAT_START", None)
    bytecode = os.environ.pop("PREHEAT_BYTECODE", None)
    standby = os.environ.pop("PREHEAT_STANDBY", None)
    here = os.path.dirname(os.path.abspath(__file__))
    leave_path(os, here)
    if not asked:
        return
    kind, path_was, rest = asked.split(":", 2)
    if path_was == "set":
        ours = os.environ.get("PYTHONPATH", "")
        os.environ["PYTHONPATH"] = ours[len(here) + 1 :]
    else:
        os.environ.pop("PYTHONPATH", None)
    if bytecode:
        part(os, here, "bytecode.py")["begin"](bytecode)
    load = lambda name: part(os, here, name)  # noqa: E731
    if kind == "learn":
        learning = standby and load("device_use.py")["Learning"](standby, load)
        load("learn.py")["begin"](rest, learning)
    elif kind == "template":
        collector = load("collector.py")["Collector"]()
        load("template.py")["begin"](rest, load, collector)


def part(os, here, name):
    """The names that one of our files defines; it is no module that anyone could find."""
    path = os.path.join(here, name)
    scope = {"__name__": "preheat_" + name[:-3], "__file__": path}
    with open(path, "rb") as file:
        exec(compile(file.read(), path, "exec"), scope)
    return scope


def leave_path(os, here):
    """Takes this file's directory from sys.path."""
    ours = {here, os.path.realpath(here)}
    sys.path[:] = [
        path
        for path in sys.path
        if not isinstance(path, str) or not path or os.path.abspath(path) not in ours
    ]
    for path in ours:
        sys.path_importer_cache.pop(path, None)


import os  # noqa: E402

try:
    begin(os)
except Exception:
    pass

# The user's own, if there is one, takes this one's place; what it raises, or that there
# is none, is for Python to handle as ever.
sys.modules.pop("sitecustomize", None)
import sitecustomize  # noqa: E402
