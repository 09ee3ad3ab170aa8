"""The records of a run directory, as types: what ``xladoctor run`` and the capture inside the
program write, checked once, as it is read.

``recording/manifest.py`` writes :class:`Manifest`; the modules of ``recording/bootstrap`` write the
others, with the standard library alone, since they run inside the program; what they write is held
against these types by a test. Fields that are not known are left alone: a newer capture may write
more.

Numbers are bounded by what they can be, so that sums of them fit the evidence tables.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, TypeVar, Union

import msgspec
from msgspec import Meta, Struct

from xladoctor.facts.graphs import SourceLine
from xladoctor.facts.recorded import RECORDED
from xladoctor.facts.records import CallSitesFile, HostSamplesFile, TpuCheckFile
from xladoctor.facts.run import Process, TriedPatch
from xladoctor.facts.steps import CutStep, ProcessorUse, Step, Tail
from xladoctor.ingest.fact_decoder import decoded
from xladoctor.ingest.interface import Notes
from xladoctor.ingest.regular import defect, read_text
from xladoctor.recording.bootstrap._xladoctor.facts import Fact

Instant = Annotated[int, Meta(ge=0, le=2**62)]  # ns since 1970: the year 2116
Size = Annotated[int, Meta(ge=0, le=2**53)]
Number = Annotated[int, Meta(ge=0, le=2**31 - 1)]


class Record(Struct, frozen=True):
    """A record; fields without a default have to be there."""


# -- run.json ------------------------------------------------------------------------------------


class Ended(Record, frozen=True):
    """How the program ended."""

    seconds: Annotated[float, Meta(ge=0, le=1e9)]
    status: Annotated[int, Meta(ge=-(2**31), le=2**31)] | None = None
    signal: Annotated[int, Meta(ge=0, le=2**31)] | None = None
    timeout_s: Annotated[float, Meta(ge=0, le=1e9)] | None = None
    stop_after_s: Annotated[float, Meta(ge=0, le=1e9)] | None = None

    @property
    def stopped_by(self) -> str | None:
        """The option that ended the program."""
        if self.timeout_s:
            return "--timeout"
        return "--stop-after" if self.stop_after_s else None


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
        host: the machine.
        pid: process id of the command there.
        job: the scheduler's name of the job.
        files: sizes in bytes when the run ended, by their paths in the run directory.
        crc32: checksums then, of the files whose process had ended.
        own_crc32: checksum of this record without this field, as JSON with sorted keys.
        part_of: the run directory of the command, which ran several programs.
    """

    command: list[str]
    schema_version: Number = 1
    kind: str = "run"
    tool: WrittenBy | None = None
    host: str | None = None
    pid: Number | None = None
    job: str | None = None
    script: str | None = None
    cwd: str | None = None
    root: str | None = None
    session: str | None = None
    began_ns: Instant | None = None
    options: dict[str, Any] = {}
    ended: Ended | None = None
    files: dict[str, Size] = {}
    crc32: dict[str, Size] = {}
    own_crc32: Size | None = None
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
    crc32: dict[str, Size] = {}
    own_crc32: Size | None = None


_LINES: tuple[type[Fact], ...] = (Step, Tail, CutStep, *RECORDED)
_STEP_LINE: Any = Union[tuple(map(decoded, _LINES))]  # noqa: UP007 - of types made here
#: Every file of records by the pattern of its name, with the type of the file or of a line of it.
FILES: dict[str, Any] = {
    "run.json": Manifest,
    "sources.json": tuple[decoded(SourceLine), ...],  # type: ignore[misc]
    "fixes.json": tuple[decoded(TriedPatch), ...],  # type: ignore[misc]
    "tpu-check.json": decoded(TpuCheckFile),
    "process-*/process.json": decoded(Process),
    "process-*/call_sites.json": decoded(CallSitesFile),
    "process-*/host_samples.json": decoded(HostSamplesFile),
    "process-*/processor.jsonl": decoded(ProcessorUse),
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


def kept_record(path: Path, kind: type[_T], noted: Notes, loss: str, *tables: str) -> _T | None:
    """A file of one record; None without it, and with a note of the loss if it cannot be read.

    Args:
        loss: what is missing then.
        tables: the tables that lack rows.
    """
    try:
        return read_record(read_text(path), kind)
    except FileNotFoundError:
        return None
    except (OSError, UnicodeError, DamagedRecord) as error:
        noted.lose(f"{path}: cannot be read ({defect(error)}); {loss}", *tables)
        return None


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


def step_line_decoder() -> Callable[[str], Fact]:
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
    for definition in definitions.values():
        if text := definition.get("description"):
            # msgspec removes a docstring's indentation since 0.23 only.
            definition["description"] = inspect.cleandoc(text)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "The records of a run directory of xladoctor",
        "description": "Under files: each file by its name; of .jsonl, each line.",
        "files": files,
        "$defs": definitions,
    }
