"""Two runs side by side, as a page of the parts that a report has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from xladoctor.comparison.interface import Comparison
from xladoctor.diagnosis.interface import Diagnosis
from xladoctor.report import comparison as words
from xladoctor.report.html.page import write
from xladoctor.report.interface import Report, Style
from xladoctor.report.text import printable


def render(
    comparison: Comparison, diagnoses: Sequence[Diagnosis], output: TextIO, style: Style
) -> None:
    """Write the comparison; of A its account and its steps, of B its findings too.

    Args:
        diagnoses: of A and of B, with their pictures.
    """
    shown = [Report(printable(diagnosis, style)) for diagnosis in diagnoses]
    write(
        "comparison.html",
        output,
        style,
        title="comparison",
        compared=words,
        comparison=printable(comparison, style),
        runs=list(zip("AB", shown, strict=True)),
        drawn=any(each.pictures and each.pictures.steps for each in diagnoses),
    )
