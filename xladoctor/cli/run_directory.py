"""The diagnosis of evidence, as configured; that of a run directory is kept in it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xladoctor.capture.interface import RunDirectory, RunOutcome
    from xladoctor.configuration.interface import Configured
    from xladoctor.diagnosis.interface import Diagnosis
    from xladoctor.ingest.interface import Progress


def diagnose_path(
    path: str, found: Configured, total_steps: int | None = None, *, session: str | None = None,
    progress: Progress | None = None, lost: tuple[str, ...] = (),
) -> Diagnosis:  # fmt: skip
    """Load what is there, and diagnose it.

    Args:
        path: a run directory or file, ``-`` for standard input.
        total_steps: length of a run that savings are said for.
        session: which of several timelines to read.
        progress: is told how far the reading of large files is.
        lost: what else is missing, in words.

    Raises:
        XladoctorError: there is nothing to diagnose, or the configuration cannot be used.
    """
    from xladoctor.cli.configured import selection
    from xladoctor.diagnosis.engine import diagnose
    from xladoctor.evidence.load import load

    chosen = selection(found)
    evidence = load(path, session, progress)
    evidence = replace(evidence, notes=(*evidence.notes, *lost), lost=(*evidence.lost, *lost))
    return diagnose(evidence, chosen.rules, total_steps, chosen.off)


def diagnose_run(
    run: RunDirectory, found: Configured, total_steps: int | None = None, *,
    progress: Progress | None = None, lost: tuple[str, ...] = (),
) -> Diagnosis:  # fmt: skip
    """The same of a run directory, named as seen from here; leaves it there if there is room."""
    from xladoctor.report import json
    from xladoctor.report.interface import Report, Style

    here = Path.cwd()
    shown = run.path.relative_to(here) if run.path.is_relative_to(here) else run.path
    diagnosis = diagnose_path(str(shown), found, total_steps, progress=progress, lost=lost)
    try:
        with run.diagnosis.open("w", encoding="utf-8") as file:
            json.render([Report(diagnosis)], file, Style())
        keep_sources(run, diagnosis)
    except OSError as error:
        sys.stderr.write(f"xladoctor: cannot write {run.diagnosis}: {error.strerror}\n")
    return diagnosis


def keep_sources(run: RunDirectory, diagnosis: Diagnosis) -> None:
    """Leave the text of the lines that are named in it: elsewhere their files may be missing.

    A finding's identity goes by them.
    """
    import json

    consumers = [one.location for count in diagnosis.counts for one in count.consumers]
    places = [*(place for one in diagnosis.findings for place in one.locations), *consumers]
    rows = {(str(Path(diagnosis.run.cwd or "", place.file)), place.line, place.source)
            for place in places if place and place.source}  # fmt: skip
    named = [{"file": file, "line": line, "text": text} for file, line, text in sorted(rows)]
    run.sources.write_text(json.dumps(named, indent=1) + "\n", encoding="utf-8")


def diagnose_outcome(
    outcome: RunOutcome, found: Configured, total_steps: int | None = None
) -> Iterator[Diagnosis]:
    """The diagnosis of each program that a command ran, in order.

    Raises:
        XladoctorError: a run directory is gone, or there is nothing in it to diagnose.
    """
    from xladoctor.capture.interface import CaptureError

    for run in outcome.runs:
        if not run.path.exists():
            raise CaptureError(f"the run directory {run.path} is gone, and what was captured with"
                               " it", "something removed it while the program ran")  # fmt: skip
        yield diagnose_run(run, found, total_steps, lost=outcome.lost)
