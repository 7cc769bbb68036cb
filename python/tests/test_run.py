"""`preheat.run`, `preheat.start` and `python -m preheat`."""

import dataclasses
import inspect
import json
import os
import shlex
import signal
import subprocess
import sys
import typing
from dataclasses import FrozenInstanceError
from pathlib import Path

import pytest

import preheat
from preheat import _run
from preheat._report import CAUSES

ROOT = Path(__file__).parents[2]


def test_results_are_typed():
    report = preheat.run([sys.executable, "-c", "import json"], starts=2)
    assert isinstance(report, preheat.Report)
    assert report.command == (sys.executable, "-c", "import json")
    assert report.settings.starts == 2
    assert isinstance(report.starts[0], preheat.Start)
    assert isinstance(report.causes[0].items, tuple)
    assert isinstance(report.time_to_first.estimate, float)
    assert report.seconds("python imports") == report.seconds("Python imports") > 0
    assert sum(cause.seconds for cause in report.causes) == pytest.approx(
        report.time_to_first.estimate
    )
    assert report.recording is None
    assert report.document["schema"] == "preheat.run/2"
    with pytest.raises(FrozenInstanceError):
        report.iteration = "other"


def test_results_have_every_field_of_the_schema():
    schema = json.loads((ROOT / "docs/schema/preheat.run-2.schema.json").read_text())

    def inner(part):
        """The object that a part of the schema refers to, holds as a list, or can be."""
        if "$ref" in part:
            return inner(schema["$defs"][part["$ref"].rpartition("/")[2]])
        if "anyOf" in part:
            return inner(next(each for each in part["anyOf"] if each.get("type") != "null"))
        return inner(part["items"]) if isinstance(part.get("items"), dict) else part

    def compare(cls, part, ours=()):
        names = {field.name.rstrip("_") for field in dataclasses.fields(cls)} - set(ours)
        assert names == set(part["properties"]) - {"schema"}, cls
        for name, hint in typing.get_type_hints(cls).items():
            while not dataclasses.is_dataclass(hint) and typing.get_args(hint):
                hint = typing.get_args(hint)[0]
            if dataclasses.is_dataclass(hint):
                seen.add(hint)
                compare(hint, inner(part["properties"][name.rstrip("_")]))

    seen = {preheat.Report}
    compare(preheat.Report, schema, ours={"document", "recording", "stderr"})
    # Every type has a name in the package.
    assert all(getattr(preheat, cls.__name__) is cls for cls in seen) and len(seen) > 20


def test_reserved_names_have_an_underscore(tmp_path):
    script = tmp_path / "program.py"
    script.write_text("import time\nbegin = time.time()\nsum(range(9))\nprint(time.time() - begin)\n")
    report = preheat.run([sys.executable, script], starts=1)
    (region,) = report.regions
    assert (region.from_, region.to) == (2, 4)
    assert report.class_ == report.document["class"]
    assert report.environment == tuple(map(tuple, report.document["environment"]))


def test_a_recording_is_kept_where_it_is_wanted(tmp_path):
    report = preheat.run(
        [sys.executable, "-c", "pass"], starts=1, output="rec", html="page.html", cwd=tmp_path
    )
    assert report.recording == str(tmp_path / "rec")
    assert (tmp_path / "rec" / "recording.json").is_file()
    assert (tmp_path / "page.html").read_text().startswith("<!")


class Interrupted(BaseException):
    """Raised by the handler of a signal, as by pytest-timeout."""


# Interrupts the test once it runs, and then waits until it is ended.
WAITING = """
import os, signal, sys
signal.signal(signal.SIGTERM, getattr(signal, sys.argv[2]))
with open(sys.argv[1] + ".part", "w") as file:
    file.write(str(os.getpid()))
os.rename(sys.argv[1] + ".part", sys.argv[1])
os.kill(int(sys.argv[3]), signal.SIGUSR1)
while True:
    signal.pause()
"""


@pytest.mark.parametrize("on_terminate", ["SIG_DFL", "SIG_IGN"])
def test_an_exception_ends_the_program_too(tmp_path, monkeypatch, on_terminate):
    if on_terminate == "SIG_IGN":
        monkeypatch.setattr(_run, "_GRACE", 0.1)

    def interrupt(*_):
        raise Interrupted

    pid = tmp_path / "pid"
    before = signal.signal(signal.SIGUSR1, interrupt)
    try:
        with pytest.raises(Interrupted):
            preheat.run([sys.executable, "-c", WAITING, pid, on_terminate, str(os.getpid())])
    finally:
        signal.signal(signal.SIGUSR1, before)
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


def test_run_has_a_timeout():
    waiting = ["sleep", "1000"]
    with pytest.raises(subprocess.TimeoutExpired) as expired:
        preheat.run(waiting, timeout=0.01)
    assert (expired.value.cmd, expired.value.timeout) == (waiting, 0.01)


def test_values_that_look_like_flags_are_values(tmp_path):
    command = [sys.executable, "-c", "pass"]
    preheat.run(command, starts=1, html="-x.html", output="-rec", cwd=tmp_path)
    assert sorted(os.listdir(tmp_path)) == ["-rec", "-x.html"]
    with pytest.raises(preheat.PreheatError, match="invalid value '-3' for '--seed <N>'"):
        preheat.run(command, seed=-3)


def test_errors_quote_the_command():
    command = ["no such program", "a b"]
    with pytest.raises(preheat.PreheatError) as raised:
        preheat.run(command, starts=1)
    assert str(raised.value).startswith(f"{shlex.join(command)} could not be recorded: ")


def test_options_of_start_are_a_list():
    with pytest.raises(TypeError, match="list of flags"):
        preheat.start([sys.executable, "-c", "pass"], options="--standby")


def test_a_command_that_does_not_exist_is_an_error():
    with pytest.raises(preheat.PreheatError, match="no-such-program") as raised:
        preheat.run(["no-such-program"], starts=1)
    assert raised.value.exit_code == 127


@pytest.mark.parametrize(
    "option, reason",
    [
        ({"iterations": "nonsense"}, "invalid value 'nonsense' for '--iterations <HOW>': expected"),
        ({"starts": 0}, "invalid value '0' for '--starts <N>': expected a whole number"),
        (
            {"temperature": ["process", "lukewarm"]},
            "invalid value 'lukewarm' for '--temperature <T>'; expected one of process, disk, ",
        ),
    ],
)
def test_a_wrong_option_is_an_error_with_its_reason(option, reason):
    # Notebooks ask programs for colours.
    env = {**os.environ, "CLICOLOR_FORCE": "1", "FORCE_COLOR": "1"}
    with pytest.raises(preheat.PreheatError) as raised:
        preheat.run([sys.executable, "-c", "pass"], env=env, **option)
    assert raised.value.exit_code == 2 and not raised.value.failed
    assert reason in str(raised.value)
    assert "\x1b" not in raised.value.stderr


def test_a_command_that_fails_is_an_error_if_asked_for():
    command = [sys.executable, "-c", "raise SystemExit(3)"]
    report = preheat.run(command, starts=1)
    assert (report.exit_code, report.stderr) == (3, "")
    with pytest.raises(preheat.PreheatError, match="exit code 3") as raised:
        preheat.run(command, starts=1, check=True)
    assert raised.value.failed


def test_an_error_has_what_the_command_wrote_and_no_report():
    code = "import sys; print('why', file=sys.stderr); sys.exit(3)"
    with pytest.raises(preheat.PreheatError) as raised:
        preheat.run([sys.executable, "-c", code], starts=1, check=True)
    assert raised.value.stderr == "why\n"


def test_a_cause_that_does_not_exist_is_an_error():
    report = preheat.run([sys.executable, "-c", "pass"], starts=1)
    assert report.seconds("kernel compilation") == 0
    with pytest.raises(ValueError, match="did you mean `Python imports`"):
        report.seconds("python import")
    with pytest.raises(ValueError, match="expected one of process start, .*unexplained"):
        report.seconds("nonsense")


def test_every_cause_of_the_schema_is_known():
    schema = json.loads((ROOT / "docs/schema/preheat.run-2.schema.json").read_text())
    assert sorted(CAUSES) == sorted(schema["$defs"]["cause"]["enum"])


@pytest.mark.parametrize("command, error", [("python train.py", TypeError), ([], ValueError)])
def test_a_command_is_a_list_of_words(command, error):
    with pytest.raises(error):
        preheat.run(command)
    with pytest.raises(error):
        preheat.start(command)


def test_a_document_of_another_kind_is_rejected(tmp_path):
    path = tmp_path / "other.json"
    path.write_text(json.dumps({"schema": "preheat.lab/2"}))
    with pytest.raises(ValueError, match="other.json: expected .* found 'preheat.lab/2'"):
        preheat.Report.load(path)
    for text in ("import json", "", "\xff"):
        path.write_bytes(text.encode("latin-1"))
        with pytest.raises(ValueError, match="other.json: expected a document preheat.run/2"):
            preheat.Report.load(path)
    path.write_text(json.dumps({"schema": "preheat.run/2"}))
    with pytest.raises(ValueError, match="does not conform"):
        preheat.Report.load(path)
    valid = preheat.run([sys.executable, "-c", "pass"], starts=1).document
    for wrong in ({"machine": 3}, {"starts": 3}, {"starts": [3]}, {"time_to_first": "soon"}):
        with pytest.raises(ValueError, match="does not conform"):
            preheat.Report.from_json(json.dumps({**valid, **wrong}))


def test_start_is_like_subprocess_run(tmp_path):
    command = [sys.executable, "-c", "import sys; print(sys.stdin.read()); sys.exit(5)"]
    env = {**os.environ, "XDG_CACHE_HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path)}
    done = preheat.start(
        command, options=["--only", "none"], input="text", stdout=subprocess.PIPE, text=True, env=env
    )
    assert (done.returncode, done.stdout, done.args) == (5, "text\n", command)
    with pytest.raises(TypeError, match="shell"):
        preheat.start(command, shell=True)


def test_the_keywords_of_start_are_those_of_subprocess_run(tmp_path):
    """Except that those which would replace or change preheat itself are missing."""
    ours = set(inspect.signature(preheat.start).parameters) - {"command", "options"}
    of_run = set(inspect.signature(subprocess.run).parameters)
    of_popen = set(inspect.signature(subprocess.Popen).parameters)
    assert ours <= of_run | of_popen
    env = {**os.environ, "XDG_CACHE_HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path)}
    reading, writing = os.pipe()
    os.write(writing, b"piped")
    code = "import os, sys; print(os.umask(0), os.getsid(0), os.read(int(sys.argv[1]), 5))"
    done = preheat.start(
        [sys.executable, "-c", code, str(reading)],
        options=["--only", "none"],
        pass_fds=[reading],
        umask=0o27,
        start_new_session=True,
        stdout=subprocess.PIPE,
        encoding="utf-8",
        env=env,
    )
    os.close(reading)
    os.close(writing)
    umask, session, got = done.stdout.split()
    assert (int(umask), got) == (0o27, "b'piped'")
    assert int(session) != os.getsid(0)


def test_commands_can_be_bytes(tmp_path):
    env = {**os.environ, "XDG_CACHE_HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path)}
    script = tmp_path / "a program.py"
    script.write_text("import sys; sys.stdout.write(repr(sys.argv[1:]))")
    command = [os.fsencode(sys.executable), script, b"\xff", "text"]
    plain = subprocess.run(command, stdout=subprocess.PIPE, cwd=os.fsencode(tmp_path))
    done = preheat.start(
        command, options=["--only", "none"], stdout=subprocess.PIPE, cwd=os.fsencode(tmp_path), env=env
    )
    assert (done.stdout, done.args) == (plain.stdout, plain.args)
    report = preheat.run(command, starts=1, output=os.fsencode(tmp_path / "rec"), check=True)
    assert report.recording == str(tmp_path / "rec")


def test_errors_of_start_have_the_command(tmp_path):
    env = {**os.environ, "XDG_CACHE_HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path)}
    keywords = {"options": ["--only", "none"], "env": env}
    failing = [sys.executable, "-c", "raise SystemExit(4)"]
    with pytest.raises(subprocess.CalledProcessError) as failed:
        preheat.start(failing, check=True, **keywords)
    assert (failed.value.cmd, failed.value.returncode) == (failing, 4)
    # It ends only when it is killed, however slow the machine is.
    waiting = ["sleep", "1000"]
    with pytest.raises(subprocess.TimeoutExpired) as expired:
        preheat.start(waiting, timeout=0.01, **keywords)
    assert expired.value.cmd == waiting


@pytest.mark.parametrize("command", ["no-such-program", "./no-such-program", "./plain", "sh"])
def test_start_raises_the_errors_of_subprocess_run(tmp_path, command):
    (tmp_path / "plain").write_text("")
    keywords = {"cwd": tmp_path, "env": {"PATH": str(tmp_path)}}
    with pytest.raises(OSError) as theirs:
        subprocess.run([command], **keywords)
    with pytest.raises(type(theirs.value)) as ours:
        preheat.start([command], **keywords)
    assert (ours.value.errno, ours.value.filename) == (theirs.value.errno, command)


def test_examples_can_be_pasted():
    """An example imports all names that it uses."""
    import doctest
    import preheat._marks
    import preheat._report
    import preheat._run

    finder, runner = doctest.DocTestFinder(), doctest.DocTestRunner()
    for module in (preheat, preheat._marks, preheat._report, preheat._run):
        for test in finder.find(module, globs={}):
            runner.run(test)
    assert runner.summarize().failed == 0 and runner.tries >= 10


def test_the_module_is_the_command_line():
    ours = subprocess.run(
        [sys.executable, "-m", "preheat", "--version"], check=True, stdout=subprocess.PIPE
    ).stdout
    program = subprocess.run(
        [preheat.binary(), "--version"], check=True, stdout=subprocess.PIPE
    ).stdout
    assert ours == program


def test_the_package_has_a_version():
    program = subprocess.check_output([preheat.binary(), "--version"], text=True)
    assert program.split()[:2] == ["preheat", preheat.__version__]


def test_a_missing_program_is_reported(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "preheat"],
        env={**os.environ, "PREHEAT_BINARY": str(tmp_path)},
        stderr=subprocess.PIPE,
        text=True,
    )
    assert done.returncode == 1
    assert f"PREHEAT_BINARY={tmp_path} is not an executable file" in done.stderr


def test_documents_of_the_first_version_are_read():
    results = Path(__file__).parents[2] / "docs" / "results" / "h200"
    report = preheat.Report.load(results / "resnet50-train.json")
    assert report.document["schema"] == "preheat.run/1"
    assert report.time_to_first is not None
    assert report.time_to_first.estimate == report.document["time_to_first"]["median"]
