"""`packaging/publish` in a small clone with a real remote, and `./release --help`.

Nothing is built or uploaded: `./release`, `gh`, `twine` and `mkdocs` are replaced by scripts.
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
VERSION = "0.1.0"
# In two parts, because publishing replaces it everywhere.
PLACEHOLDER = "OWNER/" + "preheat"
# A program that appends its arguments to a file.
RECORDER = '#!/bin/sh\necho "$(basename "$0") $*" >>"$CALLS"\n'
BUILD = RECORDER + (
    f"mkdir -p target/release-{VERSION}\n"
    f"cd target/release-{VERSION}\n"
    f"touch preheat-{VERSION}-py3-none-manylinux_2_28_x86_64.whl SHA256SUMS\n"
)


@pytest.fixture
def clone(tmp_path, monkeypatch):
    """A clone with the files that publishing reads and changes."""
    calls = tmp_path / "calls"
    calls.touch()
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("gh", "mkdocs", "twine"):
        program = programs / name
        # There is no release yet.
        program.write_text(RECORDER + '[ "$1 $2" != "release view" ]\n')
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.setenv("CALLS", str(calls))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    for variable in ("GIT_DIR", "GIT_WORK_TREE", "PREHEAT_MAINTAINER"):
        monkeypatch.delenv(variable, raising=False)
    (tmp_path / "gitconfig").write_text("[user]\nname = Ada\nemail = ada@example.org\n")
    directory = tmp_path / "clone"
    (directory / "packaging").mkdir(parents=True)
    shutil.copy(ROOT / "packaging/publish", directory / "packaging")
    (directory / "pyproject.toml").write_text(f'Issues = "https://github.com/{PLACEHOLDER}/issues"\n')
    (directory / "Cargo.toml").write_text(f'version = "{VERSION}"\n')
    (directory / "CHANGELOG.md").write_text(f"# Changelog\n\n## {VERSION} (today)\n\nNew.\n\n## 0\n")
    (directory / ".gitignore").write_text("target\n")
    (directory / "release").write_text(BUILD)
    (directory / "release").chmod(0o755)
    remote = tmp_path / "ada" / "warm.git"
    for words in (
        ["init", "-q", "--bare", str(remote)],
        ["init", "-q", "-b", "main"],
        ["add", "-A"],
        ["commit", "-qm", "all"],
        ["remote", "add", "origin", str(remote)],
    ):
        git(directory, *words)
    return directory


def git(directory, *words):
    done = subprocess.run(["git", *words], cwd=directory, check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout.strip()


def publish(clone, *arguments):
    return subprocess.run(
        [clone / "packaging/publish", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def calls(clone):
    return (clone.parent / "calls").read_text().splitlines()


def test_a_dry_run_prints_every_step_and_changes_nothing(clone):
    before = git(clone, "rev-parse", "HEAD")
    done = publish(clone, "ada/warm", "--dry-run")
    assert done.returncode == 0, done.stderr
    commands = [line.split()[1:3] for line in done.stdout.splitlines()]
    assert commands == [
        ["sed", "-i"],
        ["git", "commit"],
        ["env", "PREHEAT_MAINTAINER=Ada\\"],
        ["git", "tag"],
        ["git", "push"],
        ["gh", "release"],
        ["twine", "check"],
        ["twine", "upload"],
        ["mkdocs", "gh-deploy"],
    ]
    assert calls(clone) == []
    assert (git(clone, "rev-parse", "HEAD"), git(clone, "status", "--porcelain")) == (before, "")
    assert git(clone, "tag") == "" and not (clone / "target").exists()
    assert git(clone.parent / "ada/warm.git", "for-each-ref") == ""


def test_a_release_is_built_pushed_and_uploaded(clone):
    done = publish(clone, "ada/warm")
    assert done.returncode == 0, done.stderr
    wheel = f"target/release-{VERSION}/preheat-{VERSION}-py3-none-manylinux_2_28_x86_64.whl"
    assert calls(clone) == [
        "gh auth status",
        "release --twice",
        f"gh release view v{VERSION} --repo ada/warm",
        f"gh release create v{VERSION} --repo ada/warm --verify-tag --title preheat {VERSION} "
        f"--notes-file target/release-notes.md target/release-{VERSION}/SHA256SUMS {wheel}",
        f"twine check --strict {wheel}",
        f"twine upload --skip-existing {wheel}",
        f"mkdocs gh-deploy --quiet --strict --message Documentation of {VERSION}",
    ]
    assert (clone / "target/release-notes.md").read_text() == "\nNew.\n\n"
    # The tag is the commit in which links have the name of the repository.
    remote = clone.parent / "ada/warm.git"
    head = git(clone, "rev-parse", "HEAD")
    assert git(remote, "rev-parse", "main") == git(remote, "rev-parse", f"v{VERSION}^{{}}") == head
    linked = git(clone, "show", f"v{VERSION}:pyproject.toml")
    assert linked == 'Issues = "https://github.com/ada/warm/issues"'
    # Once more, after a step failed: nothing is committed or tagged again.
    again = publish(clone, "ada/warm")
    assert again.returncode == 0, again.stderr
    assert git(clone, "rev-parse", "HEAD") == head
    (clone / "new").touch()
    git(clone, "add", "new")
    git(clone, "commit", "-qm", "more")
    later = publish(clone, "ada/warm")
    assert later.returncode == 1 and "raise the version in Cargo.toml" in later.stderr


@pytest.mark.parametrize(
    "arguments, message",
    [
        ([], "expected a repository on GitHub"),
        (["ada"], "expected a repository on GitHub"),
        (["ada/warm", "--now"], "unknown option `--now`"),
        (["ada/warm", "ada/cold"], "unexpected argument `ada/cold`"),
    ],
)
def test_wrong_usage_exits_with_two(clone, arguments, message):
    done = publish(clone, *arguments)
    assert done.returncode == 2 and message in done.stderr
    assert calls(clone) == []


def test_publishing_needs_the_right_remote_and_a_clean_clone(clone):
    done = publish(clone, "other/warm")
    assert done.returncode == 1 and "not other/warm" in done.stderr
    (clone / "new").touch()
    done = publish(clone, "ada/warm")
    assert done.returncode == 1 and "uncommitted changes" in done.stderr
    assert calls(clone) == []


@pytest.mark.parametrize("script", ["release", "packaging/publish"])
def test_help_is_printed(script):
    done = subprocess.run([ROOT / script, "--help"], stdout=subprocess.PIPE, text=True)
    assert done.returncode == 0
    assert f"{script} " in done.stdout and "#" not in done.stdout


def test_release_accepts_one_option():
    # --help comes first: without the check, nothing would be built either.
    done = subprocess.run([ROOT / "release", "--help", "extra"], stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2
    assert "release: unexpected argument `extra`" in done.stderr
