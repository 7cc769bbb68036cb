"""The metadata of the wheel, what PyPI shows of it, and the commit in the version."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import preheat
import pytest

tomllib = pytest.importorskip("tomllib")
ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_the_description_has_no_relative_links():
    """PyPI shows it without the files of the repository."""
    text = (ROOT / PROJECT["readme"]).read_text(encoding="utf-8")
    targets = re.findall(r"\]\(([^)]*)\)|(?:src|href)=\"([^\"]*)\"", text)
    assert all("".join(each).startswith("https://") for each in targets)
    assert "pip install preheat" in text and "Rust" not in text


def test_the_project_has_an_author_and_a_home():
    assert PROJECT["authors"]
    assert {"Homepage", "Documentation", "Issues"} <= set(PROJECT["urls"])


class Sources:
    """The build script of the program in a small repository, run as Cargo does."""

    def __init__(self, directory):
        self.root = directory / "preheat"
        self.environment = {
            "PATH": os.environ["PATH"],
            "GIT_CONFIG_GLOBAL": os.devnull,
            "CARGO_PKG_VERSION": "1.2.3",
            "PROFILE": "release",
        }
        for name in (".gitattributes", "crates/cli/build.rs"):
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, self.root / name)
        self.commit_all(self.root)

    def git(self, *words, cwd):
        identity = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
        done = subprocess.run(
            ["git", *identity, *words], cwd=cwd, env=self.environment, check=True, stdout=subprocess.PIPE
        )
        return done.stdout.decode(errors="replace").strip()

    def commit_all(self, directory):
        self.git("init", "-q", cwd=directory)
        self.git("add", "-A", cwd=directory)
        self.git("commit", "-qm", "all", cwd=directory)

    def version(self, root, **variables):
        """Returns the version that `preheat --version` shows after its name."""
        script = root.parent / "build-script"
        package = root / "crates/cli"
        edition = ["--edition", "2024", "-C", "debuginfo=0"]
        subprocess.run(["rustc", *edition, "-o", script, "build.rs"], cwd=package, check=True)
        done = subprocess.run(
            [script],
            cwd=package,
            env={**self.environment, **variables},
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        )
        return re.search("^cargo:rustc-env=VERSION_AND_COMMIT=(.*)$", done.stdout, re.M)[1]


@pytest.fixture
def sources(tmp_path):
    if shutil.which("rustc") is None or shutil.which("git") is None:
        pytest.skip("no Rust compiler or no git")
    return Sources(tmp_path)


def test_the_version_names_the_commit(sources):
    shown = sources.git("log", "-1", "--format=%h %cs", "--abbrev=12", cwd=sources.root)
    assert sources.version(sources.root) == f"1.2.3 ({shown})"
    with open(sources.root / "crates/cli/build.rs", "a") as file:
        file.write("// Changed.\n")
    assert sources.version(sources.root) == f"1.2.3 ({shown}, modified)"
    assert sources.version(sources.root, PROFILE="debug") == "1.2.3"
    assert sources.version(sources.root, PREHEAT_COMMIT="mine") == "1.2.3 (mine)"


def test_a_source_archive_names_its_commit(sources, tmp_path):
    shown = sources.git("log", "-1", "--format=%h %cs", "--abbrev=12", cwd=sources.root)
    sources.git("archive", "-o", tmp_path / "sources.zip", "HEAD", cwd=sources.root)
    # In a directory of another repository.
    archive = tmp_path / "other" / "preheat"
    shutil.unpack_archive(tmp_path / "sources.zip", archive)
    sources.commit_all(archive.parent)
    assert sources.version(archive) == f"1.2.3 ({shown})"


def test_sources_in_another_repository_do_not_name_its_commit(sources, tmp_path):
    copy = tmp_path / "other" / "preheat"
    shutil.copytree(sources.root, copy, ignore=shutil.ignore_patterns(".git"))
    sources.commit_all(copy.parent)
    assert sources.version(copy) == "1.2.3"


@pytest.mark.parametrize(
    "words, expected",
    [
        (["run", "--temp"], {"--temperature"}),
        (["start", "--standby", ""], {"parked", "hot"}),
        # After `--`, the command has its own flags, and is a program.
        (["run", "--starts", "3", "--", "printen"], {"printenv"}),
        (["start", "--", "printenv", "--"], set()),
        (["completions", ""], {"bash", "zsh", "fish"}),
    ],
)
def test_bash_completes_flags_and_commands(words, expected):
    script = subprocess.check_output([preheat.binary(), "completions", "bash"], text=True)
    script += """
        COMP_WORDS=(preheat "$@")
        COMP_CWORD=$#
        _preheat_or_command preheat "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
        printf '%s\\n' "${COMPREPLY[@]}"
    """
    done = subprocess.run(
        ["bash", "--norc", "-c", script, "bash", *words], check=True, stdout=subprocess.PIPE, text=True
    )
    found = set(done.stdout.split())
    assert expected <= found if expected else not found
