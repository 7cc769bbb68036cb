"""`preheat.run`, `preheat.start` and `python -m preheat`."""

import json
import os
import subprocess
import sys
from dataclasses import FrozenInstanceError

import pytest

import preheat


def test_results_are_typed():
    report = preheat.run([sys.executable, "-c", "import json"], starts=2)
    assert isinstance(report, preheat.Report)
    assert report.command == (sys.executable, "-c", "import json")
    assert report.settings.starts == 2
    assert isinstance(report.starts[0], preheat.Start)
    assert isinstance(report.causes[0].items, tuple)
    assert isinstance(report.time_to_first.median, float)
    assert report.seconds("python imports") == report.seconds("Python imports") > 0
    assert sum(cause.seconds for cause in report.causes) == pytest.approx(
        report.time_to_first.median
    )
    assert report.recording is None
    assert report.document["schema"] == "preheat.run/1"
    with pytest.raises(FrozenInstanceError):
        report.iteration = "other"


def test_every_field_of_a_result_is_in_the_document():
    """A name that does not occur in the schema would always have its default."""
    import dataclasses

    report = preheat.run([sys.executable, "-c", "pass"], starts=1)
    ours = {"document", "recording", "class_"}
    names = {field.name for field in dataclasses.fields(report)} - ours
    assert names <= set(report.document)
    assert {field.name for field in dataclasses.fields(report.starts[0])} <= set(
        report.document["starts"][0]
    )
    assert {field.name for field in dataclasses.fields(report.memory)} <= set(
        report.document["memory"]
    )


def test_a_recording_is_kept_where_it_is_wanted(tmp_path):
    report = preheat.run(
        [sys.executable, "-c", "pass"], starts=1, output="rec", html="page.html", cwd=tmp_path
    )
    assert report.recording == str(tmp_path / "rec")
    assert (tmp_path / "rec" / "recording.json").is_file()
    assert (tmp_path / "page.html").read_text().startswith("<!")


def test_a_command_that_does_not_exist_is_an_error():
    with pytest.raises(preheat.PreheatError, match="no-such-program") as raised:
        preheat.run(["no-such-program"], starts=1)
    assert raised.value.exit_code == 127


def test_a_wrong_option_is_an_error():
    with pytest.raises(preheat.PreheatError) as raised:
        preheat.run([sys.executable, "-c", "pass"], iterations="nonsense")
    assert raised.value.exit_code == 2
    assert "expected one of auto" in raised.value.stderr


def test_a_command_that_fails_is_an_error_if_asked_for():
    command = [sys.executable, "-c", "raise SystemExit(3)"]
    assert preheat.run(command, starts=1).exit_code == 3
    with pytest.raises(preheat.PreheatError, match="exit code 3"):
        preheat.run(command, starts=1, check=True)


@pytest.mark.parametrize("command, error", [("python train.py", TypeError), ([], ValueError)])
def test_a_command_is_a_list_of_words(command, error):
    with pytest.raises(error):
        preheat.run(command)
    with pytest.raises(error):
        preheat.start(command)


def test_a_document_of_another_kind_is_rejected(tmp_path):
    path = tmp_path / "other.json"
    path.write_text(json.dumps({"schema": "preheat.lab/1"}))
    with pytest.raises(ValueError, match="preheat.lab/1"):
        preheat.Report.load(path)
    path.write_text(json.dumps({"schema": "preheat.run/1"}))
    with pytest.raises(ValueError, match="does not conform"):
        preheat.Report.load(path)


def test_start_is_like_subprocess_run(tmp_path):
    command = [sys.executable, "-c", "import sys; print(sys.stdin.read()); sys.exit(5)"]
    env = {**os.environ, "XDG_CACHE_HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path)}
    done = preheat.start(
        command, options=["--only", "none"], input="text", stdout=subprocess.PIPE, text=True, env=env
    )
    assert (done.returncode, done.stdout, done.args) == (5, "text\n", command)
    with pytest.raises(ValueError, match="shell"):
        preheat.start(command, shell=True)


def test_the_module_is_the_command_line():
    ours = subprocess.run(
        [sys.executable, "-m", "preheat", "--version"], check=True, stdout=subprocess.PIPE
    ).stdout
    program = subprocess.run(
        [preheat.binary(), "--version"], check=True, stdout=subprocess.PIPE
    ).stdout
    assert ours == program


def test_a_missing_program_is_reported(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "preheat"],
        env={**os.environ, "PREHEAT_BINARY": str(tmp_path)},
        stderr=subprocess.PIPE,
        text=True,
    )
    assert done.returncode == 1
    assert f"PREHEAT_BINARY={tmp_path} is not an executable file" in done.stderr
