"""Measures, explains and removes cold start.

A program names its iterations, and loses nothing where it is not recorded:

>>> import preheat
>>> for batch in range(3):
...     with preheat.iteration():
...         _ = sum(range(1000))

`preheat.run` records a command and returns typed results, `preheat.start` starts one warm.
The command line is documented by ``preheat --help``.
"""

from preheat._marks import iteration, mark

# Type checkers treat this as true. Importing `typing` for it would cost more than all of
# this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from preheat._binary import BinaryNotFound, binary
    from preheat._report import (
        Around,
        Cause,
        CauseSeconds,
        DeviceMemory,
        Evicted,
        FirstBegin,
        Function,
        HostBytes,
        HostItem,
        HostMemory,
        HostPart,
        HostProcess,
        Interval,
        Item,
        Later,
        Machine,
        Mark,
        Memory,
        Origin,
        Region,
        Remedy,
        Repeats,
        Report,
        Settings,
        Start,
        TemperatureResult,
        Thread,
        Unfinished,
    )
    from preheat._run import PreheatError, run, start

    __version__: str

__all__ = [
    "Around",
    "BinaryNotFound",
    "Cause",
    "CauseSeconds",
    "DeviceMemory",
    "Evicted",
    "FirstBegin",
    "Function",
    "HostBytes",
    "HostItem",
    "HostMemory",
    "HostPart",
    "HostProcess",
    "Interval",
    "Item",
    "Later",
    "Machine",
    "Mark",
    "Memory",
    "Origin",
    "PreheatError",
    "Region",
    "Remedy",
    "Repeats",
    "Report",
    "Settings",
    "Start",
    "TemperatureResult",
    "Thread",
    "Unfinished",
    "binary",
    "iteration",
    "load_ipython_extension",
    "mark",
    "run",
    "start",
]

_BINARY = ("BinaryNotFound", "binary")
_RUN = ("PreheatError", "run", "start")


if not TYPE_CHECKING:
    # A type checker that saw this would accept every name.

    def __getattr__(name: str) -> object:
        # A program that only names its iterations must not pay for importing subprocess, json
        # and dataclasses.
        if name == "__version__":
            return _version()
        if name not in __all__:
            raise AttributeError(f"module 'preheat' has no attribute {name!r}")
        import importlib

        module = "_binary" if name in _BINARY else "_run" if name in _RUN else "_report"
        value = getattr(importlib.import_module(f"preheat.{module}"), name)
        globals()[name] = value
        return value


def _version() -> str:
    """The version of the installed package, or of the program if it is not installed."""
    from importlib import metadata

    try:
        return metadata.version("preheat")
    except metadata.PackageNotFoundError:
        import subprocess

        from preheat._binary import binary

        return subprocess.check_output([binary(), "--version"], text=True).split()[1]


def __dir__() -> "list[str]":
    return sorted(__all__)


def load_ipython_extension(shell: "Any") -> None:
    """Registers ``%%preheat``, for ``%load_ext preheat`` in a notebook."""
    from preheat import _notebook

    _notebook.register(shell)
