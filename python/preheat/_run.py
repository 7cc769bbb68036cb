"""`preheat run` and `preheat start` from Python."""

import os
import subprocess
import tempfile
from typing import Any, List, Mapping, Optional, Sequence, Union

from preheat._binary import binary
from preheat._report import Report

Word = Union[str, "os.PathLike[str]"]


class PreheatError(RuntimeError):
    """The command could not be recorded. ``exit_code`` and ``stderr`` say more."""

    def __init__(self, message: str, exit_code: int, stderr: str) -> None:
        super().__init__(message)
        self.exit_code = exit_code
        self.stderr = stderr


def run(
    command: Sequence[Word],
    *,
    starts: Optional[int] = None,
    temperature: Union[str, Sequence[str], None] = None,
    iterations: Optional[str] = None,
    synchronize: bool = False,
    budget: Optional[float] = None,
    limit: Optional[int] = None,
    seed: Optional[int] = None,
    output: Optional[Word] = None,
    html: Optional[Word] = None,
    csv: Optional[Word] = None,
    perfetto: Optional[Word] = None,
    check: bool = False,
    cwd: Optional[Word] = None,
    env: Optional[Mapping[str, str]] = None,
) -> Report:
    """Runs a command in fresh processes, records it, and returns the results.

    The options are those of ``preheat run``. The recording is kept if `output` names a
    directory for it. The command's output is discarded, and its input is empty. With `check`,
    a command that fails raises `PreheatError`; so does a command that cannot be recorded.

    >>> report = run([sys.executable, "-c", "import json"], starts=1)
    >>> report.iterations_by
    'none'
    >>> report.seconds("Python imports") > 0
    True
    """
    words = _words(command)
    with tempfile.TemporaryDirectory(prefix="preheat-") as scratch:
        document = os.path.join(scratch, "run.json")
        recording = os.path.join(scratch, "recording") if output is None else os.fspath(output)
        arguments = [binary(), "run", "--json", document, "--output", recording]
        if isinstance(temperature, (list, tuple)):
            temperature = ",".join(temperature)
        for flag, value in (
            ("--starts", starts),
            ("--temperature", temperature),
            ("--iterations", iterations),
            ("--budget", budget),
            ("--limit", limit),
            ("--seed", seed),
            ("--html", html),
            ("--csv", csv),
            ("--perfetto", perfetto),
        ):
            if value is not None:
                arguments += [flag, str(value)]
        if synchronize:
            arguments.append("--synchronize")
        done = subprocess.run(
            [*arguments, "--", *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            cwd=cwd,
            env=env,
        )
        stderr = done.stderr.decode(errors="replace")
        try:
            report = Report.load(document)
        except (FileNotFoundError, ValueError):
            raise PreheatError(
                f"{' '.join(words)} could not be recorded: {_last_line(stderr)}",
                done.returncode,
                stderr,
            ) from None
    if output is not None:
        kept = os.path.abspath(os.path.join(os.fspath(cwd) if cwd else "", recording))
        object.__setattr__(report, "recording", kept)
    if check and report.exit_code != 0:
        raise PreheatError(
            f"{' '.join(words)} failed with exit code {report.exit_code}",
            report.exit_code,
            stderr,
        )
    return report


def start(
    command: Sequence[Word], *, options: Sequence[str] = (), **keywords: Any
) -> "subprocess.CompletedProcess[Any]":
    """Starts a command warm, with the arguments and the result of `subprocess.run`.

    `options` are flags of ``preheat start``.

    >>> start([sys.executable, "-c", "print(6 * 7)"], stdout=subprocess.PIPE).stdout
    b'42\\n'
    """
    if keywords.get("shell"):
        raise ValueError("preheat.start executes a command, not a shell line")
    words = _words(command)
    done = subprocess.run([binary(), "start", *options, "--", *words], **keywords)
    done.args = words
    return done


def _words(command: Sequence[Word]) -> List[str]:
    if isinstance(command, (str, bytes)):
        raise TypeError("a command is a list of words, such as ['python', 'train.py']")
    words = [os.fspath(word) for word in command]
    if not words:
        raise ValueError("the command is empty")
    return words


def _last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "nothing was written to standard error"
