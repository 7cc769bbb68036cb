"""The implementation of `preheat.pytest_plugin`, for pytest 7 and later."""

import warnings
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Any,
    Dict,
    Iterator,
    List,
    Mapping,
    Optional,
    Sequence,
    Tuple,
    Union,
)

import pytest

if TYPE_CHECKING:
    from preheat._report import Report
    from preheat._run import Word

# The limits of a marker, and the flags of `preheat check`.
_LIMITS = {
    "time_to_first": "--time-to-first",
    "first": "--first",
    "steady": "--steady",
    "first_ratio": "--first-ratio",
    "warmup": "--warmup",
    "excess": "--excess",
    "device_memory": "--device-memory",
    "host_memory": "--host-memory",
    "exit_code": "--exit-code",
}
# Limits of causes that have a short name.
_CAUSES = {"imports": "Python imports"}
_SWITCHES = ("fail_on_inconclusive", "allow_missing")
_SETTINGS = ("starts", *_SWITCHES)

# True if the test itself failed or was skipped.
_ENDED = pytest.StashKey[bool]()


class PreheatWarning(pytest.PytestWarning):
    """A limit is inconclusive: it is within the interval of the measured value."""


class Recorder:
    """The fixture ``preheat``."""

    def __init__(self, limits: Dict[str, Any], budget: Optional[Path], directory: Path) -> None:
        self.used: bool = False
        self._limits = limits
        self._budget = budget
        self._directory = directory

    def run(
        self,
        command: "Sequence[Word]",
        *,
        starts: Optional[int] = None,
        temperature: Union[str, Sequence[str], None] = None,
        iterations: Optional[str] = None,
        synchronize: bool = False,
        budget: Optional[float] = None,
        limit: Optional[int] = None,
        seed: Optional[int] = None,
        output: "Optional[Word]" = None,
        html: "Optional[Word]" = None,
        csv: "Optional[Word]" = None,
        perfetto: "Optional[Word]" = None,
        speedscope: "Optional[Word]" = None,
        otlp: Optional[str] = None,
        check: bool = False,
        cwd: "Optional[Word]" = None,
        env: Optional[Mapping[str, str]] = None,
        timeout: Optional[float] = None,
    ) -> "Report":
        """Records a command, and fails the test if it exceeds a limit.

        The options are those of `preheat.run`.
        """
        __tracebackhide__ = True
        from preheat import _check
        from preheat._run import PreheatError, run

        self.used = True
        if self._budget is None and not set(self._limits) - set(_SETTINGS):
            pytest.fail(
                "no limit: add one to the marker, as in "
                '@pytest.mark.preheat(time_to_first="2 s"), or use --preheat-budget FILE',
                pytrace=False,
            )
        report: "Optional[Report]" = None
        # Failing while an exception is handled would show that exception too.
        wrong = ""
        try:
            _check.validate(self._arguments())
            report = run(
                command,
                starts=self._limits.get("starts", 5) if starts is None else starts,
                temperature=temperature,
                iterations=iterations,
                synchronize=synchronize,
                budget=budget,
                limit=limit,
                seed=seed,
                output=self._next_directory() if output is None else output,
                html=html,
                csv=csv,
                perfetto=perfetto,
                speedscope=speedscope,
                otlp=otlp,
                check=check,
                cwd=cwd,
                env=env,
                timeout=timeout,
            )
        except _check.InvalidLimit as error:
            wrong = self._in_marker(error.flag, error.value) + str(error)
        except PreheatError as error:
            wrong = f"{error}\n\n{error.stderr}" if error.failed else str(error)
        if report is None:
            pytest.fail(wrong.rstrip(), pytrace=False)
        checked = _check.check(str(report.recording), self._arguments())
        text = _with_options(checked.text)
        if checked.exit_code != 0 or checked.undecidable:
            if report.exit_code != 0 and report.stderr:
                text += f"\n\nThe command's standard error:\n{report.stderr.rstrip()}"
            # The first line is what the summary of pytest shows.
            verdict = _with_options("; ".join(checked.worst))
            pytest.fail(f"{verdict}\n\n{text}" if verdict else text, pytrace=False)
        if checked.inconclusive:
            warnings.warn(PreheatWarning("\n" + text), stacklevel=2)
        return report

    def _next_directory(self) -> Path:
        number = 1
        while (self._directory / f"recording-{number}").exists():
            number += 1
        return self._directory / f"recording-{number}"

    def _arguments(self) -> List[str]:
        arguments = ["--budget", str(self._budget)] if self._budget else []
        arguments += [f"{flag}={value}" for _, flag, value in self._flags()]
        for name in _SWITCHES:
            if self._limits.get(name):
                arguments.append("--" + name.replace("_", "-"))
        return arguments

    def _flags(self) -> Iterator[Tuple[str, str, str]]:
        """The limits as in the marker, and as flags of `preheat check` with their values."""
        for name, value in self._limits.items():
            if name in _LIMITS:
                yield f"{name}={value!r}", _LIMITS[name], str(value)
            elif name in _CAUSES:
                yield f"{name}={value!r}", "--cause", f"{_CAUSES[name]}={value}"
        for cause, value in self._limits.get("causes", {}).items():
            yield f"causes={{{cause!r}: {value!r}}}", "--cause", f"{cause}={value}"

    def _in_marker(self, flag: Optional[str], value: str) -> str:
        """Names a limit of the marker for an error message; empty for one of the budget file."""
        for written, *rest in self._flags():
            if rest == [flag, value]:
                return f"@pytest.mark.preheat({written}): "
        return ""


def _with_options(text: str) -> str:
    """The hints of a report with the options of the fixture."""
    from preheat._check import with_options

    return with_options(text, "starts=", "`preheat.run(..., iterations=...)`")


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("preheat", "cold start budgets")
    group.addoption(
        "--preheat-budget",
        metavar="FILE",
        help="check every command of the fixture `preheat` against this budget (preheat.toml)",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "preheat(time_to_first, first, steady, first_ratio, warmup, excess, imports, causes, "
        "device_memory, host_memory, exit_code, starts, allow_missing, fail_on_inconclusive): "
        "limits for the commands that the fixture `preheat` runs, as in preheat.toml",
    )
    budget = _budget(config)
    if budget is not None and not budget.is_file():
        raise pytest.UsageError(f"--preheat-budget: {budget} is not a file")


def _budget(config: pytest.Config) -> Optional[Path]:
    """The file of ``--preheat-budget``.

    A relative path is tried in the current directory, and then in pytest's root directory:
    `addopts` in pytest.ini has the same value wherever pytest is started.
    """
    chosen = config.getoption("--preheat-budget")
    if not chosen:
        return None
    here = Path(config.invocation_params.dir, chosen)
    of_root = Path(config.rootpath, chosen)
    return of_root if of_root.is_file() and not here.is_file() else here


def pytest_runtest_setup(item: pytest.Item) -> None:
    marked = item.get_closest_marker("preheat")
    if marked is not None and "preheat" not in getattr(item, "fixturenames", ()):
        pytest.fail(
            "@pytest.mark.preheat checks the commands that the fixture `preheat` runs: add the "
            "parameter `preheat` to the test and call preheat.run([...])",
            pytrace=False,
        )


@pytest.fixture
def preheat(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Recorder]:
    """Records commands and checks them against the limits of ``@pytest.mark.preheat``."""
    limits = _limits(request)
    recorder = Recorder(limits, _budget(request.config), tmp_path)
    yield recorder
    if not recorder.used and not request.node.stash.get(_ENDED, False):
        pytest.fail("nothing was checked: the test did not call preheat.run([...])", pytrace=False)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    outcome = yield
    # A test that fails or is skipped before it runs a command has its own reason.
    item.stash[_ENDED] = getattr(outcome, "excinfo", None) is not None


def _limits(request: pytest.FixtureRequest) -> Dict[str, Any]:
    """The limits of the test's markers; the closest one counts."""
    limits: Dict[str, Any] = {}
    for marker in reversed(list(request.node.iter_markers("preheat"))):
        if marker.args:
            pytest.fail(
                "@pytest.mark.preheat takes keywords, as in time_to_first='2 s'", pytrace=False
            )
        limits.update(marker.kwargs)
    known = [*_LIMITS, *_CAUSES, "causes", *_SETTINGS]
    unknown = sorted(set(limits) - set(known))
    if unknown:
        expected = ", ".join(known)
        pytest.fail(
            f"unknown limit `{unknown[0]}` in @pytest.mark.preheat; expected one of {expected}",
            pytrace=False,
        )
    causes = limits.get("causes", {})
    if not isinstance(causes, Mapping):
        pytest.fail(
            f"@pytest.mark.preheat(causes={causes!r}): expected a dictionary, as in "
            "causes={'kernel compilation': '1 ms'}",
            pytrace=False,
        )
    for name in _SWITCHES:
        if not isinstance(limits.get(name, False), bool):
            pytest.fail(
                f"@pytest.mark.preheat({name}={limits[name]!r}): expected True or False",
                pytrace=False,
            )
    for name, least in (("starts", 1), ("exit_code", 0)):
        number = limits.get(name, least)
        if not isinstance(number, int) or isinstance(number, bool) or number < least:
            pytest.fail(
                f"@pytest.mark.preheat({name}={number!r}): expected a whole number, "
                f"{least} or more",
                pytrace=False,
            )
    return limits
