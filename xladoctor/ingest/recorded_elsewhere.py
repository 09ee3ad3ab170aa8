"""Evidence that xladoctor did not capture: timelines of other profilers, reports and logs, one of
them or several of one program.

``LOGDIR/plugins/profile/<session>/<host>.xplane.pb`` is what XProf and TensorBoard read; each file
of a session is of one process, on any host. The wall time at which each profile started puts the
files of a session on one clock.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path

from xladoctor.ingest.frames import Folders
from xladoctor.ingest.interface import Columns, Ingested, IngestError, Progress
from xladoctor.ingest.sessions import SUFFIX, find_sessions, session_files
from xladoctor.ingest.torch_xla.analysis_log import AnalysisLog
from xladoctor.ingest.torch_xla.text_file import (
    Text,
    Told,
    add_figures,
    add_logs,
    read_text_file,
)

_MOST_FILES = 10_000  # in a directory
_OF_TEXTS = ("", ".txt", ".log", ".out", ".err")  # in a directory; others have to be named
_EXPECTED = (
    "expected a run directory of `xladoctor run`, or timelines (.xplane.pb), metrics reports,"
    " analysis logs and console logs of one program"
)


def read_elsewhere(
    paths: Sequence[Path], session: str | None = None, progress: Progress | None = None
) -> Ingested:
    """Everything that can be read of these files and directories, as evidence of one program.

    Args:
        session: which session of timelines to read; by default the newest.

    Raises:
        IngestError: there is nothing that can be read, or a file is none of these.
    """
    ingested = Ingested()
    timelines: list[Path] = []
    texts: list[Text] = []
    for path in paths:
        timelines += _timelines(path, session, ingested)
        texts += _texts(path)
    times = [_read(file, number, ingested, progress) for number, file in enumerate(timelines)]
    if timelines and "process" not in ingested.tables and not texts:
        raise IngestError("\n".join(ingested.notes), "expected an uncompressed .xplane.pb file, as"
                          " XLA's profiler writes it")  # fmt: skip
    if not timelines and not texts:
        raise IngestError(f"{_named(paths)}: nothing in it that can be read", _EXPECTED)
    add_texts(texts, times, ingested)
    return ingested


def add_texts(texts: Sequence[Text], times: Sequence[Columns | None], ingested: Ingested) -> None:
    """Add what texts say to what the timelines of the same program did.

    With one timeline they are taken as its process, but for lines that name others. With several
    nothing tells whose they are, so that they count as processes of their own. So does each report
    after the first of a process.

    Args:
        times: of the compilations of each timeline, by the number of its process.
    """
    first = len(times) if len(times) > 1 else 0
    others = count(max(len(times), first + 1))
    numbers: dict[str, int] = {}  # of processes, by what the texts call them
    logs: dict[int, list[AnalysisLog]] = {number: [] for number in range(len(times))}
    figures: list[tuple[Told, int]] = []
    reported: set[int] = set()
    for text in texts:
        for source, told in text.processes.items():
            if source not in numbers:
                numbers[source] = next(others) if numbers else first
            number = numbers[source]
            if told.log.blocks:
                logs.setdefault(number, []).append(told.log)
            if told.report:
                number = next(others) if number in reported else number
                reported.add(number)
            figures.append((told, number))
        ingested.notes.extend(text.notes)
    _add_logs(logs, times, ingested)
    for told, number in figures:
        add_figures(told, number, ingested)
    if len(texts) + len(times) > 1 and texts:
        ingested.notes.append(_together(texts, times, len(numbers), len({n for _, n in figures})))


def _add_logs(
    logs: dict[int, list[AnalysisLog]], times: Sequence[Columns | None], ingested: Ingested
) -> None:
    for number, parts in logs.items():
        of_process = times[number] if number < len(times) else None
        if parts or of_process is not None:
            add_logs(parts, of_process or {}, number, ingested)


def _together(
    texts: Sequence[Text], times: Sequence[Columns | None], named: int, processes: int
) -> str:
    held = "; ".join(f"{text.name}: {' and '.join(text.kinds)}" for text in texts)
    taken = "as one process" if named == 1 else f"as {named} processes"
    taken += " with the timeline" if len(times) == 1 else ""
    more = processes - named
    taken += ", each report after the first as one more" if more else ""
    return f"{held}; taken {taken}"


def _timelines(path: Path, session: str | None, ingested: Ingested) -> list[Path]:
    if path.is_file():
        return [path] if path.name.endswith(SUFFIX) else []
    if find_sessions(path):
        return session_files(path, session, ingested)
    folders = {file.parent for file in path.rglob(f"*{SUFFIX}")}
    if not folders:
        return []
    newest = max(folders, key=lambda folder: (folder.stat().st_mtime, folder))
    if len(folders) > 1:
        ingested.notes.append(f"{path}: {len(folders)} folders with timelines; the newest is read,"
                              f" {newest}")  # fmt: skip
    return session_files(newest, session, ingested)


def _texts(path: Path) -> Iterator[Text]:
    """A text file, or those in a directory that are named like one and hold anything to judge."""
    if path.is_file():
        if not path.name.endswith(SUFFIX):
            yield read_text_file(path)
        return
    files = (file for file in sorted(path.rglob("*")) if file.is_file())
    for _, file in zip(range(_MOST_FILES), files, strict=False):
        if file.suffix not in _OF_TEXTS:
            continue
        try:
            yield read_text_file(file)
        except IngestError:
            continue  # a file of another kind beside them


def _read(file: Path, number: int, ingested: Ingested, progress: Progress | None) -> Columns | None:
    """A timeline; the times of its compilations."""
    from xladoctor.ingest.timeline.read import TimelineFile, read_timeline  # loads numba

    compilations = read_timeline(TimelineFile(file, number, alone=True), Folders(), ingested,
                                 progress)  # fmt: skip
    events = ingested.tables.get("timeline", {}).get("events", [0])
    if len(events) == number + 1 and events[number]:
        _add_process(file, number, ingested)
    else:
        ingested.notes.append(f"{file}: not a timeline, or one without events")
    return compilations.times


def _add_process(file: Path, number: int, ingested: Ingested) -> None:
    hosts = ingested.tables.get("timeline", {})
    host = dict(zip(hosts.get("process", ()), hosts.get("host", ()), strict=True)).get(number)
    rows = ingested.tables.get("device", {})
    kinds = [kind for owner, kind in zip(rows.get("process", ()), rows.get("kind", ()), strict=True)
             if owner == number]  # fmt: skip
    ingested.add("process", process=number, host=host or file.name.removesuffix(SUFFIX),
                 device_kind=kinds[0] if kinds else None, devices=len(kinds),
                 ended=True)  # fmt: skip


def _named(paths: Sequence[Path]) -> str:
    return ", ".join(map(str, paths))
