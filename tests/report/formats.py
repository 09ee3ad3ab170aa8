"""What tests of several formats need: reports as text, and texts that want to be obeyed."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any

from hypothesis import strategies as st

from tests.report.diagnoses import GATED, SICK, TEXT
from tests.support import finding, location
from xladoctor.diagnosis.finding import Finding, Saving
from xladoctor.report.interface import Report, Style

SICK_REPORT, TEXT_REPORT = Report(SICK), Report(TEXT)
CASES = {
    "sick": [SICK_REPORT],
    "text": [TEXT_REPORT],
    "gated": [GATED],
    "several": [GATED, TEXT_REPORT, SICK_REPORT],
}
#: Text that a program can bring along, with what means something to a format in it.
SIGNS = [
    "|",
    "`",
    "```",
    "<script>",
    "</details>",
    "&lt;",
    "@ada",
    "#12",
    "\n",
    "\r\n",
    "::error::",
    "%0A",
    ",",
    ":",
    "]]>",
    "<!--",
    "](1)",
    "[x](http://y)",
    "**",
    "_",
    "~~",
    "\\",
    "\x1b[2J",
    "\ud800",
    "\x00",
    "$x$",
    "1. ",
    "- ",
    "# ",
    "===",
    "    ",
]
HOSTILE = st.lists(st.text(max_size=8) | st.sampled_from(SIGNS), max_size=8).map("".join)


def rendered(name: str, reports: Sequence[Report], style: Style | None = None) -> str:
    """The reports in a format of this name."""
    output = io.StringIO()
    import_module(f"xladoctor.report.{name.replace('-', '_')}").render(
        reports, output, style or Style()
    )
    return output.getvalue()


def sick_of(*findings: Finding) -> Report:
    """A report with these findings and no others."""
    return Report(replace(SICK, findings=list(findings)))


def many(count: int, severity: str = "error", **fields: Any) -> list[Finding]:
    """Findings on lines of their own, the cheapest first."""
    return [
        finding(
            severity=severity,
            fingerprint=f"{severity}-{n}",
            title=f"Title {n}",
            locations=[location(line=n + 1)],
            saving=Saving(n / 1e3, 1.0, n / 1e6, "bound"),
            **fields,
        )
        for n in range(count)
    ]


def hostile(text: str) -> Report:
    """A report with this text wherever the program's own text is shown."""
    place = location(f"a{text}b.py", source=f"x = {text}", function=f"f{text}")
    bad = finding(message=f"Before {text} after.", locations=[place], consequences=[f"so {text}"])
    run = replace(SICK.run, script=f"{text}.py", command=["python", f"{text}.py"])
    diagnosis = replace(SICK, run=run, findings=[bad], warnings=[f"note {text}"])
    return Report(diagnosis, GATED.outcome)
