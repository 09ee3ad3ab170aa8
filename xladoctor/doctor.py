"""The application: from a path to a diagnosis, by way of all stages.

load (``ingest``, ``evidence``) → derive (``causes``) → diagnose (``diagnosis``) → keep, in the run
directory. Commands, the capture from inside, expectations and comparisons call this and nothing
below it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xladoctor.capture.interface import RunDirectory, RunOutcome
    from xladoctor.configuration.interface import Configured
    from xladoctor.configuration.selection import Selection
    from xladoctor.diagnosis.interface import Diagnosis
    from xladoctor.evidence.interface import Evidence, Period
    from xladoctor.ingest.interface import Ingested, Progress


def selection(configured: Configured) -> Selection:
    """The rules as configured. Raises ConfigurationError and RuleError."""
    from xladoctor.configuration.selection import select
    from xladoctor.diagnosis.pack import load_rules

    where = str(configured.source or "configuration")
    return select(load_rules(), configured.settings, where)


def load_evidence(
    path: str, session: str | None = None, progress: Progress | None = None,
    lost: tuple[str, ...] = (),
) -> Evidence:  # fmt: skip
    """What a path holds, with the causes of its compilations.

    Args:
        path: a run directory or file, ``-`` for standard input.
        session: which of several timelines to read.
        progress: is told how far the reading of large files is.
        lost: what else is missing, in words.

    Raises:
        IngestError: nothing is there, or it is of no kind that can be read.
    """
    from xladoctor.causes import derive
    from xladoctor.evidence.load import load

    evidence = load(path, session, progress)
    evidence = replace(evidence, notes=(*evidence.notes, *lost), lost=(*evidence.lost, *lost))
    return derive(evidence)


def evidence_of(ingested: Ingested, within: Period | None = None, **origin: object) -> Evidence:
    """The same of what a reader returned.

    Args:
        within: the part of the run that is judged, if not all of it.
        origin: as in :class:`Evidence`.
    """
    from xladoctor.causes import derive
    from xladoctor.evidence.load import build

    return derive(build(ingested, origin), within)


def diagnose(evidence: Evidence, selection: Selection, total_steps: int | None = None) -> Diagnosis:
    """Judge evidence by the rules that are selected.

    Args:
        total_steps: length of a run that savings are projected on.

    Raises:
        RuleError: a rule's query or message fails on this evidence.
    """
    from xladoctor.diagnosis import engine

    return engine.diagnose(evidence, selection.rules, total_steps, selection.off)


def examine(
    path: str, selection: Selection, total_steps: int | None = None, *,
    session: str | None = None, progress: Progress | None = None, lost: tuple[str, ...] = (),
) -> Diagnosis:  # fmt: skip
    """Load what is there, and diagnose it; arguments and errors as above."""
    return diagnose(load_evidence(path, session, progress, lost), selection, total_steps)


def examine_run(
    run: RunDirectory, selection: Selection, total_steps: int | None = None, *,
    progress: Progress | None = None, lost: tuple[str, ...] = (),
) -> Diagnosis:  # fmt: skip
    """The same of a run directory, named as seen from here; leaves it there if there is room."""
    here = Path.cwd()
    shown = run.path.relative_to(here) if run.path.is_relative_to(here) else run.path
    diagnosis = examine(str(shown), selection, total_steps, progress=progress, lost=lost)
    try:
        _keep(run, diagnosis)
    except OSError as error:
        sys.stderr.write(f"xladoctor: cannot write {run.diagnosis}: {error.strerror}\n")
    return diagnosis


def examine_outcome(
    outcome: RunOutcome, selection: Selection, total_steps: int | None = None
) -> Iterator[Diagnosis]:
    """The diagnosis of each program that a command ran, in order.

    Raises:
        CaptureError: a run directory is gone.
        IngestError: there is nothing in it to diagnose.
    """
    from xladoctor.capture.interface import CaptureError

    for run in outcome.runs:
        if not run.path.exists():
            raise CaptureError(f"the run directory {run.path} is gone, and what was captured with"
                               " it", "something removed it while the program ran")  # fmt: skip
        yield examine_run(run, selection, total_steps, lost=outcome.lost)


def _keep(run: RunDirectory, diagnosis: Diagnosis) -> None:
    """Leave the diagnosis in the run directory, with the text of the lines that it names.

    A finding's identity goes by these lines, and elsewhere their files may be missing.
    """
    from xladoctor.report import json as json_report
    from xladoctor.report.interface import Report, Style

    with run.diagnosis.open("w", encoding="utf-8") as file:
        json_report.render([Report(diagnosis)], file, Style())
    consumers = [consumer.location for count in diagnosis.counts for consumer in count.consumers]
    places = [*(place for finding in diagnosis.findings for place in finding.locations), *consumers]
    rows = {(str(Path(diagnosis.run.cwd or "", place.file)), place.line, place.source)
            for place in places if place and place.source}  # fmt: skip
    named = [{"file": file, "line": line, "text": text} for file, line, text in sorted(rows)]
    run.sources.write_text(json.dumps(named, indent=1) + "\n", encoding="utf-8")
