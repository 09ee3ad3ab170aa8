"""Makes the pictures of a run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from xladoctor.causes.compilations import call_sites, explained
from xladoctor.causes.difference import difference
from xladoctor.causes.graph_difference import Difference
from xladoctor.causes.interface import Place
from xladoctor.diagnosis.interface import Diagnosis
from xladoctor.diagnosis.pictures.interface import Pictures
from xladoctor.diagnosis.pictures.lanes import step_pictures
from xladoctor.diagnosis.pictures.processes import process_steps
from xladoctor.diagnosis.pictures.steps import step_series
from xladoctor.errors import XladoctorError
from xladoctor.evidence.interface import Evidence
from xladoctor.evidence.row import Row
from xladoctor.evidence.source import lines_around
from xladoctor.repository import whole

_AROUND = 2  # lines above and below a named one
_MOST_COMPILATIONS, _MOST_SITES, _MOST_DIFFERENCES = 300, 100, 4
_GAPS = """
    SELECT g.process, d.name AS device, g.reason, count(*) AS count,
           sum(g.duration_ns) / 1e9 AS seconds, max(g.duration_ns) / 1e9 AS longest
    FROM idle_gap g JOIN device d USING (process, device)
    GROUP BY g.process, g.device, d.name, g.reason
    ORDER BY g.process, g.device, seconds DESC LIMIT 60
"""

_SETTINGS = "SELECT DISTINCT name, value, set_by, file, line FROM environment ORDER BY ALL"


def pictures(evidence: Evidence, diagnosis: Diagnosis) -> Pictures:
    """All pictures of this evidence; empty where it lacks data."""
    rows, compilations = evidence.database.rows, explained(evidence)
    return Pictures(
        drawn=True,
        steps=step_series(evidence),
        processes=process_steps(evidence),
        shown=step_pictures(evidence, diagnosis.findings),
        excerpts=excerpts(evidence, diagnosis),
        compilations=compilations[:_MOST_COMPILATIONS],
        sites=call_sites(evidence)[:_MOST_SITES],
        compiled=len(compilations),
        differences=dict(_differences(evidence, diagnosis, compilations)),
        gaps=rows(_GAPS),
        settings=[{**row, "file": evidence.shown(row["file"])} for row in rows(_SETTINGS)],
    )


def excerpts(evidence: Evidence, diagnosis: Diagnosis) -> dict[str, list[tuple[int, str]]]:
    """The lines around the lines of findings, if their files are still those that ran."""
    places = {
        (location.file, location.line): location.source
        for finding in diagnosis.findings
        for location in finding.locations
    }
    found = {}
    for (file, line), source in places.items():
        path = whole(file, evidence.cwd)
        lines = lines_around(evidence, path, line, _AROUND)
        if source and source.rstrip("\n") in [text for number, text in lines if number == line]:
            found[f"{file}:{line}"] = lines
    return found


def _differences(
    evidence: Evidence, diagnosis: Diagnosis, compilations: list[Row]
) -> Iterator[tuple[str, Difference]]:
    """For findings about compilations, the differences of the last two graphs in the timeline."""
    made = 0
    for finding in diagnosis.findings:
        if not finding.compilations or made >= _MOST_DIFFERENCES:
            continue
        known = [
            row
            for row in compilations
            if row["index"] in finding.compilations
            and finding.saving.process in (None, row["process"])
            and row["in_timeline"]
            and row["cause"]
        ]
        for row in reversed(known):
            try:
                compared = difference(
                    evidence.database, row["process"], row["cause"]["against"], row["index"]
                )
            except XladoctorError:  # the other graph is not in the evidence
                continue
            made += 1
            yield finding.fingerprint, _shown(compared, evidence)
            break


def _shown(difference: Difference, evidence: Evidence) -> Difference:
    """The difference with paths as reports show them."""

    def place(line: Place) -> Place:
        return line._replace(file=evidence.shown(line.file))

    inputs = (replace(each, place=place(each.place)) for each in difference.inputs)
    lines = (replace(each, place=place(each.place)) for each in difference.lines)
    return replace(difference, inputs=tuple(inputs), lines=tuple(lines))
