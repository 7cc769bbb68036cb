"""``python -m preheat``: the command line."""

import os
import sys

from preheat._binary import BinaryNotFound, binary


def main() -> None:
    try:
        path = binary()
    except BinaryNotFound as error:
        sys.exit(f"preheat: {error}")
    os.execv(path, [path, *sys.argv[1:]])


if __name__ == "__main__":
    main()
