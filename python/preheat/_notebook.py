"""``%%preheat``: what a cell would cost in a fresh process, shown in the notebook.

The cell runs as a script in fresh processes, without the variables of the notebook, so that
each start is cold. Its output is discarded.
"""

import argparse
import html
import os
import shlex
import sys
import tempfile
from typing import Any, List, NoReturn, Optional

from preheat._run import PreheatError, run

HEIGHT = 640


class CellError(Exception):
    """The cell failed, or could not be recorded. IPython shows the message alone."""

    def _render_traceback_(self) -> List[str]:
        return str(self).splitlines()


class _Wrong(Exception):
    """Wrong usage of the magic; empty if only help was requested."""


class _Parser(argparse.ArgumentParser):
    """Reports wrong usage without ending the kernel."""

    def error(self, message: str) -> NoReturn:
        raise _Wrong(message)

    def exit(self, status: int = 0, message: Optional[str] = None) -> NoReturn:
        raise _Wrong("")


class Page:
    """A report, shown in an iframe so that its style does not affect the notebook."""

    def __init__(self, report: Any, page: str, height: int) -> None:
        self.report = report
        self._page = page
        self._height = height

    def __repr__(self) -> str:
        first = self.report.time_to_first.estimate
        return f"<preheat: time to first {first:.3g} s>"

    def _repr_html_(self) -> str:
        return (
            f'<iframe srcdoc="{html.escape(self._page)}" title="preheat report" '
            'sandbox="allow-scripts" style="width: 100%; border: 0; '
            f'height: {self._height}px"></iframe>'
        )


def register(shell: Any) -> None:
    """Registers the magic in an IPython shell."""
    shell.register_magic_function(cell_magic, magic_kind="cell", magic_name="preheat")


def cell_magic(line: str, cell: str) -> Optional[Page]:
    """Records this cell as a program in fresh processes, and shows the report.

    %%preheat [--starts N] [--iterations HOW] [--temperature T] [--height PIXELS]

    The cell's own output is discarded; what it writes to standard error is shown if it fails.
    """
    parser = _Parser(prog="%%preheat", description=(cell_magic.__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--starts", metavar="N", type=int, default=3, help="starts to record (%(default)s)"
    )
    parser.add_argument(
        "--iterations", metavar="HOW", help="how to find iterations, as in `preheat run`"
    )
    parser.add_argument(
        "--temperature", metavar="T", help="what is cold before each start, as in `preheat run`"
    )
    parser.add_argument(
        "--height",
        metavar="PIXELS",
        type=int,
        default=HEIGHT,
        help="the height of the report (%(default)s)",
    )
    try:
        options = parser.parse_args(shlex.split(line))
    except (_Wrong, ValueError) as wrong:
        if str(wrong):
            raise CellError(f"%%preheat: {wrong}") from None
        return None
    with tempfile.TemporaryDirectory(prefix="preheat-") as directory:
        script = os.path.join(directory, "cell.py")
        with open(script, "w", encoding="utf-8") as file:
            file.write(cell)
        page = os.path.join(directory, "report.html")
        try:
            report = run(
                [sys.executable, script],
                starts=options.starts,
                iterations=options.iterations,
                temperature=options.temperature,
                html=page,
                env={**os.environ, "PYTHONPATH": _path()},
                check=True,
            )
        except PreheatError as error:
            raise CellError(_message(error, script)) from None
        with open(page, encoding="utf-8") as file:
            # The directory no longer exists when the page is read.
            shown = file.read().replace(directory + os.sep, "")
        return Page(report, shown, options.height)


def _message(error: PreheatError, script: str) -> str:
    """The reason for a missing report: stderr if the cell failed, otherwise the message of preheat."""
    if not error.failed:
        return f"%%preheat: {error}".replace(script, "<cell>")
    stderr = error.stderr.replace(script, "<cell>").rstrip()
    failed = f"%%preheat: the cell failed with exit code {error.exit_code}"
    return f"{stderr}\n\n{failed}" if stderr else failed


def _path() -> str:
    """Modules beside the notebook are found as in the notebook."""
    given = os.environ.get("PYTHONPATH")
    return os.pathsep.join([os.getcwd(), *([given] if given else [])])
