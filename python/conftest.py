"""Names that the examples in the documentation strings use."""

import re
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"


@pytest.fixture(autouse=True)
def names(doctest_namespace):
    """`EXAMPLE` is the example of docs/run-json.md."""
    text = (DOCS / "run-json.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```json\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)
    doctest_namespace["EXAMPLE"] = blocks[-1]
    doctest_namespace["sys"] = sys
