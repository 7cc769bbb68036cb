"""Reads the environment in many ways, and checks which variables `Watch` records. Run with the path
of watch.py; prints nothing if all is as expected."""

import copy
import os
import posix
import re
import subprocess
import sys

given = {"A": "1", "TQDM_X": "2", "BEGAN": "3", "http_proxy": "x", "B_PROXY": "y"}
os.environ.clear()
os.environ.update(given)
scope = {"__name__": "watch"}
with open(sys.argv[1]) as file:
    exec(compile(file.read(), sys.argv[1], "exec"), scope)
watch = scope["Watch"]()
environ, kept, failed = os.environ, [], False


def loop():
    """The variable of a loop stays after it."""
    global name
    for name, _ in environ.items():
        if name.startswith("TQDM_"):
            pass


def keep():
    kept.append([name for name in environ if not name.startswith("A")])
    return kept.pop


EVERYTHING = "everything"
for look, expected in [
    (lambda: environ.get("NEW"), ["NEW"]),
    (lambda: "NEW" in environ, ["NEW"]),
    (lambda: environ.setdefault("A", "2"), ["A"]),
    (lambda: os.getenvb(b"NEW"), ["NEW"]),
    (lambda: len(environ) and None, EVERYTHING),
    (lambda: repr(environ) and None, EVERYTHING),
    (lambda: copy.deepcopy(environ) and None, EVERYTHING),
    (lambda: posix.environ.get(b"NEW"), ["NEW"]),
    (lambda: posix.environ.copy() and None, EVERYTHING),
    (
        lambda: {k[5:].lower(): v for k, v in environ.items() if k.startswith("TQDM_")},
        ["TQDM_*", "TQDM_X"],
    ),
    (
        lambda: any(k == "QT_API" or k.startswith("SPYDER") for k in environ),
        ["QT_API", "SPYDER*"],
    ),
    (
        lambda: [k for k in environ if k.endswith(("_proxy", "_PROXY"))],
        ["*_PROXY", "*_proxy", "B_PROXY", "http_proxy"],
    ),
    (lambda: [environ[k] for k in environ if k.startswith("TQ")], ["TQ*", "TQDM_X"]),
    (lambda: ["x" + k for k in environ if k.startswith("A")], ["A", "A*"]),
    (lambda: [1 for k in environ if k in ("A", "Z")], ["A", "Z"]),
    (lambda: [1 for k in environ if k != "A"], ["A"]),
    (loop, ["TQDM_*", "TQDM_X"]),
    (lambda: name + "x", EVERYTHING),
    (lambda: environ.copy() and None, EVERYTHING),
    (lambda: {**environ} and None, EVERYTHING),
    (lambda: list(environ) and None, EVERYTHING),
    (lambda: ",".join(environ), EVERYTHING),
    (lambda: "1" in environ.values(), EVERYTHING),
    (lambda: [1 for _, value in environ.items() if value == "1"], EVERYTHING),
    (lambda: [1 for k in environ if k.lower().endswith("_proxy")], EVERYTHING),
    (lambda: [1 for k in environ if k[:2] == "TQ"], EVERYTHING),
    (lambda: [1 for k in environ if k in {"A", "Z"}], EVERYTHING),
    (lambda: [1 for k in environ if re.match("A", k)], EVERYTHING),
    (lambda: ["%s=%s" % pair for pair in environ.items()], EVERYTHING),
    (lambda: [f"{k}" for k in environ], EVERYTHING),
    (lambda: sorted(environ.items()) and None, EVERYTHING),
    (lambda: list(os.environb) and None, EVERYTHING),
    (lambda: subprocess.run(["true"], env=dict(environ), check=True) and None, EVERYTHING),
    (keep, EVERYTHING),
]:
    look()
    asked = watch.take()
    found = sorted(
        asked.variables
        | {each + "*" for each in asked.beginnings}
        | {"*" + each for each in asked.endings}
    )
    if expected == EVERYTHING:
        is_right = asked.everything
    else:
        is_right = not asked.everything and found == expected
    if not is_right:
        failed = True
        line = look.__code__.co_firstlineno
        print("line %d: %s, everything: %s" % (line, found, asked.everything))
sys.exit(failed)
