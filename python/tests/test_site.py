"""The documentation as a site, built as docs/install.md describes it."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_site_is_built_without_warnings(tmp_path):
    site = tmp_path / "site"
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", site],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    page = (site / "run-json.html").read_text(encoding="utf-8")
    # The anchor that GitHub gives this heading, so that links to it work in both.
    assert 'id="opentelemetry-spans---otlp"' in page


def test_the_documented_version_is_the_tested_one():
    requirements = (ROOT / "tests" / "requirements.txt").read_text().splitlines()
    (version,) = [line for line in requirements if line.startswith("mkdocs-material==")]
    install = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    assert f"pip install {version}\nmkdocs build --strict\n" in install
