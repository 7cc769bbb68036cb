"""The results of `preheat run`, typed.

The fields are those of the document ``preheat.run/2`` (docs/run-json.md): seconds, bytes and
bare ratios. Names that Python reserves have an underscore: ``class_``, ``from_``. Unknown values
are ``None``. Fields that a later version adds are kept in ``Report.document`` only.
"""

import json
import os
import typing
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, Mapping, Optional, Tuple, Type, TypeVar, Union

SCHEMA = "preheat.run/2"
_OLDER = "preheat.run/1"

#: The names of all causes.
CAUSES = (
    "process start",
    "library loading",
    "Python imports",
    "bytecode compilation",
    "driver init",
    "context creation",
    "kernel loading",
    "kernel compilation",
    "library set-up",
    "device allocation",
    "pinned allocation",
    "host-to-device copy",
    "device-to-host copy",
    "collective set-up",
    "graph capture",
    "GPU restore",
    "waiting for the device",
    "steady work",
    "program's own CPU time",
    "idle",
    "unexplained",
)

_T = TypeVar("_T")


@dataclass(frozen=True)
class Interval:
    """An estimate with its 95 % interval, whose ends are ``None`` with too few starts."""

    estimate: float
    low: Optional[float] = None
    high: Optional[float] = None

    def __float__(self) -> float:
        return self.estimate


@dataclass(frozen=True)
class Machine:
    """The machine that recorded."""

    os: str
    kernel: str
    cpu: str
    cores: int
    memory: int


@dataclass(frozen=True)
class Settings:
    """The settings with which the command was run."""

    iterations: str
    starts: int
    seed: int
    limit: int
    synchronize: bool
    ended_early: Optional[str] = None
    ended_with: Optional[int] = None


@dataclass(frozen=True)
class Origin:
    """The origin of an item; its ``kind`` determines which fields it has."""

    kind: str
    module: Optional[str] = None
    line: Optional[str] = None
    package: Optional[str] = None
    name: Optional[str] = None
    compiler: Optional[str] = None


@dataclass(frozen=True)
class Item:
    """A module, library, kernel or call behind a cause."""

    name: str
    detail: str
    seconds: float
    inclusive: float
    count: int
    bytes: Optional[int] = None
    waiting: Optional[float] = None
    origin: Optional[Origin] = None


@dataclass(frozen=True)
class Function:
    """A sampled function of the program's own CPU time."""

    function: str
    seconds: float
    share: float
    samples: int
    file: Optional[str] = None
    line: Optional[int] = None
    library: Optional[str] = None
    symbol: Optional[str] = None


@dataclass(frozen=True)
class Cause:
    """A cause on the path to the end of the first iteration."""

    cause: str
    seconds: float
    share: float
    device_bytes: Optional[int] = None
    items: Tuple[Item, ...] = ()
    items_in_all: int = 0
    functions: Tuple[Function, ...] = ()


@dataclass(frozen=True)
class CauseSeconds:
    """A cause and how long it took."""

    cause: str
    seconds: float


@dataclass(frozen=True)
class Around:
    """The time of a region before and after the first iteration that it contains."""

    seconds: float
    causes: Tuple[CauseSeconds, ...]


@dataclass(frozen=True)
class Repeats:
    """The earlier region with the same code."""

    first: str
    position: int
    ratio: Optional[Interval] = None


@dataclass(frozen=True)
class Unfinished:
    """Device work that a region did not wait for."""

    launches: int
    seconds: Optional[float] = None
    then: Optional[str] = None


@dataclass(frozen=True)
class Region:
    """A region that the program times itself."""

    name: str
    count: int
    first: Interval
    second: Optional[Interval] = None
    best: Optional[Interval] = None
    ratio: Optional[Interval] = None
    causes: Tuple[CauseSeconds, ...] = ()
    file: Optional[str] = None
    function: Optional[str] = None
    clock: Optional[str] = None
    from_: Optional[int] = None
    to: Optional[int] = None
    second_causes: Tuple[CauseSeconds, ...] = ()
    unfinished: Optional[Unfinished] = None
    around: Optional[Around] = None
    repeats: Optional[Repeats] = None
    helper: Optional[str] = None
    iterates: bool = False
    paired_by_order: bool = False
    firsts: Tuple[Optional[float], ...] = ()
    code: Optional[int] = None


@dataclass(frozen=True)
class Mark:
    """A moment that the program marks with `preheat.mark`."""

    name: str
    count: int
    #: Seconds from the start of the program to the first time it was reached.
    first: Interval


@dataclass(frozen=True)
class DeviceMemory:
    """Device memory after the first iteration; the parts add up to ``total``."""

    total: int
    context: int
    kernels: int
    used: int
    reserved: int
    workspaces: int
    other: int
    first_peak: int
    steady_peak: Optional[int] = None


@dataclass(frozen=True)
class HostItem:
    """A library, package or line of the program, and its memory."""

    name: str
    bytes: int


@dataclass(frozen=True)
class HostPart:
    """A part of host memory."""

    use: str
    bytes: int
    items: Tuple[HostItem, ...]
    items_in_all: int = 0


@dataclass(frozen=True)
class HostProcess:
    """A process and its memory."""

    process: int
    name: str
    bytes: int


@dataclass(frozen=True)
class HostBytes:
    """Host memory of all processes at one time; the parts add up to ``total``."""

    time: float
    total: int
    parts: Tuple[HostPart, ...]
    processes: Tuple[HostProcess, ...] = ()


@dataclass(frozen=True)
class HostMemory:
    """The use of host memory after the first iteration, and at the peak after that."""

    first: HostBytes
    peak: Optional[HostBytes] = None


@dataclass(frozen=True)
class Memory:
    """The uses of memory."""

    resident_peak: int
    pinned: int
    resident_first: Optional[int] = None
    device: Optional[DeviceMemory] = None
    host: Optional[HostMemory] = None


@dataclass(frozen=True)
class TemperatureResult:
    """The starts at one temperature."""

    temperature: str
    starts: int
    time_to_first: Interval
    first: Optional[float] = None
    causes: Tuple[CauseSeconds, ...] = ()


@dataclass(frozen=True)
class Later:
    """A saving beside the time to first."""

    of: str
    seconds: float
    after: int


@dataclass(frozen=True)
class Remedy:
    """A change that would remove a part of the cold start."""

    id: str
    title: str
    what: str
    saving: float
    assumption: str
    saving_bytes: Optional[int] = None
    causes: Tuple[str, ...] = ()
    later: Optional[Later] = None
    helps: bool = True


@dataclass(frozen=True)
class Evicted:
    """The files that were evicted from the page cache before a start, in bytes."""

    files: int
    cached: int
    left: int


@dataclass(frozen=True)
class Start:
    """One start of the command."""

    temperature: str
    first_start: bool
    exit_code: int
    wall: float
    peak_resident: int
    time_to_first: Optional[float] = None
    causes: Tuple[CauseSeconds, ...] = ()
    iterations: Tuple[float, ...] = ()
    peak_device: Optional[int] = None
    damaged: bool = False
    evicted: Optional[Evicted] = None


@dataclass(frozen=True)
class FirstBegin:
    """The evidence for the begin of the first iteration, if lines of output end iterations."""

    known: bool
    silent: int


@dataclass(frozen=True)
class Thread:
    """Another thread that iterates."""

    process: int
    name: str
    iterations: int
    time_to_first: float


@dataclass(frozen=True)
class Report:
    """The result of recording a command.

    >>> import preheat, sys
    >>> report = preheat.run([sys.executable, "-c", "import json"], starts=1)
    >>> report.time_to_first.estimate > report.seconds("Python imports") > 0
    True
    >>> report.seconds("kernel compilation")
    0.0
    """

    command: Tuple[str, ...]
    directory: str
    created: str
    machine: Machine
    settings: Settings
    iterations_by: str
    iteration: str
    time_to_first: Interval
    counted_starts: int
    causes: Tuple[Cause, ...]
    memory: Memory
    starts: Tuple[Start, ...]
    first: Optional[float] = None
    steady: Optional[float] = None
    ratio: Optional[Interval] = None
    class_: Optional[str] = None
    consistency: Optional[str] = None
    warmup: Optional[float] = None
    excess: Optional[float] = None
    second: Optional[Interval] = None
    best: Optional[Interval] = None
    first_excess: Tuple[CauseSeconds, ...] = ()
    regions: Tuple[Region, ...] = ()
    marks: Tuple[Mark, ...] = ()
    ladder: Tuple[TemperatureResult, ...] = ()
    remedies: Tuple[Remedy, ...] = ()
    notes: Tuple[str, ...] = ()
    #: The version of preheat that recorded.
    preheat: str = ""
    #: Variables that affect a cold start and were set, each with its value.
    environment: Tuple[Tuple[str, str], ...] = ()
    unit: Optional[str] = None
    first_to_second: Optional[Interval] = None
    second_excess: Tuple[CauseSeconds, ...] = ()
    first_begin: Optional[FirstBegin] = None
    other_threads: Tuple[Thread, ...] = ()
    #: The whole document, with every field.
    document: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)
    #: The directory of the recording; ``None`` if it was not kept.
    recording: Optional[str] = field(default=None, compare=False)
    #: The standard error of the first start, if `preheat.run` made this report.
    stderr: str = field(default="", repr=False, compare=False)

    @classmethod
    def from_json(cls, text: Union[str, bytes]) -> "Report":
        """Reads the document that ``preheat run --json`` writes."""
        try:
            document = json.loads(text)
        except ValueError as error:
            raise ValueError(f"expected a document {SCHEMA}, which is JSON: {error}") from None
        schema = document.get("schema") if isinstance(document, dict) else None
        if schema not in (SCHEMA, _OLDER):
            raise ValueError(f"expected a document {SCHEMA}, found {schema!r}")
        try:
            return _parse(cls, {**document, "document": document})
        except (TypeError, AttributeError) as error:
            raise ValueError(f"the document does not conform to {SCHEMA}: {error}") from None

    @classmethod
    def load(cls, path: "Union[str, os.PathLike[str]]") -> "Report":
        """Reads a file that ``preheat run --json`` wrote.

        A file that is not such a document raises `ValueError`.
        """
        with open(path, "rb") as file:
            text = file.read()
        try:
            return cls.from_json(text)
        except ValueError as error:
            raise ValueError(f"{os.fspath(path)}: {error}") from None

    def seconds(self, cause: str) -> float:
        """The seconds of a cause on the path to the first iteration; 0 if it did not occur.

        A name that is not a cause raises `ValueError`.
        """
        wanted = cause.casefold()
        found = [each.seconds for each in self.causes if each.cause.casefold() == wanted]
        names = {name.casefold(): name for name in CAUSES}
        if not found and wanted not in names:
            import difflib

            near = difflib.get_close_matches(wanted, names, n=1)
            meant = f"; did you mean `{names[near[0]]}`?" if near else ""
            raise ValueError(
                f"unknown cause `{cause}`{meant or '; expected one of ' + ', '.join(CAUSES)}"
            )
        return sum(found, 0.0)

    @property
    def exit_code(self) -> int:
        """The exit code of the first start that failed; 0 if none did."""
        return next((start.exit_code for start in self.starts if start.exit_code), 0)


def _parse(cls: Type[_T], values: Mapping[str, Any]) -> _T:
    """Makes an instance of a dataclass from the fields of a JSON object that it knows."""
    hints = typing.get_type_hints(cls)
    if cls is Interval and "median" in values:  # Its name in preheat.run/1.
        values = {**values, "estimate": values["median"]}
    found = {}
    for each in fields(cls):  # type: ignore[arg-type]
        name = each.name.rstrip("_")
        if name in values:
            found[each.name] = _convert(hints[each.name], values[name])
    return cls(**found)


def _convert(hint: Any, value: Any) -> Any:
    arguments = typing.get_args(hint)
    origin = typing.get_origin(hint)
    if value is None:
        return None
    if origin is Union:
        return _convert(next(each for each in arguments if each is not type(None)), value)
    if origin is tuple:
        return tuple(_convert(arguments[0], each) for each in value)
    if is_dataclass(hint) and isinstance(hint, type):
        return _parse(hint, value)
    return float(value) if hint is float else value
