"""`preheat check` from Python: for the pytest plugin and the pre-commit hook."""

import json
import re
import subprocess
import tempfile
from typing import Any, Dict, List, NamedTuple, Optional, Sequence

from preheat._binary import binary
from preheat._run import _plain, _reason


class Checked(NamedTuple):
    """The result of `preheat check`."""

    exit_code: int
    # The human-readable report, or the error message.
    text: str
    # The document preheat.check/2; None if nothing was checked.
    document: Optional[Dict[str, Any]]

    @property
    def inconclusive(self) -> bool:
        return self.document is not None and self.document["verdict"] == "inconclusive"

    @property
    def undecidable(self) -> bool:
        """True if a value above its limit has too few starts for an interval.

        However far above the limit it is, such a line never fails.
        """
        return self.document is not None and any(
            line["verdict"] == "inconclusive" and line["measured"]["low"] is None
            for line in self.document["lines"]
        )

    @property
    def worst(self) -> List[str]:
        """The limits with the worst verdict, each with its reason."""
        if self.document is None:
            return []
        return [
            f"{line['title']}: {line['reason']}"
            for line in self.document["lines"]
            if line["verdict"] == self.document["verdict"]
        ]


class InvalidLimit(ValueError):
    """A limit that `preheat check` rejects. `flag` is None if it is in the budget file."""

    def __init__(self, reason: str, flag: Optional[str], value: str) -> None:
        super().__init__(reason)
        self.flag = flag
        self.value = value


def check(recording: str, limits: Sequence[str], document: bytes = b"") -> Checked:
    """Compares a recording with limits, which are flags of `preheat check`.

    The recording is an absolute path, or `-` for a document of `preheat run --json`.
    """
    done = _check(recording, limits, document)
    return Checked(
        done.returncode,
        _plain(done.stderr.decode(errors="replace")).strip(),
        json.loads(done.stdout) if done.stdout else None,
    )


def with_options(text: str, starts: str, iterations: Optional[str] = None) -> str:
    """Replaces the flags of `preheat run` in hints of the report.

    `starts` is written before a number of starts, `iterations` in place of the whole command.
    """
    for hint, option in (
        (r"use --starts (\d+)", rf"use {starts}\1"),
        (r"record with `preheat run --starts (\d+)`", rf"use {starts}\1"),
        ("`preheat run --iterations`", iterations),
    ):
        if option is not None:
            # Lines of the report are wrapped and indented.
            text = re.sub(hint.replace(" ", r"\s+"), option, text)
    return text


def validate(limits: Sequence[str]) -> None:
    """Raises `InvalidLimit` if `preheat check` would reject these limits."""
    done = _check("-", ["--validate", *limits], b"")
    if done.returncode == 0:
        return
    if done.stdout:
        wrong = json.loads(done.stdout)
        raise InvalidLimit(wrong["reason"], wrong["flag"], wrong["value"])
    raise InvalidLimit(_reason(_plain(done.stderr.decode(errors="replace"))), None, "")


def _check(
    recording: str, limits: Sequence[str], document: bytes
) -> "subprocess.CompletedProcess[bytes]":
    # In an empty directory, where no other preheat.toml is found.
    with tempfile.TemporaryDirectory(prefix="preheat-") as empty:
        return subprocess.run(
            # The human-readable report then goes to standard error.
            [binary(), "check", recording, "--json", "-", *limits],
            input=document,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=empty,
        )
