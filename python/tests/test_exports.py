"""Exports of `preheat run` that other tools read."""

import http.server
import json
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2

import preheat

PROGRAM = """
import json
import preheat

preheat.mark("loaded")
for _ in range(12):
    with preheat.iteration():
        sum(range(100000))
"""


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    """A recording of two starts, and its report."""
    directory = tmp_path_factory.mktemp("exports")
    (directory / "program.py").write_text(PROGRAM)
    return preheat.run(
        [sys.executable, "program.py"], starts=2, output="rec", cwd=directory, check=True
    )


def report(recording, *arguments, **variables):
    env = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}
    return subprocess.run(
        [preheat.binary(), "report", recording.recording, *arguments],
        env={**env, **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_speedscope_profiles_are_well_formed(recording, tmp_path):
    path = tmp_path / "profile.json"
    done = report(recording, "--speedscope", str(path))
    assert done.returncode == 0, done.stderr
    profile = json.loads(path.read_text())
    assert profile["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    frames = [frame["name"] for frame in profile["shared"]["frames"]]
    assert {"Python imports", "import json", "iteration: iteration"} <= set(frames)
    names = [each["name"] for each in profile["profiles"]]
    assert {"start 1: causes", "start 2: causes"} <= set(names)
    assert names[profile["activeProfileIndex"]].endswith("causes")
    for each in profile["profiles"]:
        assert (each["type"], each["unit"]) == ("evented", "nanoseconds")
        last, stack = each["startValue"], []
        for event in each["events"]:
            assert last <= event["at"] <= each["endValue"]
            last = event["at"]
            if event["type"] == "O":
                stack.append(event["frame"])
            else:
                assert event["type"] == "C" and stack.pop() == event["frame"]
        assert not stack
    # The causes of a start add up to the same times as in the report.
    shown = profile["profiles"][names.index("start 2: causes")]
    imports, opened = 0, {}
    end = recording.starts[1].time_to_first * 1e9
    for event in shown["events"]:
        if frames[event["frame"]] == "Python imports":
            if event["type"] == "O":
                opened["at"] = event["at"]
            else:
                imports += max(min(event["at"], end) - opened["at"], 0)
    (expected,) = [c.seconds for c in recording.starts[1].causes if c.cause == "Python imports"]
    assert imports / 1e9 == pytest.approx(expected, rel=0.01)


@pytest.fixture
def collector():
    """A collector on this machine: its URL, and the requests that it has got."""
    got = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            got.append((self.path, self.headers, self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(503 if self.path == "/busy" else 200)
            self.end_headers()

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", got
    server.shutdown()
    thread.join()
    server.server_close()


def attributes(of):
    return {each.key: getattr(each.value, each.value.WhichOneof("value")) for each in of}


def test_a_start_becomes_spans_with_causes(recording, collector):
    url, got = collector
    done = report(recording, "--otlp", url)
    assert done.returncode == 0, done.stderr
    sent = re.search(r"^sent (\d+) spans to (.*)$", done.stdout, re.MULTILINE)
    assert sent and f"http://{sent[2]}" == url
    ((path, headers, body),) = got
    assert (path, headers["Content-Type"]) == ("/v1/traces", "application/x-protobuf")
    request = trace_service_pb2.ExportTraceServiceRequest.FromString(body)
    # A field that the definition does not know would be lost on the way back.
    assert len(request.SerializeToString()) == len(body)
    (resource,) = request.resource_spans
    assert attributes(resource.resource.attributes)["service.name"] == "program"
    (scope,) = resource.scope_spans
    assert scope.scope.name == "preheat"
    spans = {span.span_id: span for span in scope.spans}
    assert len(spans) == len(scope.spans) == int(sent[1])
    assert {span.trace_id for span in scope.spans} == {scope.spans[0].trace_id}
    (root,) = [span for span in scope.spans if not span.parent_span_id]
    about = attributes(root.attributes)
    start = recording.starts[about["preheat.start"] - 1]
    assert about["preheat.time_to_first"] == pytest.approx(start.time_to_first)
    assert about["process.exit.code"] == 0
    for each in start.causes:
        name = each.cause.lower().replace("'", "").replace(" ", "_")
        assert about[f"preheat.cause.{name}"] == pytest.approx(each.seconds)
    assert all(re.fullmatch(r"[a-z0-9_.]+", name) for name in about)
    (mark,) = root.events
    assert mark.name == "loaded"
    assert root.start_time_unix_nano < mark.time_unix_nano < root.end_time_unix_nano
    for span in scope.spans:
        assert span.start_time_unix_nano <= span.end_time_unix_nano
        if span.parent_span_id:
            parent = spans[span.parent_span_id]
            assert parent.start_time_unix_nano <= span.start_time_unix_nano
            assert span.end_time_unix_nano <= parent.end_time_unix_nano
    names = [span.name for span in scope.spans]
    assert names.count("first iteration") == 1 and names.count("iteration") == 11
    (to_first,) = [span for span in scope.spans if span.name == "time to first"]
    seconds = (to_first.end_time_unix_nano - to_first.start_time_unix_nano) / 1e9
    assert seconds == pytest.approx(start.time_to_first)
    parts = [span for span in scope.spans if span.parent_span_id == to_first.span_id]
    imports = [span for span in parts if attributes(span.attributes)["preheat.cause"] == "Python imports"]
    assert imports and all(span.name == "Python imports" for span in imports)
    total = sum(span.end_time_unix_nano - span.start_time_unix_nano for span in parts)
    assert total / 1e9 == pytest.approx(start.time_to_first, rel=0.01)
    # The spans of each cause, without their steady work, add up to its attribute.
    sums = {"steady work": 0}
    for span in parts:
        of = attributes(span.attributes)
        usual = of.get("preheat.steady_work", 0)
        seconds = (span.end_time_unix_nano - span.start_time_unix_nano) / 1e9 - usual
        sums[span.name] = sums.get(span.name, 0) + seconds
        sums["steady work"] += usual
    # Without a steady state, which a busy machine may prevent, no work is known to be steady.
    assert recording.steady is None or "steady work" in sums and sums["steady work"] > 0
    for each in start.causes:
        assert sums[each.cause] == pytest.approx(each.seconds, abs=1e-6), each.cause


def test_resource_and_headers_follow_the_environment(recording, collector):
    url, got = collector
    given = {"OTEL_RESOURCE_ATTRIBUTES": "service.name=shop,deployment.environment=a%20test"}
    for variables in (given, {**given, "OTEL_SERVICE_NAME": "api"}):
        assert report(recording, "--otlp", url, **variables).returncode == 0
    found = []
    for _, _, body in got:
        (resource,) = trace_service_pb2.ExportTraceServiceRequest.FromString(body).resource_spans
        found.append(attributes(resource.resource.attributes))
    assert [each["service.name"] for each in found] == ["shop", "api"]
    assert {each["deployment.environment"] for each in found} == {"a test"}
    wrong = report(recording, "--otlp", url, OTEL_EXPORTER_OTLP_HEADERS="secret")
    assert wrong.returncode == 125 and len(got) == 2
    assert "OTEL_EXPORTER_OTLP_HEADERS: expected key=value" in wrong.stderr
    assert "secret" not in wrong.stderr
    headers = {"OTEL_EXPORTER_OTLP_HEADERS": "api-key=a%20token"}
    assert report(recording, "--otlp", url, **headers).returncode == 0
    assert got.pop()[1]["api-key"] == "a token"
    wrong = report(recording, "--otlp", url, OTEL_RESOURCE_ATTRIBUTES="test")
    assert wrong.returncode == 125 and len(got) == 2
    assert "OTEL_RESOURCE_ATTRIBUTES=test: expected key=value" in wrong.stderr


def test_run_exports_too(collector, tmp_path):
    url, got = collector
    path = tmp_path / "profile.json"
    preheat.run([sys.executable, "-c", "pass"], starts=1, speedscope=path, otlp=url)
    assert json.loads(path.read_text())["profiles"]
    assert [path for path, _, _ in got] == ["/v1/traces"]


def test_a_collector_that_does_not_accept_is_reported(recording, collector):
    url, _ = collector
    done = report(recording, "--otlp", f"{url}/busy")
    assert done.returncode == 125
    assert "503" in done.stderr
    done = report(recording, "--otlp", "http://127.0.0.1:1")
    assert done.returncode == 125
    assert "no spans were sent to 127.0.0.1:1" in done.stderr
    done = report(recording, "--otlp", "https://example.org")
    assert done.returncode == 2
    assert "https is not supported" in done.stderr


def test_the_command_runs_whatever_the_collector_does(tmp_path):
    done = subprocess.run(
        [preheat.binary(), "run", "--starts", "1", "--otlp", "http://127.0.0.1:1", "--"]
        + [sys.executable, "-c", "print(1)"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert (done.returncode, done.stdout) == (0, "1\n")
    assert "no spans were sent" in done.stderr


def test_open_starts_the_browser_with_the_page(tmp_path):
    browser = tmp_path / "browser"
    fifo = tmp_path / "opened"
    # Reading the pipe waits for the browser, which preheat does not.
    subprocess.run(["mkfifo", fifo], check=True)
    browser.write_text(f'#!/bin/sh\necho "$1" >"{fifo}"\n')
    browser.chmod(0o755)
    command = [preheat.binary(), "run", "--starts", "1", "--output", "rec", "--open", "--"]
    program = subprocess.Popen(
        ["env", f"BROWSER={browser}", *command, sys.executable, "-c", "pass"],
        cwd=tmp_path,
        stderr=subprocess.DEVNULL,
    )
    try:
        opened = fifo.read_text().strip()
    finally:
        assert program.wait(timeout=300) == 0
    assert opened == str(tmp_path / "rec" / "report.html")


def test_open_says_why_the_browser_failed(tmp_path):
    browser = tmp_path / "browser"
    browser.write_text("#!/bin/sh\nexit $1\n")
    browser.chmod(0o755)
    command = [preheat.binary(), "run", "--starts", "1", "--open", "--"]
    for chosen, why in ((f"{browser} 3", "exit status: 3"), ("./no-browser", "No such file")):
        done = subprocess.run(
            ["env", f"BROWSER={chosen}", *command, sys.executable, "-c", "pass"],
            cwd=tmp_path,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert why in done.stderr, done.stderr
        assert "report.html" in done.stderr


def test_a_saved_result_can_be_opened(recording, tmp_path):
    browser = tmp_path / "browser"
    opened = tmp_path / "opened"
    # A browser that fails has ended when preheat reports it.
    browser.write_text(f'#!/bin/sh\necho "$1" >"{opened}"\nexit 3\n')
    browser.chmod(0o755)
    page = Path(recording.recording, "report.html")
    page.unlink()
    named = tmp_path / "named.html"
    for arguments, expected in (((), page), (("--html", str(named)), named)):
        done = report(recording, "--open", *arguments, BROWSER=str(browser))
        assert done.returncode == 125 and "exit status: 3" in done.stderr
        assert opened.read_text().strip() == str(expected)
        assert expected.read_text().startswith("<!DOCTYPE html>")
    document = tmp_path / "run.json"
    assert report(recording, "--json", str(document)).returncode == 0
    for arguments, why in (
        ([document], "--open needs --html FILE"),
        ([recording.recording, "--html=-"], "--open opens a file"),
    ):
        done = subprocess.run(
            [preheat.binary(), "report", "--open", *arguments], stderr=subprocess.PIPE, text=True
        )
        assert done.returncode == 2 and why in done.stderr
