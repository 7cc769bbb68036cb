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
    # The environment in which the package to measure is installed, and not one of pre-commit.
    assert entry["language"] == "system" and entry["pass_filenames"] is False
    program, *words = entry["entry"].split()
    assert program == "python"
    return subprocess.run(
        [sys.executable, *words, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


COMMAND = ["--", sys.executable, "-c", "import json"]


def test_help_shows_where_the_command_goes():
    assert hook("--help").stdout.splitlines()[0].endswith(" [--starts N] -- COMMAND...")


def test_imports_within_the_budget_pass_silently():
    done = hook("--imports", "1 h", "--starts", "2", *COMMAND)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


def test_the_verdict_is_not_taken_from_the_text_of_the_report():
    command = ["--", sys.executable, "-c", "pass # inconclusive"]
    done = hook("--imports", "1 h", "--starts", "2", *command)
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
    # The recording is gone, so the command is named instead.
    assert "preheat report" not in done.stdout
    assert f"`preheat run -- {sys.executable} -c 'import json'` shows" in done.stdout


def test_too_few_starts_to_decide_fail(tmp_path):
    done = hook("--imports", "1 ns", "--starts", "2", *COMMAND)
    assert done.returncode == 3
    assert "use --starts 4 or more" in " ".join(done.stdout.split())
    budget = tmp_path / "limits.toml"
    budget.write_text('starts = 8\ntime_to_first = "1 h"\n')
    done = hook("--budget", str(budget), "--starts", "2", *COMMAND)
    assert done.returncode == 2
    assert done.stderr.endswith("; use --starts 8\n")


def test_a_command_that_fails_shows_its_own_message():
    done = hook("--imports", "1 h", "--", sys.executable, "-c", "import no_such_module")
    assert done.returncode == 1
    assert "failed with exit code 1" in done.stderr
    assert "ModuleNotFoundError: No module named 'no_such_module'" in done.stderr
    assert done.stdout == ""


def test_a_budget_in_the_current_directory_is_used_only_if_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("preheat.toml").write_text('time_to_first = "1 ns"\n')
    assert hook("--imports", "1 h", "--starts", "4", *COMMAND).returncode == 0
    assert hook("--budget", "preheat.toml", "--starts", "4", *COMMAND).returncode == 1


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--imports", "1 s"], "a command is missing"),
        (COMMAND, "a limit is missing"),
        (["--imports", "1 s", "--starts", "1", "--", "no-such-program"], "could not be recorded"),
        (["--imports", "soon", *COMMAND], 'argument --imports: "soon" is not a number'),
        (["--budget", "no-such-file", *COMMAND], "no-such-file"),
    ],
)
def test_wrong_usage_exits_with_two(arguments, message):
    done = hook(*arguments)
    assert done.returncode == 2
    assert message in done.stderr
