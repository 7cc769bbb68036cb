"""The pytest plugin, in a separate pytest."""

import inspect

import pytest

import preheat
from preheat import _check
from preheat.pytest_plugin import Recorder

PROGRAM = '[sys.executable, "-c", "import json"]'


@pytest.fixture
def inner(pytester, monkeypatch):
    """Runs pytest on a test file with the plugin, as where the package is installed."""
    # Lines of the summary are cut at the width of the terminal.
    monkeypatch.setenv("COLUMNS", "300")

    def run(body, *arguments):
        pytester.makepyfile("import sys\nimport pytest\n" + body)
        return pytester.runpytest_subprocess("-p", "preheat.pytest_plugin", *arguments)

    return run


def test_limits_that_are_met_pass(inner):
    result = inner(
        f"""
@pytest.mark.preheat(time_to_first="1 h", imports="1 h", starts=2)
def test_startup(preheat):
    report = preheat.run({PROGRAM})
    assert len(report.starts) == 2
"""
    )
    result.assert_outcomes(passed=1)


def test_a_failure_reads_like_preheat_check(inner):
    result = inner(
        f"""
@pytest.mark.preheat(time_to_first="1 ns", causes={{"kernel compilation": "1 ms"}}, starts=4)
def test_startup(preheat):
    preheat.run({PROGRAM})
"""
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "*import json*4 starts*",
            "*1 of 2 limits is not met.",
            "*time to first*1 ns*",
            "*kernel compilation*1 ms*",
            "*time to first: * against a limit of 1 ns*",
        ]
    )
    # The failure is about the program, not about the test's source or a file nobody named.
    result.stdout.no_fnmatch_line("*def test_startup*")
    result.stdout.no_fnmatch_line("*/dev/null*")
    (summary,) = [line for line in result.outlines if line.startswith("FAILED ")]
    assert " - Failed: time to first: " in summary


def test_no_limit_is_a_failure_that_names_the_marker(inner, pytester):
    # A budget that nobody asked for.
    (pytester.path / "preheat.toml").write_text('time_to_first = "1 ns"\n')
    result = inner(
        f"""
@pytest.mark.preheat(starts=1, allow_missing=True)
def test_without_limits(preheat):
    preheat.run({PROGRAM})

@pytest.mark.preheat(starts=1, imports="1 h")
def test_with_a_limit(preheat):
    preheat.run({PROGRAM})
"""
    )
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*no limit: add one to the marker*--preheat-budget FILE*"])


def test_a_budget_applies_to_every_command(inner, pytester):
    budget = pytester.path / "limits.toml"
    budget.write_text('time_to_first = "1 ns"\nhost_memory = "1 TiB"\n')
    body = f"""
@pytest.mark.preheat(starts=4)
def test_startup(preheat):
    preheat.run({PROGRAM})

@pytest.mark.preheat(time_to_first="1 h", starts=4)
def test_with_its_own_limit(preheat):
    preheat.run({PROGRAM})
"""
    result = inner(body, "--preheat-budget", "limits.toml")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*1 of 2 limits is not met."])
    # The path may be longer than a line.
    assert "limits.toml" in "".join(result.outlines)
    missing = inner(body, "--preheat-budget", "none.toml")
    missing.stderr.fnmatch_lines(["*--preheat-budget: /*/none.toml is not a file"])


def test_a_program_that_fails_is_a_failure(inner):
    result = inner(
        """
@pytest.mark.preheat(time_to_first="1 h", starts=1)
def test_startup(preheat):
    preheat.run([sys.executable, "-c", "import sys; print('why', file=sys.stderr); sys.exit(7)"])

@pytest.mark.preheat(time_to_first="1 h", starts=1)
def test_missing(preheat):
    preheat.run(["no-such-program"])
"""
    )
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["*exit code*7*", "The command's standard error:", "why"])
    named = [line for line in result.outlines if "could not be recorded" in line]
    # In the failure and in the summary.
    assert len(named) == 2, named
    result.stdout.no_fnmatch_line("*During handling of the above exception*")


def test_wrong_use_is_a_failure(inner):
    result = inner(
        """
@pytest.mark.preheat(time_to_frist="1 s")
def test_unknown(preheat):
    pass

@pytest.mark.preheat(causes=["kernel compilation"])
def test_causes_without_limits(preheat):
    pass

@pytest.mark.preheat(time_to_first="1 s")
def test_without_the_fixture():
    pass

@pytest.mark.preheat(time_to_first="1 s")
def test_that_runs_nothing(preheat):
    pass

@pytest.mark.preheat(time_to_first="soon", starts=1)
def test_not_a_time(preheat):
    preheat.run([sys.executable, "-c", "pass"])
"""
    )
    result.stdout.fnmatch_lines(
        [
            "*unknown limit `time_to_frist`*expected one of time_to_first*",
            "@pytest.mark.preheat(causes=[[]'kernel compilation']): expected a dictionary, as in *",
            "*add the parameter `preheat` to the test*",
            "*nothing was checked*",
            "*soon*",
        ]
    )
    result.assert_outcomes(passed=1, failed=1, errors=4)


def test_invalid_limits_fail_before_anything_is_recorded(inner, pytester):
    (pytester.path / "wrong.toml").write_text("steady = 3\n")
    body = """
@pytest.fixture
def command(tmp_path):
    begun = tmp_path / "begun"
    yield [sys.executable, "-c", f"open({str(begun)!r}, 'w')"]
    assert not begun.exists()

@pytest.mark.preheat(time_to_first="2")
def test_time(preheat, command):
    preheat.run(command)

@pytest.mark.preheat(imports="-3 s")
def test_imports(preheat, command):
    preheat.run(command)

@pytest.mark.preheat(causes={"Python import": "2 s"})
def test_cause(preheat, command):
    preheat.run(command)
"""
    result = inner(body)
    result.assert_outcomes(failed=3)
    result.stdout.fnmatch_lines(
        [
            "@pytest.mark.preheat(time_to_first='2'): \"2\" has no unit; *",
            "@pytest.mark.preheat(imports='-3 s'): *",
            "@pytest.mark.preheat(causes={'Python import': '2 s'}): unknown cause *",
        ]
    )
    result.stdout.no_fnmatch_line("*--time-to-first*")
    result.stdout.no_fnmatch_line("*During handling of the above exception*")
    result = inner(body.replace('"2"', '"2 s"'), "--preheat-budget", "wrong.toml", "-k", "time")
    result.assert_outcomes(failed=1, deselected=2)
    result.stdout.fnmatch_lines(["*wrong.toml:1:10: steady: *"])


def test_the_verdict_is_not_taken_from_the_text_of_the_report(inner):
    result = inner(
        """
@pytest.mark.preheat(time_to_first="1 h", starts=1)
def test_startup(preheat):
    preheat.run([sys.executable, "-c", "pass # inconclusive"])
"""
    )
    result.assert_outcomes(passed=1, warnings=0)


def test_too_few_starts_to_decide_are_a_failure(inner, pytester):
    (pytester.path / "limits.toml").write_text('starts = 8\ntime_to_first = "1 h"\n')
    body = """
@pytest.mark.preheat(time_to_first="1 ns", starts=1)
def test_startup(preheat):
    preheat.run([sys.executable, "-c", "pass"])
"""
    result = inner(body)
    result.assert_outcomes(failed=1)
    (summary,) = [line for line in result.outlines if line.startswith("FAILED ")]
    assert "but only one start counts; use starts=4 or more" in summary
    # The marker does not have the flag of the command line.
    result.stdout.no_fnmatch_line("*--starts*")
    result = inner(body, "--preheat-budget", "limits.toml")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*the budget needs at least 8 starts*; use starts=8"])


@pytest.mark.parametrize(
    "hint, ours",
    [
        ("use --starts 4 or more", "use starts=4 or more"),
        ("record with `preheat run --starts 8`", "use starts=8"),
        ("define them with `preheat run --iterations`", "define them with `iterations=`"),
    ],
)
def test_hints_are_found_wherever_the_line_is_wrapped(hint, ours):
    words = hint.split()
    for at in range(len(words) + 1):
        wrapped = "\n  ".join([" ".join(words[:at]), " ".join(words[at:])]).strip()
        text = _check.with_options(f"why; {wrapped}", "starts=", "`iterations=`")
        assert text.split() == f"why; {ours}".split()


def test_the_options_of_the_fixture_are_those_of_run():
    ours, theirs = inspect.signature(Recorder.run), inspect.signature(preheat.run)
    assert [(each.name, each.kind, each.default) for each in ours.parameters.values()][1:] == [
        (each.name, each.kind, each.default) for each in theirs.parameters.values()
    ]


def test_old_versions_of_pytest_only_lack_the_fixture(pytester):
    # Names that pytest 6 does not have.
    pytester.makepyfile(
        old="import pytest\nfor name in ('StashKey', 'Config', 'Parser'):\n    delattr(pytest, name)\n"
    )
    pytester.syspathinsert()
    pytester.makepyfile(
        """
def test_other():
    pass

def test_startup(preheat):
    pass
"""
    )
    result = pytester.runpytest_subprocess("-p", "old", "-p", "preheat.pytest_plugin")
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["the fixture `preheat` needs pytest 7 or later, and this is *"])


def test_a_budget_in_the_configuration_is_found_from_any_directory(pytester):
    (pytester.path / "limits.toml").write_text('time_to_first = "1 h"\n')
    body = """
def test_startup(preheat):
    assert preheat.run([sys.executable, "-c", "pass"], starts=1)
"""
    path = pytester.makepyfile("import sys\n" + body)
    (pytester.path / "inner").mkdir()
    for budget in ("limits.toml", "none.toml"):
        pytester.makeini(f"[pytest]\naddopts = --preheat-budget {budget}\n")
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(pytester.path / "inner")
            result = pytester.runpytest_subprocess("-p", "preheat.pytest_plugin", path)
        if budget == "limits.toml":
            result.assert_outcomes(passed=1)
        else:
            where = pytester.path / "inner" / budget
            result.stderr.fnmatch_lines([f"*--preheat-budget: {where} is not a file"])


def test_settings_of_another_type_are_a_failure(inner):
    result = inner(
        """
@pytest.mark.preheat(time_to_first="1 h", allow_missing="no")
def test_text(preheat):
    pass

@pytest.mark.preheat(time_to_first="1 h", starts=0)
def test_zero(preheat):
    pass

@pytest.mark.preheat(exit_code="one")
def test_word(preheat):
    pass
"""
    )
    result.assert_outcomes(errors=3)
    result.stdout.fnmatch_lines(
        [
            "@pytest.mark.preheat(allow_missing='no'): expected True or False",
            "@pytest.mark.preheat(starts=0): expected a whole number, 1 or more",
            "@pytest.mark.preheat(exit_code='one'): expected a whole number, 0 or more",
        ]
    )


# Every second start needs much memory: the number of files counts the starts.
ALTERNATING = """
@pytest.fixture
def command(tmp_path, monkeypatch):
    (tmp_path / "starts").mkdir()
    monkeypatch.chdir(tmp_path / "starts")
    code = "import os; n = len(os.listdir()); open(str(n), 'w'); b'x' * (n % 2 * 300_000_000)"
    return [sys.executable, "-c", code]
"""


def test_an_inconclusive_limit_is_a_warning(inner):
    result = inner(
        ALTERNATING
        + """
@pytest.mark.preheat(host_memory="40 MiB", starts=5)
def test_startup(preheat, command):
    preheat.run(command)

@pytest.mark.preheat(host_memory="40 MiB", starts=5, fail_on_inconclusive=True)
def test_strict(preheat, command):
    preheat.run(command)
"""
    )
    result.assert_outcomes(passed=1, failed=1, warnings=1)
    result.stdout.fnmatch_lines(["*PreheatWarning*", "FAILED *peak host memory: * limit of 40 MiB*"])


def test_the_summary_shows_the_whole_reason(inner):
    result = inner(
        """
@pytest.mark.preheat(first="1 s", starts=1)
def test_startup(preheat):
    preheat.run([sys.executable, "-c", "pass"])
"""
    )
    (summary,) = [line for line in result.outlines if line.startswith("FAILED ")]
    assert "first iteration: not measured: no iterations were found; " in summary
    assert summary.endswith("define them with `preheat.run(..., iterations=...)`")
    result.stdout.no_fnmatch_line("*preheat run --iterations*")


def test_a_skipped_test_is_skipped(inner):
    result = inner(
        """
def test_skipped(preheat):
    pytest.skip("not here")
"""
    )
    result.assert_outcomes(skipped=1)
