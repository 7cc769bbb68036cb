"""Loaded by Python before the program, in three kinds of processes.

A program that is started plainly for the first time (`learn`) records its modules when it
exits. A warm parent (`template`) imports these modules and then waits here: each of its
children returns from this file, and Python continues with the program as usual. A start
with kept bytecode (`bytecode`, or `learn`) finds it through this file.

The program must not notice any of this: sys.path, sys.modules and the environment are left
as they would be without it, and nothing is printed or raised. This file must parse in every
version of Python, including those for which it does nothing.
"""

import sys

# The counts of the garbage collector, before anything here is allocated (collector.py).
known = "gc" in sys.modules
import gc  # noqa: E402

counts = gc.get_count()
if not known:
    del sys.modules["gc"]


def begin(os):
    """Follows the instruction in the environment, and removes it from there."""
    instruction = os.environ.pop("PREHEAT_START", None)
    bytecode = os.environ.pop("PREHEAT_BYTECODE", None)
    standby = os.environ.pop("PREHEAT_STANDBY", None)
    here = os.path.dirname(os.path.abspath(__file__))
    leave_path(os, here)
    if not instruction:
        return
    kind, path_was, rest = instruction.split(":", 2)
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
        collector = load("collector.py")["Collector"](gc, counts)
        load("template.py")["begin"](rest, load, collector)


def part(os, here, name):
    """Executes one of our files, and returns its namespace; it is not in sys.modules."""
    path = os.path.join(here, name)
    scope = {"__name__": "preheat_" + name[:-3], "__file__": path}
    with open(path, "rb") as file:
        exec(compile(file.read(), path, "exec"), scope)
    return scope


def leave_path(os, here):
    """Removes this file's directory from sys.path."""
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

# The user's sitecustomize, if there is one, replaces this one. Python handles its absence and
# its exceptions as usual.
sys.modules.pop("sitecustomize", None)
import sitecustomize  # noqa: E402
