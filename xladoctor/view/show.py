"""Writes evidence and its diagnosis to files that a viewer opens."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from xladoctor.diagnosis.interface import Diagnosis
from xladoctor.evidence.interface import Evidence
from xladoctor.view import tracks, xspace
from xladoctor.view.interface import Slices, Track, ViewError
from xladoctor.view.perfetto import PerfettoTrace, opened
from xladoctor.view.timelines import AnnotatedTimeline, place_of, timelines


@dataclass(slots=True)
class Outcome:
    """The result of writing.

    Attributes:
        slices: the number of slices, if counted.
        notes: what is missing.
    """

    slices: int = 0
    notes: list[str] = field(default_factory=list)


def write_perfetto(evidence: Evidence, diagnosis: Diagnosis, path: Path) -> Outcome:
    """Write all timelines as one Perfetto trace.

    Raises:
        ViewError: there is no timeline, or the file cannot be written.
    """
    outcome = Outcome()
    given = _rows(evidence, diagnosis, outcome)
    first = next(given)  # before the file is emptied
    for (file,) in evidence.database.table("SELECT file FROM timeline")[1]:
        if path.exists() and path.samefile(place_of(file, evidence)):
            raise ViewError(f"{path}: is the timeline itself", "name another file")
    with opened(path) as file:
        trace = PerfettoTrace(file)
        trace.add(*first)
        for each in given:
            trace.add(*each)
    outcome.slices = trace.slices
    if trace.shortened:
        outcome.notes.append(
            f"{trace.shortened:,} slices overlap too many others on their line,"
            " and are shown as ending with the one that they begin in"
        )
    return outcome


def write_logdir(evidence: Evidence, diagnosis: Diagnosis, logdir: Path) -> Outcome:
    """Write all timelines as a session in an empty log directory.

    Raises:
        ViewError: there is no timeline.
        OSError: it cannot be written.
    """
    outcome = Outcome()
    session: Path | None = None
    for shown, steps, rows in _rows(evidence, diagnosis, outcome):
        session = session or xspace.session_in(logdir, evidence)
        note = xspace.write(shown, [Track("steps", steps), *rows], session)
        outcome.notes += [note] if note else []
    return outcome


def _rows(
    evidence: Evidence, diagnosis: Diagnosis, outcome: Outcome
) -> Iterator[tuple[AnnotatedTimeline, Slices, list[Track]]]:
    """Each timeline with its steps and other rows; at the end, a note on findings without any."""
    found: set[str] = set()
    for shown in timelines(evidence):
        findings = tracks.findings(evidence, diagnosis, shown.process)
        found.update(row.name for row in findings)
        yield (
            shown,
            tracks.steps(evidence, shown.process),
            [tracks.loop(evidence, shown.process), *findings],
        )
    names = dict.fromkeys(map(tracks.name_of, diagnosis.findings))
    outcome.notes += [f"not in the timeline: {name}" for name in names if name not in found]
