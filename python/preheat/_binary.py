"""Finds the ``preheat`` program that belongs to this package."""

import os
import shutil
import sysconfig
from typing import Iterator


class BinaryNotFound(FileNotFoundError):
    """The ``preheat`` program is not installed."""


def binary() -> str:
    """Returns the path of the ``preheat`` program.

    The environment variable ``PREHEAT_BINARY`` overrides it. Otherwise it is the program
    that was installed with this package, or else the first one in ``PATH``.
    """
    chosen = os.environ.get("PREHEAT_BINARY")
    if chosen:
        if not _is_program(chosen):
            raise BinaryNotFound(f"PREHEAT_BINARY={chosen} is not an executable file")
        return os.path.abspath(chosen)
    for directory in _directories():
        path = os.path.join(directory, "preheat")
        if _is_program(path):
            return path
    found = shutil.which("preheat")
    if found is None:
        raise BinaryNotFound(
            "the preheat program is not installed with this package and not in PATH; "
            "`pip install --force-reinstall preheat` installs both"
        )
    return found


def _is_program(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)


def _directories() -> Iterator[str]:
    """The directories where installers put programs, those of this very package first."""
    packages = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    # `pip install --target DIRECTORY` puts programs into DIRECTORY/bin.
    yield os.path.join(packages, "bin")
    # PREFIX/lib/python3.X/site-packages: virtual environments, --prefix and --user.
    yield os.path.normpath(os.path.join(packages, "..", "..", "..", "bin"))
    yield sysconfig.get_path("scripts")
