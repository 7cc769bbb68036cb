"""The metadata of the wheel, and what PyPI shows of it."""

import re
from pathlib import Path

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
