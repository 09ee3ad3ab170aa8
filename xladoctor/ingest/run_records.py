"""The records of a run directory, as types: what ``xladoctor run`` and the capture inside the
program write, checked once, as it is read.

``recording/manifest.py`` writes :class:`Manifest`; the modules of ``recording/bootstrap`` write the
others, with the standard library alone, since they run inside the program; what they write is held
against these types by a test. Fields that are not known are left alone: a newer capture may write
more.

Numbers are bounded by what they can be, so that sums of them fit the evidence tables.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Annotated, Any, TypeVar, Union

import msgspec
from msgspec import Meta, Struct

from xladoctor.facts.table import facts_in
from xladoctor.ingest.fact_decoder import decoded
from xladoctor.recording.bootstrap._xladoctor import facts
from xladoctor.recording.bootstrap._xladoctor.facts import Fact

_DURATION = 2**53  # ns: 104 days; clocks may step back a little
_INSTANT = 2**62  # ns since 1970: the year 2116
_COUNT = 2**53

Duration = Annotated[int, Meta(ge=-_DURATION, le=_DURATION)]
Instant = Annotated[int, Meta(ge=0, le=_INSTANT)]
Count = Annotated[int, Meta(ge=-_COUNT, le=_COUNT)]
Size = Annotated[int, Meta(ge=0, le=_COUNT)]
Number = Annotated[int, Meta(ge=0, le=2**31 - 1)]  # of a line, a step, a site
Identity = Annotated[int, Meta(ge=-(2**31), le=2**62)]  # of a process, a thread
Loop = tuple[str, Number, Number, str]  # file, first and last line, function


class Record(Struct, frozen=True):
    """A record; fields without a default have to be there."""


# -- run.json ------------------------------------------------------------------------------------


class Ended(Record, frozen=True):
    """How the program ended."""

    seconds: Annotated[float, Meta(ge=0, le=1e9)]
    status: Annotated[int, Meta(ge=-(2**31), le=2**31)] | None = None
    signal: Annotated[int, Meta(ge=0, le=2**31)] | None = None
    timeout_s: Annotated[float, Meta(ge=0, le=1e9)] | None = None


class WrittenBy(Record, frozen=True):
    """What wrote the run directory."""

    name: str
    version: str


class Profile(Record, frozen=True):
    """What came of one profiler server: a file, or where it was left, or why there is none."""

    address: str
    file: str
    left_at: str | None
    missing: str | None


class Manifest(Record, frozen=True, kw_only=True, omit_defaults=True):
    """``run.json``: what was asked, what was run, and how it ended.

    Attributes:
        files: sizes in bytes when the run ended, by their paths in the run directory.
        part_of: the run directory of the command, which ran several programs.
    """

    command: list[str]
    schema_version: Number = 1
    kind: str = "run"
    tool: WrittenBy | None = None
    script: str | None = None
    cwd: str | None = None
    root: str | None = None
    session: str | None = None
    began_ns: Instant | None = None
    options: dict[str, Any] = {}
    ended: Ended | None = None
    files: dict[str, Size] = {}
    part_of: str | None = None


class RemoteManifest(Record, frozen=True, kw_only=True, omit_defaults=True):
    """``run.json`` of ``xladoctor capture``: what came of each server."""

    kind: str
    profiles: tuple[Profile, ...]
    schema_version: Number = 1
    tool: WrittenBy | None = None
    session: str | None = None
    began_ns: Instant | None = None
    duration_ms: Size | None = None
    files: dict[str, Size] = {}


class SourceLine(Record, frozen=True):
    """A row of ``sources.json``: a line's text, read while the file was as it ran."""

    file: str
    line: Number
    text: str


# -- process.json --------------------------------------------------------------------------------


class Window(Record, frozen=True):
    """A period that the profiler recorded; those of the program itself have ``of_program``.

    Attributes:
        jumped_ns: how far the system's clock was set meanwhile.
    """

    begin_ns: Instant
    steps: Size = 0
    end_ns: Instant | None = None
    ended_by: str | None = None
    bytes: Size | None = None
    stop_ns: Duration | None = None
    write_ns: Duration | None = None
    session: str | None = None
    file: str | None = None
    of_program: bool = False
    jumped_ns: Annotated[int, Meta(ge=-_INSTANT, le=_INSTANT)] = 0


class ModulesFile(Record, frozen=True):
    """A file with compiled modules, and how many compilations there had been by then.

    Attributes:
        numbered: whether the number of a module is that of its compilation.
    """

    file: str
    compilations: Size
    bytes: Size | None = None
    stop_ns: Duration | None = None
    numbered: bool = False


class PythonFolders(Record, frozen=True):
    """Where the program's Python keeps its own modules and installed packages."""

    standard: tuple[str, ...]
    installed: tuple[str, ...]


class ProcessRecord(Record, frozen=True):
    """``process.json``: what a captured process says about itself.

    Attributes:
        files: sizes in bytes of its files when it ended, by their paths in the run directory.
        missing: hooks of the capture that its framework has no place for, each with the reason.
    """

    pid: Identity
    frontend: str
    versions: dict[str, str]
    used_device: bool
    folders: PythonFolders
    settings: dict[str, str]
    settings_lines: dict[str, tuple[str, Number, str]]
    devices: tuple[str, ...]
    ended: bool
    began_ns: Instant
    ended_ns: Instant
    no_analysis_log: str | None = None
    parent: Identity | None = None
    rank: Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)] | None = None
    host: str | None = None
    cwd: str | None = None
    main: str | None = None
    argv: tuple[str, ...] = ()
    processors: Number | None = None
    accelerators: tuple[str, ...] | None = None
    exit_ns: Instant | None = None
    uncaught: str | None = None
    windows: tuple[Window, ...] = ()
    modules: tuple[ModulesFile, ...] = ()
    modules_too_large: bool = False
    files: dict[str, Size] = {}
    missing: dict[str, str] = {}


# -- call_sites.json, host_samples.json ------------------------------------------------------------


class Site(Record, frozen=True):
    """A call site; the lines of the program around it; the loops, from inside out."""

    file: str | None
    line: Number | None
    function: str | None
    user_file: str | None
    user_line: Number | None
    user_function: str | None
    via: str
    source: str = ""
    loops: tuple[Loop, ...] = ()


class Fallback(Record, frozen=True):
    """An operator that ran on the CPU at a call site."""

    op: str
    site: Number | None
    count: Size
    duration_ns: Duration
    compile_ns: Duration


class Ignore(Record, frozen=True):
    """A comment that asks to ignore findings of the lines from ``first`` to ``last``."""

    file: str
    line: Number
    first: Number
    last: Number
    text: str


#: Site, how often it launched, the work (operations and bytes) of its heaviest graph, and how many
#: steps ended with it.
Launches = tuple[Number | None, Size, Annotated[float, Meta(ge=0)], Size]


class CallSitesFile(Record, frozen=True):
    """``call_sites.json``.

    Attributes:
        passing: file, line, and whether it only passes a call on.
        launches: of frameworks without barriers.
        beside: sites of single operations, with which steps ended until a loop was found that
            launches functions of the program.
        operations: sites that launched nothing but single operations of the framework; None if
            that is unknown.
        origins: per site, reads whose producing launch is known, and how many of them came after
            the same line had launched again.
        parts: compiled parts of functions that calls at a site ran; None where functions are
            compiled whole.
    """

    sites: tuple[Site, ...]
    fallbacks: tuple[Fallback, ...]
    passing: tuple[tuple[str, Number, bool], ...] = ()
    launches: tuple[Launches, ...] = ()
    beside: tuple[Number | None, ...] = ()
    operations: tuple[Number | None, ...] | None = None
    origins: tuple[tuple[Number | None, Size, Size], ...] = ()
    ignores: tuple[Ignore, ...] = ()
    parts: tuple[tuple[Number | None, Size], ...] | None = None


class Sample(Record, frozen=True):
    """How often a thread was seen doing something at a call site."""

    thread: Identity
    main: bool
    doing: str | None
    in_framework: bool
    site: Number | None
    count: Size
    phase: str = "loop"
    generator: bool = False


class HostSamplesFile(Record, frozen=True):
    """``host_samples.json``."""

    samples: tuple[Sample, ...]
    period_ms: Number = 10


#: A line of ``processor.jsonl``: thread, instant, ns on a processor, ns in its queue.
ProcessorUse = tuple[
    Identity, Instant, Annotated[int, Meta(ge=0, le=2**62)], Annotated[int, Meta(ge=0, le=2**62)]
]


# -- steps.jsonl -----------------------------------------------------------------------------------


class Part(Struct, frozen=True, tag_field="event", kw_only=True):
    """What a thread did from one barrier or launch to the next; what is zero is left out.

    Attributes:
        reads: site, kind, whether in a step closure, count, ns, ns of compiling in them.
        uploads: site, count, bytes, ns.
        saves: site, count, ns.
        optimizers: number of each that stepped, and how often.
        input: batches waited for, and ns.
        counters: what the framework's counters grew by; ``fallbacks``: those of operators.
    """

    thread: Identity | None
    index: Number
    end_ns: Instant
    duration_ns: Duration
    main: bool = False
    site: Number | None = None
    steps: Size = 0
    barrier_ns: Duration = 0
    compile_ns: Duration = 0
    capture_ns: Duration = 0
    executions: Size = 0
    compilations: Size = 0
    launches: Size = 0
    log: Size = 0
    traced: bool = False
    probed: bool = False
    reads: tuple[tuple[Number | None, str, int, Size, Duration, Duration], ...] = ()
    uploads: tuple[tuple[Number | None, Size, Size, Duration], ...] = ()
    saves: tuple[tuple[Number | None, Size, Duration], ...] = ()
    optimizers: tuple[tuple[Size, Size], ...] = ()
    input: tuple[Size, Duration] = (0, 0)
    counters: dict[str, Count] = {}
    fallbacks: dict[str, Count] = {}


class Step(Part, frozen=True, tag="step"):
    """It ended in a barrier."""


class Tail(Part, frozen=True, tag="tail"):
    """The program ended in it."""


class Cut(Part, frozen=True, tag="cut"):
    """It ended in a read that launched work, in a program without barriers."""


#: A line of the step log.
StepLine = Step | Tail | Cut | Fact
_STEP_LINE: Any = Union[(Step, Tail, Cut, *map(decoded, facts_in(facts)))]
#: Every file of records by the pattern of its name, with the type of the file or of a line of it.
FILES: dict[str, Any] = {
    "run.json": Manifest,
    "sources.json": tuple[SourceLine, ...],
    "process-*/process.json": ProcessRecord,
    "process-*/call_sites.json": CallSitesFile,
    "process-*/host_samples.json": HostSamplesFile,
    "process-*/processor.jsonl": ProcessorUse,
    "process-*/steps.jsonl": _STEP_LINE,
}

_T = TypeVar("_T")


class DamagedRecord(ValueError):  # noqa: N818 - says what the record is
    """A record that is not of its type; the message says where in it."""


#: What decoding a damaged record raises.
UNREADABLE = (msgspec.MsgspecError, RecursionError, ValueError)


def read_record(text: str, kind: type[_T]) -> _T:
    """Check a file of one record. Raises DamagedRecord.

    The standard library decodes it: paths that are not UTF-8 are lone surrogates in JSON, which
    msgspec refuses.
    """
    return _checked(text, lambda _: kind)


def read_manifest(text: str) -> Manifest | RemoteManifest:
    """Check ``run.json``, whichever it is. Raises DamagedRecord."""

    def kind(value: Any) -> type[Manifest | RemoteManifest]:
        remote = isinstance(value, dict) and value.get("kind") == "remote"
        return RemoteManifest if remote else Manifest

    return _checked(text, kind)


def _checked(text: str, kind_of: Callable[[Any], type[_T]]) -> _T:
    try:
        value = json.loads(text)
        return msgspec.convert(value, kind_of(value))
    except UNREADABLE as error:
        raise DamagedRecord(_reason(error)) from error


def step_line_decoder() -> Callable[[str], StepLine]:
    """Decodes and checks the lines of a step log, as :func:`line_decoder` does."""
    return line_decoder(_STEP_LINE)


def line_decoder(kind: Any) -> Callable[[str], Any]:
    """Decodes and checks the lines of a file, some 400,000 a second. It raises DamagedRecord."""
    decode = msgspec.json.Decoder(kind).decode

    def read(line: str) -> Any:
        try:
            return decode(line)
        except UNREADABLE as error:
            raise DamagedRecord(_reason(error)) from error

    return read


def _reason(error: BaseException) -> str:
    return "nested too deep" if isinstance(error, RecursionError) else str(error)


def schema() -> dict[str, Any]:
    """The JSON Schema of all files: the definition of each, or of its lines, under its name."""
    kinds = list(FILES.values())
    roots, definitions = msgspec.json.schema_components(kinds, ref_template="#/$defs/{name}")
    files = {pattern.rpartition("/")[2]: root for pattern, root in zip(FILES, roots, strict=True)}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "The records of a run directory of xladoctor",
        "description": "Under files: each file by its name; of .jsonl, each line.",
        "files": files,
        "$defs": definitions,
    }
