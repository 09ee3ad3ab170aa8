"""Makes rows for viewers: the steps, what the loop's thread did, when each finding happened."""

from __future__ import annotations

from typing import Any

import numpy as np

from xladoctor.diagnosis.finding import Claim, Finding
from xladoctor.diagnosis.interface import Diagnosis
from xladoctor.diagnosis.whatif.claims import items_of
from xladoctor.diagnosis.whatif.program import Program, read_program
from xladoctor.evidence.interface import Evidence
from xladoctor.view.interface import Slices, Track, sliced, slices

Row = tuple[str, int, int]
_SEGMENTS = """
    SELECT begin_ns, duration_ns, coalesce(call, -1)::BIGINT AS call
    FROM host_segment WHERE process = {process} ORDER BY segment
"""
_COMPILATIONS = """
    SELECT c.index, c.end_ns - c.duration_ns AS begin_ns, c.duration_ns, c.file, c.line
    FROM compilation c JOIN timeline t USING (process)
    WHERE c.process = $process AND list_contains($numbers, c.index)
      AND c.end_ns - c.duration_ns >= t.begin_ns AND c.end_ns <= t.end_ns
    ORDER BY c.end_ns
"""


def steps(evidence: Evidence, process: int) -> Slices:
    """The steps of a process's timeline."""
    rows = evidence.database.table(
        "SELECT 'step ' || step, begin_ns, duration_ns FROM timeline_step"
        " WHERE process = $process ORDER BY begin_ns",
        {"process": process},
    )[1]
    return slices([(str(name), begin, duration) for name, begin, duration in rows])


def loop(evidence: Evidence, process: int) -> Track:
    """What the loop's thread did, without gaps."""
    groups = evidence.database.table(
        "SELECT activity, region, file, line, list(begin_ns), list(duration_ns) FROM host_segment"
        " WHERE process = $process GROUP BY ALL ORDER BY ALL",
        {"process": process},
    )[1]
    names = [
        _within(activity, region, _site(evidence, file, line))
        for activity, region, file, line, *_ in groups
    ]
    name = np.repeat(np.arange(len(groups), dtype=np.int32), [len(group[4]) for group in groups])
    begin = np.array([begin for group in groups for begin in group[4]], np.int64)
    duration = np.array([duration for group in groups for duration in group[5]], np.int64)
    order = np.argsort(begin, kind="stable")
    return Track("loop", sliced(names, name[order], begin[order], duration[order]))


def _within(activity: str, region: str | None, site: str) -> str:
    return f"{activity} ({' '.join(filter(None, (region, site)))})" if region else activity


def _site(evidence: Evidence, file: str | None, line: int | None) -> str:
    return f"{evidence.shown(file)}:{line}" if file else ""


def findings(evidence: Evidence, diagnosis: Diagnosis, process: int) -> list[Track]:
    """A row for each finding that has an instant in a process's timeline, in their order."""
    program = read_program(evidence.database, process)
    tracks = []
    for finding in diagnosis.findings:
        if str(process) in finding.processes:
            rows = _of_compilations(finding, evidence, process)
            if program is not None:
                rows += _of_calls(finding, evidence, process, program)
            if rows:
                tracks.append(Track(name_of(finding), slices(rows)))
    return tracks


def name_of(finding: Finding) -> str:
    """The name of a finding's row."""
    site = next((f" {place.file}:{place.line}" for place in finding.locations), "")
    subject = f" ({finding.subject})" if finding.subject else ""
    return f"{finding.rule}{site} {finding.title}{subject}"


def _of_compilations(finding: Finding, evidence: Evidence, process: int) -> list[Row]:
    """The finding's compilations, which are numbered within one process."""
    numbers = {
        *finding.compilations,
        *(number for claim in finding.saving.assumes for number in claim.compilations),
    }
    theirs = finding.saving.process if len(finding.processes) > 1 else process
    if not numbers or theirs != process:
        return []
    rows = evidence.database.rows(_COMPILATIONS, {"process": process, "numbers": sorted(numbers)})
    return [
        (
            f"{finding.rule} compilation {row['index']}"
            f" {_site(evidence, row['file'], row['line'])}".rstrip(),
            row["begin_ns"],
            row["duration_ns"],
        )
        for row in rows
    ]


def _of_calls(finding: Finding, evidence: Evidence, process: int, program: Program) -> list[Row]:
    """The items that the finding's claims cover; else the calls at its lines."""
    claims = [claim for claim in finding.saving.assumes if claim.what != "compile"]
    segments = evidence.database.arrays(_SEGMENTS.format(process=process))
    if claims:
        return [
            row
            for claim in claims
            for row in _merged(
                f"{finding.rule} {_claim_text(claim, evidence)}", items_of(program, claim), segments
            )
        ]
    if finding.compilations:
        return []
    found: list[Row] = []
    for place in finding.locations:
        number = _place(program, evidence, place.file, place.line)
        if place.role in ("guilty", "caller") and number is not None:
            name = f"{finding.rule} {place.file}:{place.line}"
            found += _merged(name, program.place == number, segments)
    return found


def _claim_text(claim: Claim, evidence: Evidence) -> str:
    site = _site(evidence, claim.file, claim.line)
    part = f"({100 * claim.part:.0f}% of these)" if claim.part < 1 else ""
    return " ".join(filter(None, (claim.what, site, part)))


def _place(program: Program, evidence: Evidence, file: str, line: int) -> int | None:
    shown = [(evidence.shown(path), number) for path, number in program.places]
    return shown.index((file, line)) if (file, line) in shown else None


def _merged(name: str, chosen: Any, segments: dict[str, Any]) -> list[Row]:
    """The chosen segments; consecutive ones of one call are merged."""
    which = np.flatnonzero(chosen)
    if not len(which):
        return []
    begin, call = segments["begin_ns"][which], segments["call"][which]
    end = begin + segments["duration_ns"][which]
    new = np.ones(len(which), bool)
    new[1:] = (which[1:] != which[:-1] + 1) | (call[1:] != call[:-1])
    first = np.flatnonzero(new)
    last = np.append(first[1:], len(which)) - 1
    return [
        (name, start, stop - start)
        for start, stop in zip(begin[first].tolist(), end[last].tolist(), strict=True)
    ]
