"""Writes what later commands read in a run directory, besides what the capture left there."""

from __future__ import annotations

import io
import json
from pathlib import Path

from xladoctor.diagnosis.interface import Diagnosis
from xladoctor.facts.records import TpuCheckFile
from xladoctor.recording.interface import RunDirectory
from xladoctor.report import json as json_report
from xladoctor.report.interface import Report, Style
from xladoctor.report.output import OutputError
from xladoctor.repository import whole
from xladoctor.whole_files import write_text


def write_diagnosis(run: RunDirectory, diagnosis: Diagnosis) -> None:
    """Write the diagnosis, and the source of the lines that it names. Raises OSError.

    A finding's identity depends on these lines, whose files may be missing on another machine.
    """
    # Backslash escapes are valid in JSON; file names need not be UTF-8.
    text = io.StringIO()
    json_report.render([Report(diagnosis)], text, Style())
    write_text(run.diagnosis, text.getvalue(), "backslashreplace")
    consumers = [consumer.location for count in diagnosis.counts for consumer in count.consumers]
    places = [*(place for finding in diagnosis.findings for place in finding.locations), *consumers]
    rows = {
        (whole(place.file, diagnosis.run.cwd), place.line, place.source)
        for place in places
        if place and place.source
    }
    named = [{"file": file, "line": line, "text": text} for file, line, text in sorted(rows)]
    write_text(run.sources, json.dumps(named, indent=1) + "\n")


def write_tpu_check(file: Path, checked: TpuCheckFile) -> None:
    """Write what a TPU's compiler decided. Raises OutputError."""
    text = json.dumps({"tpu_check": 1, **vars(checked)}, default=vars) + "\n"
    try:
        write_text(file, text, "backslashreplace")
    except OSError as error:
        raise OutputError(f"cannot write {file}: {error.strerror}") from error
