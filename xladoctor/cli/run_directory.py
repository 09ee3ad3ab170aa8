"""The diagnosis of a run directory, which is kept in it."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from xladoctor.cli.output import Color, Format, show

if TYPE_CHECKING:
    from xladoctor.capture.interface import RunDirectory
    from xladoctor.diagnosis.interface import Diagnosis
    from xladoctor.ingest.interface import Progress


def diagnose_run(
    run: RunDirectory, total_steps: int | None = None, progress: Progress | None = None,
    lost: tuple[str, ...] = (),
) -> Diagnosis:  # fmt: skip
    """Load it, diagnose it, and leave the diagnosis in it, where there is room.

    Args:
        run: the directory; it is named as seen from the working directory.
        total_steps: length of a run that savings are said for.
        progress: is told how far the reading of large files is.
        lost: what else is missing, in words.

    Raises:
        XladoctorError: there is nothing in it to diagnose.
    """
    from xladoctor.diagnosis.engine import diagnose
    from xladoctor.diagnosis.rule import load_rules
    from xladoctor.evidence.load import load

    here = Path.cwd()
    shown = run.path.relative_to(here) if run.path.is_relative_to(here) else run.path
    evidence = load(str(shown), None, progress)
    evidence = replace(evidence, notes=(*evidence.notes, *lost))
    diagnosis = diagnose(evidence, load_rules(), total_steps)
    try:
        with run.diagnosis.open("w", encoding="utf-8") as file:
            show(diagnosis, Format.json, Color.never, file)
    except OSError as error:
        sys.stderr.write(f"xladoctor: cannot write {run.diagnosis}: {error.strerror}\n")
    return diagnosis
