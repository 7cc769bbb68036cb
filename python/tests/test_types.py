"""Type errors that checkers find in programs that use the package."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import preheat

PACKAGE = Path(preheat.__file__).parent

# The types that a checker must show, and the mistakes that it must find.
PROGRAM = """
import preheat
from preheat import Reprot  # error: attr-defined
from preheat.pytest_plugin import Recorder

def check(recorder: Recorder, either: bool) -> None:
    reveal_type(preheat.start(["a"]))  # note: subprocess.CompletedProcess[bytes]
    reveal_type(preheat.start(["a"], text=True, timeout=3))  # note: subprocess.CompletedProcess[str]
    reveal_type(preheat.start(["a"], encoding="utf-8"))  # note: subprocess.CompletedProcess[str]
    reveal_type(preheat.start(["a"], errors="replace"))  # note: subprocess.CompletedProcess[str]
    reveal_type(preheat.start(["a"], text=either))  # note: subprocess.CompletedProcess[Any]
    reveal_type(recorder.run(["a"], starts=3))  # note: preheat._report.Report
    recorder.run(["a"], startz=3)  # error: call-arg

@preheat.iteration()
def decorated(number: int) -> str:
    return str(number)

reveal_type(decorated)  # note: def (number: int) -> str
"""


def test_type_checkers_do_not_see_the_lazy_names():
    """They would accept every name."""
    body = ast.parse((PACKAGE / "__init__.py").read_text()).body
    assert "__getattr__" not in [getattr(each, "name", "") for each in body]


def test_mypy_finds_mistakes(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--no-error-summary", program],
        env={"MYPYPATH": str(PACKAGE.parent)},
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        text=True,
    )
    found = set()
    for line in done.stdout.splitlines():
        shown = re.search(r':(\d+): note: Revealed type is "(.*)"', line)
        wrong = re.search(r":(\d+): error: .*\[(.*)\]$", line)
        if shown:
            found.add((int(shown[1]), f"note: {shown[2]}"))
        elif wrong:
            found.add((int(wrong[1]), f"error: {wrong[2]}"))
    expected = set()
    for number, line in enumerate(PROGRAM.splitlines(), 1):
        if "  # " in line:
            expected.add((number, line.split("  # ")[1]))
    assert found == expected
