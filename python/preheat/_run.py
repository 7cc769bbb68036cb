"""`preheat run` and `preheat start` from Python."""

import contextlib
import errno
import os
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
from typing import (
    IO,
    TYPE_CHECKING,
    Any,
    Collection,
    List,
    Literal,
    Mapping,
    Optional,
    Sequence,
    Union,
    overload,
)

from preheat._binary import binary
from preheat._report import Report

#: An argument of a command, or a path.
Word = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]
# A descriptor, a file, or a constant of `subprocess` such as PIPE.
_File = Union[int, IO[Any], None]
# The time in which a program must end before it is killed, in seconds.
_GRACE = 5.0

if TYPE_CHECKING:
    from typing_extensions import TypedDict, Unpack

    class _Keywords(TypedDict, total=False):
        """The keywords of `start` that do not decide between text and bytes."""

        options: Sequence[str]
        stdin: _File
        input: Union[str, bytes, None]
        stdout: _File
        stderr: _File
        capture_output: bool
        cwd: Optional[Word]
        env: Optional[Mapping[str, str]]
        timeout: Optional[float]
        check: bool
        pass_fds: Collection[int]
        umask: int
        start_new_session: bool


class PreheatError(RuntimeError):
    """The command could not be recorded, or failed.

    ``failed`` is true if the command was recorded and failed, and ``exit_code`` is then its exit
    code, else that of preheat. ``stderr`` has what the command wrote to standard error in its
    first start, and the messages of preheat.
    """

    def __init__(self, message: str, exit_code: int, stderr: str, failed: bool = False) -> None:
        super().__init__(message)
        self.exit_code = exit_code
        self.stderr = stderr
        self.failed = failed


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
    speedscope: Optional[Word] = None,
    otlp: Optional[str] = None,
    check: bool = False,
    cwd: Optional[Word] = None,
    env: Optional[Mapping[str, str]] = None,
    timeout: Optional[float] = None,
) -> Report:
    """Runs a command in fresh processes, records it, and returns the results.

    The options are those of ``preheat run``. The recording is kept if `output` names a
    directory for it. The command's output is discarded, and its input is empty. With `check`,
    a command that fails raises `PreheatError`; so does a command that cannot be recorded. If all
    starts together take longer than `timeout` seconds, the command is ended and
    `subprocess.TimeoutExpired` raised.

    >>> import preheat, sys
    >>> report = preheat.run([sys.executable, "-c", "import json"], starts=1)
    >>> report.iterations_by
    'none'
    >>> report.seconds("Python imports") > 0
    True
    """
    words = _words(command)
    with tempfile.TemporaryDirectory(prefix="preheat-") as scratch:
        document = os.path.join(scratch, "run.json")
        recording = os.path.join(scratch, "recording") if output is None else os.fsdecode(output)
        # A value that begins with `-` must not look like a flag.
        arguments = [binary(), "run", "--quiet", f"--json={document}", f"--output={recording}"]
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
            ("--speedscope", speedscope),
            ("--otlp", otlp),
        ):
            if value is not None:
                text = os.fsdecode(value) if isinstance(value, (bytes, os.PathLike)) else str(value)
                arguments.append(f"{flag}={text}")
        if synchronize:
            arguments.append("--synchronize")
        process = subprocess.Popen(
            [*arguments, "--", *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            cwd=cwd,
            env=env,
        )
        try:
            written = process.communicate(timeout=timeout)[1]
        except subprocess.TimeoutExpired as error:
            _end(process)
            error.cmd = command
            raise
        except BaseException:
            _end(process)
            raise
        stderr = _plain(written.decode(errors="replace"))
        try:
            report = Report.load(document)
        except (FileNotFoundError, ValueError):
            raise PreheatError(
                f"{shlex.join(words)} could not be recorded: {_reason(stderr)}",
                process.returncode,
                stderr,
            ) from None
    object.__setattr__(report, "stderr", stderr)
    if output is not None:
        kept = os.path.abspath(os.path.join(os.fsdecode(cwd) if cwd else "", recording))
        object.__setattr__(report, "recording", kept)
    if check and report.exit_code != 0:
        raise PreheatError(
            f"{shlex.join(words)} failed with exit code {report.exit_code}",
            report.exit_code,
            stderr,
            failed=True,
        )
    return report


@overload
def start(
    command: Sequence[Word],
    *,
    text: Literal[True],
    encoding: Optional[str] = None,
    errors: Optional[str] = None,
    **keywords: "Unpack[_Keywords]",
) -> "subprocess.CompletedProcess[str]": ...


@overload
def start(
    command: Sequence[Word],
    *,
    text: Optional[bool] = None,
    encoding: str,
    errors: Optional[str] = None,
    **keywords: "Unpack[_Keywords]",
) -> "subprocess.CompletedProcess[str]": ...


@overload
def start(
    command: Sequence[Word],
    *,
    text: Optional[bool] = None,
    encoding: Optional[str] = None,
    errors: str,
    **keywords: "Unpack[_Keywords]",
) -> "subprocess.CompletedProcess[str]": ...


@overload
def start(
    command: Sequence[Word],
    *,
    text: Optional[Literal[False]] = None,
    encoding: None = None,
    errors: None = None,
    **keywords: "Unpack[_Keywords]",
) -> "subprocess.CompletedProcess[bytes]": ...


@overload
def start(
    command: Sequence[Word],
    *,
    text: Optional[bool] = None,
    encoding: Optional[str] = None,
    errors: Optional[str] = None,
    **keywords: "Unpack[_Keywords]",
) -> "subprocess.CompletedProcess[Any]": ...


def start(
    command: Sequence[Word],
    *,
    options: Sequence[str] = (),
    stdin: _File = None,
    input: Union[str, bytes, None] = None,
    stdout: _File = None,
    stderr: _File = None,
    capture_output: bool = False,
    cwd: Optional[Word] = None,
    env: Optional[Mapping[str, str]] = None,
    timeout: Optional[float] = None,
    check: bool = False,
    text: Optional[bool] = None,
    encoding: Optional[str] = None,
    errors: Optional[str] = None,
    pass_fds: Collection[int] = (),
    umask: int = -1,
    start_new_session: bool = False,
) -> "subprocess.CompletedProcess[Any]":
    """Starts a command warm. The other arguments and the result are those of `subprocess.run`.

    `options` are flags of ``preheat start``. As with `subprocess.run`, a program that does not
    exist raises `FileNotFoundError`, and one that is not executable raises `PermissionError`.

    >>> import preheat, sys
    >>> preheat.start([sys.executable, "-c", "print(6 * 7)"], capture_output=True).stdout
    b'42\\n'
    """
    words = _words(command)
    if isinstance(options, (str, bytes)):
        raise TypeError("`options` is a list of flags, such as ['--standby']")
    _require_program(words[0], cwd, env)
    try:
        done: "subprocess.CompletedProcess[Any]" = subprocess.run(
            [binary(), "start", *options, "--", *words],
            stdin=stdin,
            input=input,
            stdout=stdout,
            stderr=stderr,
            capture_output=capture_output,
            cwd=cwd,
            env=env,
            timeout=timeout,
            check=check,
            text=text,
            encoding=encoding,
            errors=errors,
            pass_fds=pass_fds,
            umask=umask,
            start_new_session=start_new_session,
        )
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        error.cmd = command
        raise
    done.args = command
    return done


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Ends preheat, and the program that it records.

    preheat forwards SIGTERM and then cleans up. A program that ignores it is killed: if preheat
    were killed instead, the program would continue.
    """
    try:
        process.terminate()
        process.wait(_GRACE)
    except subprocess.TimeoutExpired:
        for child in _children(process.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_GRACE)
    finally:
        process.kill()
        process.wait()
        if process.stderr is not None:
            process.stderr.close()


def _children(process: int) -> List[int]:
    """The process ids of the children of a process."""
    found: List[int] = []
    try:
        for thread in os.listdir(f"/proc/{process}/task"):
            with open(f"/proc/{process}/task/{thread}/children") as file:
                found += map(int, file.read().split())
    except OSError:
        pass
    return found


def _words(command: Sequence[Word]) -> List[str]:
    if isinstance(command, (str, bytes)):
        raise TypeError("a command is a list of words, such as ['python', 'train.py']")
    words = [os.fsdecode(word) for word in command]
    if not words:
        raise ValueError("the command is empty")
    return words


def _require_program(word: str, cwd: Optional[Word], env: Optional[Mapping[str, str]]) -> None:
    """Raises the errors of `subprocess.run` for a program that cannot be executed."""
    path = os.path.join(os.fsdecode(cwd) if cwd else "", word)
    if os.path.dirname(word):
        found = os.path.exists(path)
        executable = os.path.isfile(path) and os.access(path, os.X_OK)
    else:
        variables = os.environ if env is None else env
        executable = shutil.which(word, path=variables.get("PATH", os.defpath)) is not None
        found = executable
    if not executable:
        number = errno.EACCES if found else errno.ENOENT
        raise OSError(number, os.strerror(number), word)


def _plain(text: str) -> str:
    """Without colors. A notebook sets variables that ask programs for them."""
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def _reason(stderr: str) -> str:
    """The message of preheat: `error: …` for wrong flags, `preheat: …` for all else."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    for prefix in ("preheat: ", "error: "):
        for at, line in reversed(list(enumerate(lines))):
            if line.startswith(prefix):
                # The valid values of a flag are on the next line.
                valid = re.fullmatch(r"\[possible values: (.*)\]", "".join(lines[at + 1 : at + 2]))
                return line[len(prefix) :] + (f"; expected one of {valid[1]}" if valid else "")
    return lines[-1] if lines else "nothing was written to standard error"
