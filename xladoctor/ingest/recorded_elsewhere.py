"""Reads evidence that xladoctor did not capture: timelines of other profilers, reports and logs.

XProf and TensorBoard use ``LOGDIR/plugins/profile/<session>/<host>.xplane.pb``. Each file of a
session belongs to one process, on any host. The wall time at which each profile started puts the
files of a session on one clock.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

from xladoctor.ingest.compilations import Timed, joined
from xladoctor.ingest.compiled_calls import counted_in_steps
from xladoctor.ingest.compressed import PACKED, head_of
from xladoctor.ingest.console_text import Text, read_text_file
from xladoctor.ingest.formats import compiler_file
from xladoctor.ingest.frames import Folders
from xladoctor.ingest.gathered import Gathered
from xladoctor.ingest.graph_log import GraphLog
from xladoctor.ingest.hlo.dump import add_dumped
from xladoctor.ingest.interface import Ingested, IngestError, Notes, ProcessRows, Progress
from xladoctor.ingest.recognition import (
    SUFFIX,
    ByKind,
    Kind,
    files_in,
    kind_of,
    named_after,
    newest_traces,
    rank_of,
    unreadable_traces,
)
from xladoctor.ingest.sessions import of_one_session
from xladoctor.ingest.text_reader import TextPart
from xladoctor.ingest.timeline.shown import Shown
from xladoctor.regular_files import files_below

#: The compilations in each timeline; None where it does not show them.
_Times = Sequence[Sequence[Timed] | None]
_EXPECTED = (
    "expected a run directory of `xladoctor run`, or timelines (.xplane.pb, or Chrome traces in"
    " .json files), metrics reports,"
    " analysis logs, console logs and dumps of graphs of one program"
)
_EXPECTED_TIMELINE = "expected a timeline with events: .xplane.pb, or a Chrome trace (.json)"


def read_elsewhere(
    paths: Sequence[Path], session: str | None = None, progress: Progress | None = None
) -> Ingested:
    """Read all evidence in these files and directories, as evidence of one program.

    Args:
        session: the session of timelines to read; by default the newest.
        progress: receives how far large files have been read.

    Raises:
        IngestError: nothing can be read, or a file has no supported format.
    """
    ingested, processes = Ingested(), _Processes()
    held: ByKind = {kind: [] for kind in Kind}
    texts: list[Text] = []
    for path in paths:
        texts += _sort(path, session, held, ingested)
    traces = held[Kind.TRACE] if not held[Kind.TIMELINE] else []
    timelines = [*held[Kind.TIMELINE], *traces]
    read = [
        _read(file, file in traces, processes, ingested.of(number), progress)
        for number, file in enumerate(timelines)
    ]
    nothing_else = not (texts or held[Kind.MODULE] or held[Kind.COMPILER])
    if timelines and not processes and nothing_else:
        raise IngestError(ingested.notes, _EXPECTED_TIMELINE)
    if not timelines and nothing_else:
        why = ": its logs are empty" if any(map(_only_empty_logs, paths)) else ""
        named = ", ".join(map(str, paths))
        raise IngestError(f"{named}: nothing in it that can be read{why}", _EXPECTED)
    _add_texts(texts, read, processes, ingested)
    logged = _add_compilers_logs(held[Kind.COMPILER], read, processes, ingested)
    for number, each in enumerate(read):
        if each.phases and number not in logged:
            counted_in_steps(each.phases, each.log)
            each.phases.move(ingested.of(number))
        each.log.move(ingested.of(number))
    _add_modules(held[Kind.MODULE], ingested)
    _add_processes(processes, ingested)
    return ingested


def texts_alone(texts: Sequence[Text]) -> Ingested:
    """All evidence in these texts, as evidence of one program."""
    ingested, processes = Ingested(), _Processes()
    _add_texts(texts, (), processes, ingested)
    _add_processes(processes, ingested)
    return ingested


def _sort(path: Path, session: str | None, held: ByKind, noted: Notes) -> Iterator[Text]:
    """Add a path's files to ``held`` by kind, and read the texts.

    A text that the user named must contain evidence; in a directory, others are skipped.
    """
    if path.is_file():
        try:
            kind = kind_of(path)
        except OSError as error:
            raise IngestError(f"{path}: cannot be read: {error.strerror or error}") from error
        held[kind].append(path)
        if kind is Kind.TEXT:
            yield read_text_file(path)
        return
    below = files_in(path)
    held[Kind.TIMELINE] += of_one_session(path, below[Kind.TIMELINE], session, noted)
    for kind in (Kind.MODULE, Kind.COMPILER):
        held[kind] += below[kind]
    held[Kind.TRACE] += newest_traces(below[Kind.TRACE], noted)
    noted.notes.extend(
        f"{file}: no Chrome trace, or cut off before its events; left out"
        for file in unreadable_traces(path, below[Kind.TRACE])
    )
    for file in below[Kind.TEXT]:
        with suppress(IngestError):  # an unrelated file in the directory
            yield read_text_file(file)


def _add_compilers_logs(
    files: list[Path], timelines: Sequence[Shown], processes: _Processes, ingested: Ingested
) -> set[int]:
    """Add compilers' logs, each to the process of the one timeline with its rank or process id.

    Returns:
        the processes that have logs.
    """
    logged: set[int] = set()
    origins: dict[int, _Origin] = {
        number: (row["pid"], row["rank"]) for number, row in processes.items()
    }
    others = count(len(timelines))
    for file in files:
        known = compiler_file(head_of(file))
        if known is None:  # the file has changed since it was recognised
            continue
        origin = known.process_id(file), rank_of(file)
        number = _whose(origin, origins, len(timelines) == len(files) == 1)
        if number is None:
            number = next(others)
            processes.setdefault(number, _process(known.frontend, *origin))
            if timelines:
                ingested.notes.append(f"{file}: {_no_timeline(origin)}; taken as another process")
        origins.pop(number, None)
        logged.add(number)
        shown = _shown(number, timelines)
        made, frontend = known.read(file, shown.calls, ingested)
        counted_in_steps(made, shown.log)
        made.move(ingested.of(number))
        if frontend:
            processes[number]["frontend"] = frontend
    return logged


#: Rows of ``process``, by number.
_Processes = dict[int, dict[str, Any]]
#: A process's id and its rank; None if unknown.
_Origin = tuple[int | None, int | None]


def _whose(origin: _Origin, processes: dict[int, _Origin], alone: bool) -> int | None:
    """The process that a log belongs to; a single log belongs to a single timeline's process."""
    same: list[int] = []
    for number, other in processes.items():
        agree = [
            mine == its
            for mine, its in zip(origin, other, strict=True)
            if mine is not None and its is not None
        ]
        if all(agree) and (agree or alone):
            same.append(number)
    return same[0] if len(same) == 1 else None


def _no_timeline(origin: _Origin) -> str:
    named = [
        f"{what} {number}"
        for what, number in zip(("process", "rank"), origin, strict=True)
        if number is not None
    ]
    return f"no timeline is of its {', '.join(named)}" if named else "its process is unknown"


def _add_modules(modules: list[Path], ingested: Ingested) -> None:
    """Add modules that XLA dumped, if nothing else has compilations."""
    if not modules:
        return
    if any(ingested.tables.get("compilation", {}).values()):
        ingested.notes.append(
            f"{modules[0].parent}: {len(modules)} modules that XLA dumped; not"
            " used, as the other evidence has the compilations"
        )
        return
    process = len(ingested.tables.get("timeline", {}).get("process", ()))
    add_dumped(modules, ingested.of(0 if process <= 1 else process))


def _add_texts(
    texts: Sequence[Text], timelines: Sequence[Shown], processes: _Processes, ingested: Ingested
) -> None:
    """Add texts to the timelines of the same program.

    With one timeline, texts belong to its process, except for lines that name another. With several
    timelines it is unknown which they belong to, so they count as processes of their own. So does
    each further report of a process.

    Args:
        timelines: what each shows, by the number of its process.
    """
    times = [each.times for each in timelines]
    first = len(times) if len(times) > 1 else 0
    others = count(max(len(times), first + 1))
    numbers: dict[str, int] = {}  # numbers of processes, by their names in the texts
    logs: dict[int, list[GraphLog]] = {number: [] for number in range(len(times))}
    parts: list[tuple[list[TextPart], int]] = []
    reported: set[int] = set()
    for text in texts:
        for source, said in text.processes.items():
            if source not in numbers:
                numbers[source] = next(others) if numbers else first
            number = numbers[source]
            logs.setdefault(number, []).extend(part.graphs for part in said if part.graphs)
            if any(part.cumulative for part in said):
                number = next(others) if number in reported else number
                reported.add(number)
            parts.append((said, number))
        ingested.notes.extend(text.notes)
    made = _joined_logs(logs, timelines)
    for said, number in parts:
        _add_parts(said, made[number], processes, ingested.of(number))
    for number, compilations in made.items():
        compilations.move(ingested.of(number))
    for number in dict.fromkeys(number for _, number in parts):
        own = [part for said, of in parts if of == number for part in said]
        ingested.notes.extend(_disagreement(own, times[number : number + 1]))
    if len(texts) + len(times) > 1 and texts:
        ingested.notes.append(_together(texts, times, len(numbers), len({n for _, n in parts})))


def _add_parts(
    parts: Sequence[TextPart], made: Gathered, processes: _Processes, rows: ProcessRows
) -> None:
    for part in sorted(parts, key=lambda part: part.supplements):
        if frontend := part.add(made, rows):
            process = processes.setdefault(rows.process, _process(frontend))
            if part.decides:
                process["frontend"] = frontend


def _joined_logs(
    logs: dict[int, list[GraphLog]], timelines: Sequence[Shown]
) -> defaultdict[int, Gathered]:
    """The compilations and executions of each process, from its logs and its timeline."""
    made = defaultdict[int, Gathered](Gathered)
    for number, parts in logs.items():
        shown = _shown(number, timelines)
        if parts or shown.times is not None:
            log = GraphLog(tuple(block for part in parts for block in part.blocks))
            made[number] = joined(log, shown.times or (), (), Folders(), shown.log)
            for table in ("compilation", *["execution"] * bool(log.blocks)):
                made[number].table(table)
    return made


def _shown(number: int, timelines: Sequence[Shown]) -> Shown:
    """The timeline of a process; without one, it shows nothing."""
    return timelines[number] if number < len(timelines) else Shown(Gathered())


def _disagreement(parts: Sequence[TextPart], times: _Times) -> Iterator[str]:
    """Notes on evidence of one process that disagrees on the number of compilations.

    A timeline covers a part of the run: it may have fewer compilations than others, but not more.
    """
    counts: Counter[str] = Counter()
    for part in parts:
        if part.compiled is not None:
            counts[re.sub("^an? ", "the ", part.NAME)] += part.compiled
    in_timeline = max((len(each) for each in times if each), default=0)
    if in_timeline > min(counts.values(), default=in_timeline):
        counts["the timeline"] = in_timeline
    if len(set(counts.values())) > 1:
        said = ", ".join(f"{count:,} in {kind}" for kind, count in counts.items())
        yield (
            f"compilations: {said}; one of them is cut, or of another part of the program;"
            " both are shown as they are"
        )


def _together(texts: Sequence[Text], times: _Times, named: int, processes: int) -> str:
    held = "; ".join(f"{text.name}: {' and '.join(text.kinds)}" for text in texts)
    taken = "as one process" if named == 1 else f"as {named} processes"
    taken += " with the timeline" if len(times) == 1 else ""
    more = processes - named
    taken += ", each report after the first as one more" if more else ""
    return f"{held}; taken {taken}"


def _read(
    file: Path,
    for_viewers: bool,
    processes: _Processes,
    rows: ProcessRows,
    progress: Progress | None,
) -> Shown:
    """Read a timeline, and add its process."""
    from xladoctor.ingest.timeline.read import TimelineFile, read_timeline

    timeline = TimelineFile(file, alone=True, for_viewers=for_viewers)
    shown = read_timeline(timeline, Folders(), rows, progress)
    for table, columns in shown.of_steps:
        rows.append(table, columns)
    if shown.described.get("events"):
        processes[rows.process] = _process_of(file, shown)
    elif shown.described:  # it could be opened; if not, that is noted
        rows.notes.append(f"{file}: not a timeline, or one without events")
    return shown


def _process_of(file: Path, shown: Shown) -> dict[str, Any]:
    """The process of a timeline."""
    host, pid, rank = (shown.described[name] for name in ("host", "pid", "rank"))
    kinds = shown.device_kinds
    return {
        **_process(None, pid, rank_of(file) if rank is None else rank),
        "host": host or named_after(file) or file.name.removesuffix(PACKED).removesuffix(SUFFIX),
        "device_kind": kinds[0] if kinds else None,
        "devices": len(kinds),
    }


def _process(
    frontend: str | None, pid: int | None = None, rank: int | None = None
) -> dict[str, Any]:
    """A process that is known only from what is in a log."""
    known = {"pid": pid, "rank": rank, "host": None, "frontend": frontend}
    return {**known, "device_kind": None, "devices": None, "ended": True}


def _add_processes(processes: _Processes, ingested: Ingested) -> None:
    for number, row in processes.items():
        ingested.of(number).add("process", **row)


def _only_empty_logs(path: Path) -> bool:
    """Whether a directory has only empty logs: nothing was compiled, or not yet."""
    logs = [file for file in files_below(path) if file.suffix == ".log" and file.is_file()]
    return bool(logs) and not any(file.stat().st_size for file in logs)
