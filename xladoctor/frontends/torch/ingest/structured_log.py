"""Reads the structured log that Dynamo writes to the folder in ``TORCH_TRACE``.

Each record is a line: a head in the style of glog, then a JSON object. Its payload, if it has one,
follows on lines that begin with a tab. File names are numbers, defined by earlier records. Of the
many kinds of records, only those about a compilation are read: what requested it and why, how long
it took, and where the graph broke.
"""

from __future__ import annotations

import io
import json
import re
from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

from xladoctor.facts.graphs import UNNAMED
from xladoctor.frontends.torch.ingest.failed_guards import FailedGuards, used_at
from xladoctor.frontends.torch.ingest.structured_records import TABLES, records
from xladoctor.frontends.torch.ingest.text_records import Break, Limit
from xladoctor.ingest.compiled_calls import Calls
from xladoctor.ingest.compiler_log import compilation, key_change
from xladoctor.ingest.compressed import Unpacked
from xladoctor.ingest.formats import UNREADABLE, LogRecord, all_formats
from xladoctor.ingest.frames import NOWHERE, TRACED, CallSite, Folders, Frame
from xladoctor.ingest.gathered import Gathered
from xladoctor.ingest.interface import IngestError, Notes
from xladoctor.recording.bootstrap._xladoctor.pytorch import breaks, guards
from xladoctor.recording.bootstrap._xladoctor.pytorch.listener import ABORTS, limit_in, phases_of

FRONTEND = "torch"
_BROKEN = re.compile(
    r"Graph break in user code at (.*):(\d+)\n(?:Graph Break )?Reason: (.*?)"
    r"(?=\nUser code traceback:|\Z)(?:\nUser code traceback:(.*))?",
    re.DOTALL,
)
_RESUMED = "torch_dynamo_resume_in_"
_CACHE = {"fx_graph_cache_hit": True, "fx_graph_cache_miss": False}
#: Functions of Dynamo that call a compiled function of another file for the first time.
_ENTRY = ("compile_wrapper", "_fn")
_MOST_OF_FAILURE = 200
_LONGEST = 5_000  # characters of a guard
_MOST_NS = 2**62
_MOST_LINES = 2**31 - 1


def _ns(microseconds: Any) -> int:
    return max(0, min(int(microseconds or 0) * 1000, _MOST_NS))


def _line(number: Any) -> int:
    return max(0, min(int(number), _MOST_LINES))


def _dynamic(metrics: dict[str, Any]) -> bool | None:
    """Whether the settings make changed sizes dynamic; None if unknown."""
    settings = json.loads(metrics.get("dynamo_config") or "{}")
    value = settings.get("automatic_dynamic_shapes")
    return value if isinstance(value, bool) else None


def _reasons(payload: str) -> list[str]:
    """The guards that failed; since torch 2.13 a single one is not in a list."""
    try:
        reasons = json.loads(payload or "[]")
    except ValueError:
        reasons = payload
    listed = [reasons] if isinstance(reasons, str) else reasons
    return [str(reason)[:_LONGEST] for reason in listed]


def read_structured_log(file: Path, calls: Calls, noted: Notes) -> tuple[Gathered, str | None]:
    """The tables of compilations, of what was new in them, and of graph breaks.

    If there is a timeline of the process, compilations are placed in its steps.

    Args:
        file: the log, compressed or not.
        calls: those in a timeline of the process.

    Returns:
        the tables, and the name of the frontend of the backend that has records in it, if there is
        one.

    Raises:
        IngestError: the file cannot be read.
    """
    reader = _Reader()
    backends = [each.records() for each in all_formats() if each.records is not None]
    try:
        with io.TextIOWrapper(io.BufferedReader(Unpacked(file)), errors="replace") as lines:
            for record in records(lines, file, noted):
                try:
                    if not any(backend.take(record) for backend in backends):
                        reader.take(record)
                except UNREADABLE as error:
                    noted.lose(
                        f"{file}: a record of compilation {record.id}"
                        f" is not one that PyTorch writes ({error!r}); skipped",
                        *TABLES,
                    )
    except (OSError, EOFError) as error:
        raise IngestError(f"{file}: cannot be read: {error}") from error
    if reader.failures:
        count = len(reader.failures)
        first = reader.failures[0]
        failure = f"{first[:_MOST_OF_FAILURE]}…" if len(first) > _MOST_OF_FAILURE else first
        noted.notes.append(
            f"{file}: {count} compilation{'s' * (count > 1)} failed, the first {failure}"
        )
    made = reader.finish(calls)
    for backend in backends:
        compiled = len(made.table("compilation").get("index", ()))
        backend.finish(file, compiled, calls, made, noted)
    return made, next((backend.frontend for backend in backends if backend.frontend), None)


class _Reader:
    """Collects the records of each compilation until its last one."""

    def __init__(self) -> None:
        self._rows = Gathered()
        for table in TABLES:
            self._rows.table(table)
        self._folders = Folders.elsewhere(FRONTEND)
        self._files: dict[int, str] = {}
        self._sites: dict[str, CallSite] = {}
        self._failed = FailedGuards()
        self._cached: dict[str, bool] = {}
        self._names: dict[str, str] = {}  # names of functions, by frame
        self._numbers: dict[str, int] = {}
        self._of_frame: defaultdict[str, set[str]] = defaultdict(set)  # the ids of its compilations
        self._at: dict[tuple[CallSite, str], int] = {}  # site and repetition -> row
        self._versions: dict[tuple[str, str, str], int] = {}  # file, function and repetition
        self._of_site: Counter[CallSite] = Counter()
        self._compilations: list[dict[str, Any]] = []
        self._defined: list[str] = []  # the files that define the functions
        self._breaks: dict[tuple[str, int, str], Break] = {}
        self.failures: list[str] = []

    def take(self, record: LogRecord) -> None:
        fields = record.fields
        if "str" in fields:
            name, number = fields["str"]
            self._files[int(number)] = str(name)
        elif "dynamo_start" in fields:
            self._sites[record.id] = self._site(fields["dynamo_start"].get("stack") or [])
        elif record.artifact == "recompile_reasons":
            self._failed.add(record.id, _reasons(record.payload))
        elif record.artifact == "dynamo_graph_break_reason":
            self._break(record)
        elif record.artifact in _CACHE:
            hit = _CACHE[record.artifact]
            self._cached[record.id] = self._cached.get(record.id, True) and hit
        elif "compilation_metrics" in fields:
            self._ended(record.id, fields["compilation_metrics"])
        elif "bwd_compilation_metrics" in fields:
            self._spent(self._numbers.get(record.id), fields["bwd_compilation_metrics"])

    def _site(self, stack: list[dict[str, Any]]) -> CallSite:
        """The line that called the outermost compiled function."""
        frames = [
            Frame(self._files.get(frame["filename"], "?"), _line(frame["line"]), str(frame["name"]))
            for frame in stack
        ]
        entries = (
            number
            for number, frame in enumerate(frames)
            if frame.function in _ENTRY and self._folders.is_machinery(frame.file)
        )
        site = self._folders.locate(reversed(frames[: next(entries, None)]))
        return replace(site, via="")

    def _ended(self, of: str, metrics: dict[str, Any]) -> None:
        frame, _, again = of.partition("/")
        failed = str(metrics.get("fail_reason") or "")
        if limit := limit_in(str(metrics.get("fail_type")), failed):
            self._limit(of, limit, metrics)
            return
        if metrics.get("co_name") is None or metrics.get("fail_type"):
            if kind := metrics.get("fail_type"):
                name = metrics.get("co_name") or UNNAMED
                self.failures.append(f"{of}, {name}: {' '.join(failed.split()) or kind}")
            self._spent(None, metrics)
            return
        name = str(metrics["co_name"])
        self._names[frame] = breaks.function_name(name)
        site = self._sites.get(of, NOWHERE)
        row = self._at.get((site, again))
        file = str(metrics.get("co_filename") or "")
        if row is None and (resumed := breaks.resumed(name)):
            row = self._versions.get((file, resumed, again))
        self._of_frame[frame].add(of)
        if name.startswith(_RESUMED) and row is not None:
            self._numbers[of] = row
            self._spent(row, metrics)
            return
        number = self._numbers[of] = self._at[site, again] = len(self._compilations)
        self._versions[file, name, again] = number
        self._defined.append(file)
        ended = _ns(metrics.get("end_time_us"))
        columns = {"compile_id": of, "end_ns": ended or None, "duration_ns": 0}
        columns["cached"] = self._cached.get(of)
        made = compilation(number, self._names[frame], self._of_site[site], site, **columns)
        self._compilations.append(made)
        self._of_site[site] += 1
        self._spent(number, metrics)

    def _changed(self, of: str, number: int) -> None:
        if reason := self._failed.reason(of):
            against = self._numbers.get(guards.compared_with(reason) or "")
            if against is not None and against != number:
                used = self._used(reason, number)
                change, hint = self._failed.change(reason, of), guards.hint(reason)
                row = key_change(number, against, change, used, "used", hint=hint)
                self._rows.add_row("key_change", row)

    def _used(self, reason: str, number: int) -> CallSite:
        """The line that needs the guard."""
        return used_at(reason, [self._defined[number], *self._files.values()], self._folders)

    def _spent(self, number: int | None, metrics: dict[str, Any]) -> None:
        spent = _ns(metrics.get("duration_us"))
        if number is not None:
            row = self._compilations[number]
            row["duration_ns"] = min(row["duration_ns"] + spent, _MOST_NS)
        for phase, nanoseconds in phases_of(metrics, spent).items():
            took = min(nanoseconds, _MOST_NS)
            self._rows.add("compile_phase", compilation=number, phase=phase, duration_ns=took)

    def _break(self, record: LogRecord) -> None:
        match = _BROKEN.search(record.payload)
        if match is None:
            return
        file, line, text, traced = match[1], _line(match[2]), match[3], match[4]
        if breaks.asked_for(text) and self._folders.is_machinery(file):
            return  # the framework's own code requests the break
        why, hint = breaks.reason(text)
        stack = [
            Frame(at[1], int(at[2]), at[3])
            for frame in (traced or "").split("\n")
            if (at := TRACED.match(frame))
        ]
        own = (frame.function for frame in reversed(stack) if frame[:2] == (file, line))
        within = next(own, None)
        site = self._folders.locate([Frame(file, line, within or "?"), *reversed(stack)])
        found = self._breaks.get((file, line, why), Break(record.id, None, site, why, hint))
        self._breaks[file, line, why] = replace(found, function=found.function or within)

    def _limit(self, of: str, name: str, metrics: dict[str, Any]) -> None:
        reason = self._failed.reason(of) or ""
        change = self._failed.change(reason)
        frame = of.partition("/")[0]
        at = self._numbers.get(f"{frame}/0")
        used = NOWHERE if at is None else self._used(reason, at)
        called_at = {} if at is None else self._compilations[at]
        count = len(self._of_frame[frame])
        limit = Limit(name, count or None, reason, metrics.get("fail_type") == ABORTS)
        row = limit.row(self._names.get(frame), count, change, used, dynamic=_dynamic(metrics))
        site = {name: called_at.get(name) for name in NOWHERE.columns()}
        self._rows.add_row("compile_limit", {**row, **site})

    def finish(self, calls: Calls) -> Gathered:
        """The tables, after the last record; ``calls``: calls in a timeline of the process."""
        rows = self._rows
        for number, row in enumerate(self._compilations):
            rows.add("compilation", **{**row, **calls.place(row)})
            self._changed(row["compile_id"], number)
        for found in self._breaks.values():
            compiled = self._names.get(found.frame) or found.function
            whole = found.frame not in self._names
            rows.add_row("graph_break", found.row(compiled, whole))
        return rows
