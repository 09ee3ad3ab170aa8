"""Decodes again the timelines that evidence was read from, as it keeps no names of events."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from xladoctor.evidence.interface import Evidence
from xladoctor.foreign import encodable
from xladoctor.ingest.chrome.read import read_chrome
from xladoctor.ingest.chrome.space import ChromeSpace
from xladoctor.ingest.interface import Losses
from xladoctor.ingest.recognition import Kind, kind_of
from xladoctor.ingest.timeline.clock import Timeline
from xladoctor.ingest.xplane import wire
from xladoctor.ingest.xplane.events import Events, Stats
from xladoctor.ingest.xplane.read import read_space
from xladoctor.ingest.xplane.space import Line
from xladoctor.view.interface import MOST, Slices, Track, ViewError

_OURS = "xladoctor."  # prefix of the capture's own annotations
_STATS = ("file", "line", "kind")  # stats of these annotations


@dataclass(frozen=True, slots=True)
class AnnotatedTimeline:
    """A timeline for display; the capture's annotations are named after their call and line.

    Attributes:
        process: number of the process in the evidence.
        pid: its id, where it is known.
        annotated: which events are the capture's annotations.
    """

    process: int
    pid: int | None
    timeline: Timeline
    annotated: wire.Array

    @property
    def path(self) -> Path:
        """The file."""
        return self.timeline.space.path

    @property
    def for_viewers(self) -> bool:
        """Whether the file is a Chrome trace."""
        return isinstance(self.timeline.space, ChromeSpace)

    def of_line(self, line: Line) -> Slices:
        """The events of a line."""
        return self._chosen(line, slice(None))

    def calls(self) -> list[Track]:
        """The capture's annotations, by thread."""
        found = (
            (line, np.flatnonzero(self.annotated[line.events]))
            for line in self.timeline.space.lines
        )
        return [
            Track(f"calls of {line.name}", self._chosen(line, which))
            for line, which in found
            if len(which)
        ]

    def _chosen(self, line: Line, which: wire.Array | slice) -> Slices:
        events, part = self.timeline.events, line.events
        begin = np.clip(events.start_ps[part][which], -MOST, MOST)
        duration = np.clip(events.duration_ps[part][which], 0, MOST)
        return Slices(
            events.names, events.name[part][which], begin, duration, self.timeline.origin(line)
        )


def timelines(evidence: Evidence) -> Iterator[AnnotatedTimeline]:
    """Each timeline of the evidence, one at a time, as each may take much memory.

    Raises:
        ViewError: there is none, or one is gone.
    """
    rows = evidence.database.rows(
        "SELECT t.process, t.file, p.pid FROM timeline t LEFT JOIN process p USING (process)"
        " ORDER BY t.process"
    )
    if not rows:
        raise ViewError(
            f"{evidence.path}: no timeline, so there is nothing to show",
            "xladoctor run records one, unless --trace-steps is 0 or the program ends too early",
        )
    for row in rows:
        yield _shown(place_of(row["file"], evidence), row["process"], row["pid"], evidence)


def place_of(file: str, evidence: Evidence) -> Path:
    """The path of a file in the evidence, whose tables escape paths that are not UTF-8."""
    path, root = evidence.on_disk(file), evidence.on_disk(evidence.path)
    if path.exists():
        return path
    return next((each for each in (root, *root.rglob("*")) if encodable(str(each)) == file), path)


def _shown(path: Path, process: int, pid: int | None, evidence: Evidence) -> AnnotatedTimeline:
    noted = Losses()
    try:
        chrome = kind_of(path) is Kind.TRACE
    except OSError as error:
        raise ViewError(f"{path}: cannot be read: {error.strerror}") from error
    space = (read_chrome if chrome else read_space)(path, noted)
    if space is None:
        raise ViewError(noted.notes)
    events = space.decode(_STATS)
    annotated = _name_annotations(events, evidence)
    return AnnotatedTimeline(process, pid, Timeline(space, events), annotated)


def _name_annotations(events: Events, evidence: Evidence) -> wire.Array:
    """Name the capture's annotations ``item train.py:41``; return which events these are."""
    ours = [code for code, name in enumerate(events.names) if name.startswith(_OURS)]
    annotated = np.isin(events.name, ours)
    files, lines, kinds = (_values(events, events.rows_of(stat)) for stat in _STATS)
    named: dict[int, str] = {}
    for event in np.flatnonzero(annotated).tolist():
        what = kinds.get(event) or events.names[events.name[event]].removeprefix(_OURS)
        file, line = evidence.shown(files.get(event)), lines.get(event)
        named[event] = f"{what} {file}:{line}" if file and line else what
    for event, name in named.items():
        events.name[event] = events.add_name(name)
    events.names = list(map(encodable, events.names))
    return annotated


def _values(events: Events, rows: Stats) -> dict[int, str]:
    """Texts and numbers by event."""
    texts, number = events.interned(rows), rows.kind == wire.INT64
    return {
        event: str(value) if is_number else events.names[text] if text >= 0 else ""
        for event, value, is_number, text in zip(
            rows.event.tolist(), rows.value.tolist(), number.tolist(), texts.tolist(), strict=True
        )
    }
