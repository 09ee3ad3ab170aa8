"""The summary of a job on GitHub: https://docs.github.com/actions, ``GITHUB_STEP_SUMMARY``.

It is what a pull request needs beside code scanning, which shows only alerts on lines of the diff.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from xladoctor.report.interface import Report, Style
from xladoctor.report.markdown_body import blocks, fitted

LIMIT = 1_048_576  # bytes of a step


def render(reports: Sequence[Report], output: TextIO, style: Style) -> None:
    """Write the summary, all findings unfolded."""
    body = blocks(reports, style, unfolded=None)
    output.write(fitted(body, LIMIT, lambda text: len(text.encode())))
