"""A comment for a pull request, in the Markdown that GitHub and GitLab have in common.

Its first line is a marker that nobody sees, by which a bot finds the comment to update.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from xladoctor.report.interface import Report, Style
from xladoctor.report.markdown_body import blocks, fitted

MARKER = "<!-- xladoctor -->"
_LONGEST_MARKER = 64  # as action.yml replaces it by one for each command
LIMIT = 65_536  # characters of a comment on GitHub


def render(reports: Sequence[Report], output: TextIO, style: Style) -> None:
    """Write the comment; only the first finding of a program is unfolded."""
    body = blocks(reports, style, unfolded=1)
    room = LIMIT - _LONGEST_MARKER - 1
    output.write(f"{MARKER}\n{fitted(body, room, len)}")
