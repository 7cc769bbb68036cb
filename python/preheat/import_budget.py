"""``python -m preheat.import_budget``: a pre-commit hook for import budgets.

    python -m preheat.import_budget --imports "800 ms" -- python -c "import mypackage"
    python -m preheat.import_budget --budget preheat.toml -- python train.py

Records the command and compares it with the limits. Exits with 1 if one is conclusively
exceeded, or if the command fails, and with 3 if a value is above its limit and there are too few
starts to decide. Prints the report of `preheat check` unless every limit is met.
"""

import argparse
import json
import os
import shlex
import sys
from typing import List, Optional

from preheat._binary import BinaryNotFound
from preheat._check import InvalidLimit, check, validate, with_options
from preheat._run import PreheatError, run

_ENOUGH = 5
# The exit code of `preheat check --fail-on-inconclusive`.
_INCONCLUSIVE = 3


def main(arguments: Optional[List[str]] = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m preheat.import_budget",
        # argparse would write the command as `...`.
        usage="%(prog)s [-h] [--imports TIME] [--budget FILE] [--starts N] -- COMMAND...",
        description="Fails if the imports of a command take longer than their budget.",
    )
    parser.add_argument("--imports", metavar="TIME", help="the limit, such as '800 ms'")
    parser.add_argument("--budget", metavar="FILE", help="a budget with limits (preheat.toml)")
    parser.add_argument(
        "--starts", metavar="N", type=int, default=_ENOUGH, help=f"starts to record ({_ENOUGH})"
    )
    parser.add_argument(
        "command",
        nargs=argparse.REMAINDER,
        metavar="COMMAND...",
        help="the command to record, such as python -c 'import mypackage'",
    )
    options = parser.parse_args(arguments)
    command = options.command[1:] if options.command[:1] == ["--"] else options.command
    if not command:
        parser.error("a command is missing, such as: -- python -c 'import mypackage'")
    if options.imports is None and options.budget is None:
        parser.error("a limit is missing: --imports TIME or --budget FILE")
    limits: List[str] = []
    if options.budget is not None:
        limits += ["--budget", os.path.abspath(options.budget)]
    if options.imports is not None:
        limits += ["--cause", f"Python imports={options.imports}"]
    try:
        validate(limits)
        # A budget can have a limit on the exit code.
        report = run(command, starts=options.starts, check=options.budget is None)
        checked = check("-", limits, json.dumps(report.document).encode())
    except InvalidLimit as error:
        parser.error(f"argument --imports: {error}" if error.flag else str(error))
    except PreheatError as error:
        print(f"preheat: {error}", file=sys.stderr)
        if error.failed:
            print(error.stderr.rstrip(), file=sys.stderr)
        return 1 if error.failed else 2
    except BinaryNotFound as error:
        print(f"preheat: {error}", file=sys.stderr)
        return 2
    text = with_options(checked.text, "--starts ")
    if checked.document is None:
        print(text, file=sys.stderr)
    elif checked.exit_code != 0 or checked.inconclusive:
        print(text)
    if checked.exit_code == 1 and report.exit_code != 0:
        print(f"\n{report.stderr.rstrip()}")
    elif checked.exit_code == 1:
        line = " ".join(map(shlex.quote, command))
        print(f"\n`preheat run -- {line}` shows where the time goes and what would help.")
    return checked.exit_code or (_INCONCLUSIVE if checked.undecidable else 0)


if __name__ == "__main__":
    sys.exit(main())
