"""The GitHub Action: its steps, executed as the runner would.

The runner is a few lines here: it evaluates the expressions, runs `run` steps with bash as
GitHub does, and keeps the files of the cache actions in a directory. One test uses act, which
runs workflows as GitHub does.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import preheat
import pytest
import yaml

ACTION = yaml.safe_load((Path(__file__).parents[2] / "action.yml").read_text(encoding="utf-8"))
PROGRAM = "import preheat\nfor _ in range(4):\n    with preheat.iteration():\n        sum(range({}))\n"


class Runner:
    def __init__(self, directory, event="push", ref="main", base="", number=7, **inputs):
        self.directory = directory
        self.temp = Path(tempfile.mkdtemp(prefix=f"{event}-", dir=directory))
        self.cache = directory / "cache"
        self.cache.mkdir(exist_ok=True)
        self.summary = self.temp / "summary.md"
        self.summary.touch()
        self.context = {
            "steps": {},
            "runner": {"temp": str(self.temp), "os": "Linux", "arch": "X64"},
            "github": {
                "event_name": event,
                "ref_name": ref,
                "base_ref": base,
                "repository": "owner/name",
                "run_id": "1",
                "run_attempt": "1",
                "token": "secret",
                "event": {"pull_request": {"number": number}},
            },
        }
        given = {name: self.text(each.get("default", "")) for name, each in ACTION["inputs"].items()}
        self.context["inputs"] = {**given, "install": "", **inputs}
        self.log = ""

    def lookup(self, path):
        value = self.context
        for part in path.split("."):
            value = value.get(part, "") if isinstance(value, dict) else ""
        return value

    def text(self, template):
        return re.sub(r"\$\{\{ *(.+?) *\}\}", lambda m: str(self.lookup(m[1])), str(template))

    def wanted(self, condition, failed):
        """Returns whether a step runs: conditions joined with `&&`, and success unless `always()`."""
        terms = [term.strip() for term in condition.split("&&") if term.strip()]
        if failed and "always()" not in terms:
            return False
        for term in terms:
            if term == "always()":
                continue
            path, operator, value = re.fullmatch(r"([\w.-]+) (==|!=) '(.*)'", term).groups()
            if (str(self.lookup(path)) == value) != (operator == "=="):
                return False
        return True

    def run(self):
        """Runs all steps; whether the job succeeded."""
        failed = False
        for step in ACTION["runs"]["steps"]:
            outputs, outcome = {}, "skipped"
            if self.wanted(step.get("if", ""), failed):
                execute = self.execute if "run" in step else self.use
                outcome = "success" if execute(step, outputs) else "failure"
                failed = failed or outcome == "failure"
            self.context["steps"][step["id"]] = {"outcome": outcome, "outputs": outputs}
        return not failed

    def execute(self, step, outputs):
        assert "${{" not in step["run"], "values reach scripts through the environment only"
        file = self.temp / "output"
        file.write_text("")
        script = self.temp / "step.sh"
        script.write_text(step["run"])
        tools = self.directory / "bin"
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", script],
            cwd=self.directory,
            env={
                **os.environ,
                **{name: self.text(value) for name, value in step.get("env", {}).items()},
                "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
                "GITHUB_OUTPUT": str(file),
                "GITHUB_STEP_SUMMARY": str(self.summary),
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.log += done.stdout
        outputs.update(line.split("=", 1) for line in file.read_text().splitlines())
        return done.returncode == 0

    def use(self, step, outputs):
        action = step["uses"].split("@")[0]
        path = self.directory / self.text(step["with"]["path"])
        key = self.text(step["with"]["key"])
        if action == "actions/cache/save":
            shutil.copytree(path, self.cache / key)
        else:
            assert action == "actions/cache/restore"
            prefix = self.text(step["with"]["restore-keys"])
            found = sorted(each for each in os.listdir(self.cache) if each.startswith(prefix))
            outputs["cache-matched-key"] = found[-1] if found else ""
            if found:
                shutil.copytree(self.cache / found[-1], path)
        return True


# `gh api` for the comments of pull request 7: lists, creates and changes them.
GH = """
import json, os, sys
arguments = sys.argv[1:]
assert arguments.pop(0) == "api" and os.environ["GH_TOKEN"] == "secret"
options = {}
paths = []
while arguments:
    word = arguments.pop(0)
    if word in ("--method", "--field", "--jq"):
        options[word] = arguments.pop(0)
    elif word not in ("--paginate", "--silent"):
        paths.append(word)
(path,) = paths
comments = json.load(open(COMMENTS))
method = options.get("--method", "GET")
if method == "GET":
    assert path == "repos/owner/name/issues/7/comments"
    assert options["--jq"] == ".[] | select(.body | startswith(env.MARKER)) | .id"
    for each in comments:
        if each["body"].startswith(os.environ["MARKER"]):
            print(each["id"])
else:
    name, value = options["--field"].split("=", 1)
    assert name == "body" and value.startswith("@")
    body = open(value[1:]).read()
    if method == "POST":
        assert path == "repos/owner/name/issues/7/comments"
        comments.append({"id": 100 + len(comments), "body": body})
    else:
        start = "repos/owner/name/issues/comments/"
        assert method == "PATCH" and path.startswith(start)
        (one,) = [each for each in comments if each["id"] == int(path[len(start):])]
        one["body"] = body
    json.dump(comments, open(COMMENTS, "w"))
"""
# Comments of a person, of another workflow with the same token, and of another program.
OTHERS = [
    {"id": 1, "body": "Looks good."},
    {"id": 2, "body": "Coverage: 97 %"},
    {"id": 3, "body": "<!-- preheat: other -->\n### Cold start of `other`"},
]


def comments(repository):
    return json.loads((repository / "comments.json").read_text())


@pytest.fixture
def repository(tmp_path):
    """A repository with a program, and a PATH with preheat and a `gh` that keeps comments."""
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "preheat").symlink_to(preheat.binary())
    gh = tools / "gh"
    gh.write_text(f"#!{sys.executable}\nCOMMENTS = {str(tmp_path / 'comments.json')!r}\n{GH}")
    gh.chmod(0o755)
    (tmp_path / "comments.json").write_text(json.dumps(OTHERS))
    (tmp_path / "program.py").write_text(PROGRAM.format(1000))
    (tmp_path / "preheat.toml").write_text('time_to_first = "1 h"\n')
    return tmp_path


COMMAND = f"'{sys.executable}' program.py"


def test_a_push_is_checked_and_kept_and_a_pull_request_compared(repository):
    # Enough for a narrow interval on a busy machine.
    starts = "8"
    push = Runner(repository, command=COMMAND, starts=starts)
    assert push.run(), push.log
    assert "time to first" in push.summary.read_text()
    assert not (repository / ".preheat-base").exists()
    steps = push.context["steps"]
    assert [steps[name]["outcome"] for name in ("compare", "save")] == ["skipped", "success"]
    result = json.loads(Path(steps["record"]["outputs"]["json"]).read_text())
    assert result["iteration"] == "iteration, named by the program"
    assert Path(steps["record"]["outputs"]["html"]).is_file()

    # The change makes every start of the program far slower than any noise.
    (repository / "program.py").write_text("sum(range(30_000_000))\n" + PROGRAM.format(1000))
    pull = Runner(repository, "pull_request", "change", "main", command=COMMAND, starts=starts)
    assert not pull.run(), pull.log
    assert pull.context["steps"]["check"]["outcome"] == "success"
    assert pull.context["steps"]["compare"]["outcome"] == "failure"
    assert pull.context["steps"]["comment"]["outcome"] == "success"
    assert "against `main`" in pull.summary.read_text()
    *others, ours = comments(repository)
    assert others == OTHERS
    assert "time to first" in ours["body"] and "slower" in ours["body"]

    # The next run changes its own comment and no other.
    (repository / "program.py").write_text(PROGRAM.format(1000))
    again = Runner(repository, "pull_request", "change", "main", command=COMMAND, starts=starts)
    again.run()
    *others, changed = comments(repository)
    assert others == OTHERS and changed["id"] == ours["id"]
    assert changed["body"].startswith("<!-- preheat: default -->\n")
    assert changed["body"] != ours["body"]


def test_a_base_that_cannot_be_read_is_a_warning(repository):
    base = repository / "cache" / "preheat-default-Linux-X64-main:1-1"
    base.mkdir(parents=True)
    (base / "run.json").write_text('{"schema": "preheat.run/1"')
    pull = Runner(repository, "pull_request", "change", "main", command=COMMAND, starts="1")
    assert pull.run(), pull.log
    assert "::warning::Nothing was compared" in pull.log
    assert comments(repository) == OTHERS


def test_a_comparison_that_fails_is_an_error_and_not_a_comment(repository):
    push = Runner(repository, command=COMMAND, starts="1", budget="")
    assert push.run(), push.log
    pull = Runner(
        repository,
        "pull_request",
        "change",
        "main",
        command=COMMAND,
        starts="1",
        budget="",
        **{"max-regression": "much"},
    )
    assert not pull.run()
    assert "::error::The comparison failed:" in pull.log and "much" in pull.log
    assert comments(repository) == OTHERS


@pytest.mark.parametrize(
    "command, words",
    [
        (f"A='1 2' B=3 {COMMAND}", ["env", "A=1 2", "B=3", sys.executable, "program.py"]),
        (f"{COMMAND} 'a b' \"$HOME\"", [sys.executable, "program.py", "a b", os.environ["HOME"]]),
    ],
)
def test_a_command_is_split_as_by_a_shell(repository, command, words):
    runner = Runner(repository, command=command, starts="1", budget="")
    assert runner.run(), runner.log
    document = runner.context["steps"]["record"]["outputs"]["json"]
    assert json.loads(Path(document).read_text())["command"] == words


@pytest.mark.parametrize(
    "command, title",
    [
        ("A=1 python -u ./program.py", "program"),
        ("A=1 python -m timeit -n1 pass", "timeit"),
        ("A=1 python -c pass", "python"),
        ("A=1 B=2 /bin/true program.py", "true"),
        ("python program.py", "program"),
    ],
)
def test_a_check_has_the_name_of_the_program(repository, command, title):
    (repository / "bin" / "python").symlink_to(sys.executable)
    runner = Runner(repository, command=command, starts="1")
    assert runner.run(), runner.log
    assert f"preheat check: {title}\n" in runner.summary.read_text()


def test_the_base_is_not_a_branch_with_a_longer_name(repository):
    push = Runner(repository, ref="main-next", command=COMMAND, starts="1", budget="")
    assert push.run(), push.log
    pull = Runner(
        repository, "pull_request", "change", "main", command=COMMAND, starts="1", budget=""
    )
    assert pull.run(), pull.log
    assert "::notice::Nothing was compared" in pull.log
    assert comments(repository) == OTHERS


@pytest.mark.parametrize("command", ["true && python program.py", "python program.py | cat", "a 'b"])
def test_a_command_that_is_a_script_is_an_error(repository, command):
    runner = Runner(repository, command=command, starts="1")
    assert not runner.run()
    assert "::error::the input `command` is not a program with its arguments" in runner.log
    assert runner.context["steps"]["check"]["outcome"] == "skipped"


@pytest.mark.parametrize("command", ["", " ", "FOO=1", "FOO=1 BAR='a b'"])
def test_a_command_without_a_program_is_an_error(repository, command):
    runner = Runner(repository, command=command, starts="1")
    assert not runner.run()
    assert "::error::the input `command` names no program" in runner.log
    assert runner.context["steps"]["check"]["outcome"] == "skipped"


def test_a_command_of_several_lines_has_a_heading_of_one(repository):
    command = f"'{sys.executable}'\nprogram.py"
    keywords = {"command": command, "starts": "1", "budget": ""}
    assert Runner(repository, **keywords).run()
    pull = Runner(repository, "pull_request", "change", "main", **keywords)
    pull.run()
    heading = f"### Cold start of `'{sys.executable}' program.py` against `main`\n"
    assert heading in pull.summary.read_text(), pull.log


def test_a_budget_that_is_exceeded_fails_the_job(repository):
    (repository / "preheat.toml").write_text('time_to_first = "1 ns"\n')
    runner = Runner(repository, command=COMMAND, starts="4")
    assert not runner.run()
    assert "::error" in runner.log
    assert "time to first" in runner.summary.read_text()
    # The next comparison still has a base.
    assert runner.context["steps"]["save"]["outcome"] == "success"


def test_without_a_base_nothing_is_compared(repository):
    runner = Runner(
        repository, "pull_request", "change", "main", command=COMMAND, starts="1", budget=""
    )
    assert runner.run(), runner.log
    outcomes = {name: step["outcome"] for name, step in runner.context["steps"].items()}
    assert outcomes["check"] == outcomes["comment"] == "skipped"
    assert "::notice::Nothing was compared, because there is no recording of main yet" in runner.log


def test_a_program_that_fails_fails_the_job(repository):
    runner = Runner(repository, command="sh -c 'exit 9'", starts="1")
    assert not runner.run()
    assert runner.context["steps"]["record"]["outcome"] == "failure"


WORKFLOW = """
on: [push, pull_request]
jobs:
  cold-start:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v5
      - uses: owner/preheat@v0
        with:
          command: {command}
          install: ""
          starts: 4
"""
# The actions of actions/cache, with a directory as the cache.
CACHE = """
inputs:
  path: {{}}
  key: {{}}
  restore-keys: {{}}
runs:
  using: composite
  steps:
    - shell: bash
      env:
        FROM: {source}
        TO: {target}
      run: if [[ -e $FROM ]]; then mkdir -p "$TO" && cp -r "$FROM"/. "$TO"; fi
"""


def test_act_runs_the_action(repository, tmp_path_factory):
    workflow = repository / ".github/workflows/cold-start.yml"
    action, cache = repository / "action", repository / "cache-action"
    kept = f"{repository}/kept/"
    workspace = "${{ github.workspace }}/${{ inputs.path }}"
    for file, text in (
        (workflow, WORKFLOW.format(command=json.dumps(COMMAND))),
        (action / "action.yml", json.dumps(ACTION)),
        (
            cache / "restore/action.yml",
            CACHE.format(source=kept + "${{ inputs.restore-keys }}", target=workspace),
        ),
        # Saved under the part of the key that `restore-keys` names.
        (
            cache / "save/action.yml",
            CACHE.format(source=workspace, target=kept + "${{ inputs.key }}").replace(
                "run: if", "run: TO=${TO%:*}:; if"
            ),
        ),
        (repository / "event.json", '{"pull_request": {"number": 7, "base": {"ref": "main"}}}'),
    ):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    environment = {
        **os.environ,
        "PATH": f"{repository / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(repository),
        # Each job runs in a copy of the repository, which is kept there.
        "XDG_CACHE_HOME": str(tmp_path_factory.mktemp("act")),
        "GIT_CONFIG_GLOBAL": "/dev/null",
    }
    for words in (
        ["init", "-q", "-b", "main"],
        ["remote", "add", "origin", "https://github.com/owner/name"],
        ["add", ".github", "program.py", "preheat.toml"],
        ["-c", "user.name=A", "-c", "user.email=a@example.org", "commit", "-qm", "all"],
    ):
        subprocess.run(["git", *words], cwd=repository, env=environment, check=True)

    def act(*event):
        options = ["--platform", "ubuntu-latest=-self-hosted", "--action-offline-mode"]
        for name, local in (("owner/preheat@v0", action), ("actions/cache@v5", cache)):
            options += ["--local-repository", f"{name}={local}"]
        done = subprocess.run(
            [Path(sys.executable).parent / "act", *event, *options, "--secret=GITHUB_TOKEN=secret"],
            cwd=repository,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert done.returncode == 0, done.stdout
        return done.stdout

    pull_request = ("pull_request", "--eventpath", "event.json")
    assert "Nothing was compared" in act(*pull_request)
    assert "Success - Main Save the recording" in act("push")
    log = act(*pull_request)
    assert "Success - Main Comment on the pull request" in log
    *others, ours = comments(repository)
    assert others == OTHERS and "peak host memory" in ours["body"], log
