"""Writes what is made from other files: rule pages, rule tables, the report's schema, the help.

`--check` writes nothing and fails where something is not up to date.
"""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

from xladoctor.diagnosis.engine import diagnose
from xladoctor.diagnosis.rule import Rule, load_rules
from xladoctor.evidence.load import load
from xladoctor.evidence.schema import TABLES
from xladoctor.report import terminal
from xladoctor.report.interface import Style
from xladoctor.report.json import schema
from xladoctor.report.rule_page import page

DOCS = Path(__file__).resolve().parent
SAMPLE = "sample_traces/recompiling"
README = DOCS.parent / "README.md"
COMMANDS = ("run", "analyze", "capture", "compilations", "query", "stacks", "env", "rules",
            "explain")  # fmt: skip
BEGIN, END = "<!-- rules: generated -->", "<!-- end of rules -->"


def rule_table(rules: list[Rule], folder: str) -> str:
    """The rules as a Markdown table that links their pages."""
    rows = [f"| [{rule.id}]({folder}{rule.id}.md) | {rule.name} | {rule.title} |" for rule in rules]
    return "\n".join(["| Rule | Name | What it finds |", "| --- | --- | --- |", *rows]) + "\n"


def readme(rules: list[Rule]) -> str:
    """The README with its rule table made anew."""
    before, _, rest = README.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{rule_table(rules, 'docs/rules/')}{END}{after}"


def evidence_page() -> str:
    """Every table and column of the evidence."""
    parts = [
        "# Evidence: tables and columns\n\nWhat rules can query. Instants are nanoseconds of the"
        " wall clock, durations nanoseconds.\n"
    ]
    for name, table in TABLES.items():
        rows = "\n".join(
            f"| `{column}` | {described.type} | {described.text} |"
            for column, described in table.columns.items()
        )
        parts.append(
            f"## {name}\n\n{table.text[0].upper()}{table.text[1:]}. From: {table.source}.\n\n"
            f"| Column | Type | Meaning |\n| --- | --- | --- |\n{rows}\n"
        )
    return "\n".join(parts)


def picture() -> str:
    """The terminal report of a sample trace, as an SVG image."""
    diagnosis = diagnose(load(SAMPLE), load_rules())
    text = io.StringIO()
    terminal.render(diagnosis, text, Style(width=80, color=True))
    console = Console(record=True, width=80, file=io.StringIO(), color_system="standard")
    console.print(Text.from_ansi(text.getvalue()))
    svg = console.export_svg(title="xladoctor run recompiling.py", unique_id="report")
    svg = re.sub(r"@font-face \{.*?\}", "", svg, flags=re.DOTALL)  # fonts fetched from elsewhere
    return "\n".join(line.rstrip() for line in svg.splitlines() if line.strip()) + "\n"


def help_page() -> str:
    """The help texts of all commands, 80 columns wide."""
    parts = ["# Commands\n"]
    for command in ("", *COMMANDS):
        shown = subprocess.run(
            [sys.executable, "-m", "xladoctor", *command.split(), "--help"],
            capture_output=True, text=True, check=True,
            env={**os.environ, "COLUMNS": "80", "TERM": "dumb", "NO_COLOR": "1"},
        ).stdout  # fmt: skip
        text = "\n".join(line.rstrip() for line in shown.strip("\n").splitlines())
        parts.append(f"## xladoctor {command}".rstrip() + f"\n\n```text\n{text}\n```\n")
    return "\n".join(parts)


def main() -> int:
    """Write or check all generated files."""
    os.chdir(DOCS.parent)  # so that the picture shows a relative path
    rules = load_rules()
    pages = {
        README: readme(rules),
        DOCS / "rules" / "README.md": f"# Rules\n\n{rule_table(rules, '')}",
        DOCS / "report.schema.json": json.dumps(schema(), indent=1) + "\n",
        DOCS / "evidence.md": evidence_page(),
        DOCS / "commands.md": help_page(),
        DOCS / "report.svg": picture(),
        **{DOCS / "rules" / f"{rule.id}.md": page(rule) for rule in rules},
    }
    stale = [path for path, text in pages.items() if not path.exists() or path.read_text() != text]
    if "--check" in sys.argv:
        for path in stale:
            print(f"{path.relative_to(DOCS.parent)} is not up to date: run `make docs`")
        return len(stale) > 0
    for path in stale:
        path.parent.mkdir(exist_ok=True)
        path.write_text(pages[path], encoding="utf-8")
        print(f"wrote {path.relative_to(DOCS.parent)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
