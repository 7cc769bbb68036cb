"""The pre-commit hook, with the arguments that pre-commit would pass."""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]


def hook(*arguments):
    """Runs the entry of .pre-commit-hooks.yaml."""
    (entry,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    program, *words = entry["entry"].split()
    assert program == "python" and entry["pass_filenames"] is False
    return subprocess.run(
        [sys.executable, *words, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


COMMAND = ["--", sys.executable, "-c", "import json"]


def test_imports_within_the_budget_pass_silently():
    done = hook("--imports", "1 h", "--starts", "2", *COMMAND)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


def test_imports_beyond_the_budget_fail_with_a_report(tmp_path):
    done = hook("--imports", "1 ns", "--starts", "4", *COMMAND)
    # On a busy machine the interval of a few milliseconds may include the limit.
    assert (done.returncode == 1) == ("✗ Python imports" in done.stdout)
    assert "Python imports" in done.stdout and "1 ns" in done.stdout
    budget = tmp_path / "preheat.toml"
    budget.write_text('time_to_first = "1 ns"\n')
    done = hook("--budget", str(budget), "--starts", "4", *COMMAND)
    assert done.returncode == 1
    assert "✗ time to first" in done.stdout


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--imports", "1 s"], "a command is missing"),
        (COMMAND, "a limit is missing"),
        (["--imports", "1 s", "--starts", "1", "--", "no-such-program"], "could not be recorded"),
        (["--imports", "soon", "--starts", "1", *COMMAND], ""),
    ],
)
def test_wrong_usage_exits_with_two(arguments, message):
    done = hook(*arguments)
    assert done.returncode == 2
    assert message in done.stderr
