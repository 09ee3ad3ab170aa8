"""What the doctor says of every program whose truth is known, and whether it is true.

    python -m benchmarks.corpus                         # examples, and programs as they are ported
    python -m benchmarks.corpus ported --runs DIR       # one corpus; keeps the runs, or uses them
    python -m benchmarks.corpus ported --only mnist vae

Programs run one after the other through `xladoctor run`. A row has the program's wall time in
seconds, the share of it that the report accounts for, the first clause of the verdict, and the
first finding above info with its line. The last column says whether that is true: *yes*, *no*, or
*line* if the rule is right and its line is not. A program with nothing to fix must have no finding
above info.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.environment import for_cpu
from tests.live.harness import PROGRAMS, line_of, settings_of
from tests.live.test_examples import SICK
from tests.ported import truths

ROOT = Path(__file__).parents[1]
CORPORA = ("examples", "ported")
WIDTH = 100  # columns
LIMIT_S = 300  # for one program


@dataclass(frozen=True)
class Case:
    """A program, and which rules and lines are right for its first finding: none for no finding."""

    program: Path
    rules: set[str] = field(default_factory=set)
    lines: set[int] = field(default_factory=set)

    def judge(self, report: dict[str, Any]) -> str:
        """Whether the report is true: yes, line or no."""
        first = first_finding(report)
        if first is None or not self.rules:
            return "no" if first or self.rules else "yes"
        if first["rule"] not in self.rules:
            return "no"
        return "yes" if not self.lines or own_line(first, self.program) in self.lines else "line"


def examples() -> Iterator[Case]:
    """The programs of examples/: sick ones with their rule and its lines, and healthy ones."""
    for program in PROGRAMS:
        if sick := SICK.get(program.stem):
            texts = {(finding.lines or {}).get("guilty") for finding in sick.findings} - {None}
            yield Case(program, {sick.rule}, {line_of(program, str(text)) for text in texts})
        elif program.parent.name != "third_party" or program.stem.endswith("_healed"):
            yield Case(program)


def ported() -> Iterator[Case]:
    """The programs of tests/ported, by their truth files."""
    for name in truths.names():
        program = truths.PROGRAMS / f"{name}.py"
        wrong = truths.truth_of(name).wrong[:1]
        yield Case(
            program,
            {rule for defect in wrong for rule in defect.rules},
            {line for defect in wrong for line in truths.lines_of(name, defect)},
        )


def first_finding(report: dict[str, Any]) -> dict[str, Any] | None:
    """The first finding above info, if there is one."""
    return next((f for f in report["findings"] if f["severity"] != "info"), None)


def own_line(finding: dict[str, Any], program: Path) -> int | None:
    """The line of the program that a finding names first, be it the guilty one or its caller."""
    lines = [
        place["line"] for place in finding["locations"] if Path(place["file"]).name == program.name
    ]
    return lines[0] if lines else None


def diagnosed(program: Path, run: Path) -> dict[str, Any] | None:
    """The report on a program, made unless it is there; None if there is none to be had."""
    report = run / "diagnosis.json"
    if not report.exists():
        shutil.rmtree(run, ignore_errors=True)
        run.parent.mkdir(parents=True, exist_ok=True)
        command = [
            sys.executable,
            "-m",
            "xladoctor",
            "run",
            "--quiet",
            "-o",
            str(run),
            "--format",
            f"terminal={run}.txt",
            str(program),
        ]
        environment = {**for_cpu(), **settings_of(program)}
        try:
            subprocess.run(
                command,
                check=False,
                capture_output=True,
                env=environment,
                cwd=ROOT,
                timeout=LIMIT_S,
            )
        except subprocess.TimeoutExpired:
            return None
    return json.loads(report.read_text()) if report.exists() else None


def row(case: Case, report: dict[str, Any] | None) -> list[str]:
    """The cells of a program."""
    name = case.program.stem
    if report is None:
        return [name, "–", "–", "no report", "–", "no"]
    first = first_finding(report)
    explained = (report["time"]["explained"] or {}).get("share")
    return [
        name,
        f"{report['time']['total_s']:.1f}",
        "–" if explained is None else f"{explained:.0%}",
        re.split(r"[;.,](?= |$)", report["verdict"]["text"])[0],
        f"{first['rule']} :{own_line(first, case.program) or '?'}" if first else "none",
        case.judge(report),
    ]


def show(console: Console, title: str, rows: list[list[str]]) -> None:
    """Print the table of a corpus, and how many rows are true."""
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    table.add_column("program", no_wrap=True)
    table.add_column("wall s", justify="right", no_wrap=True)
    table.add_column("explained", justify="right", no_wrap=True)
    table.add_column("verdict", ratio=1)
    table.add_column("first finding", no_wrap=True)
    table.add_column("true", no_wrap=True)
    for cells in rows:
        table.add_row(*cells)
    console.print(table)
    judged = Counter(cells[-1] for cells in rows)
    console.print(
        f"{len(rows)} programs: {judged['yes']} true, {judged['line']} with another line,"
        f" {judged['no']} false\n"
    )


def main() -> None:
    """Run the programs, and print a table for each corpus."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("corpora", nargs="*", help="examples, ported; default: both")
    parser.add_argument("--only", nargs="+", help="programs, without .py; default: all")
    parser.add_argument("--runs", type=Path, help="folder that keeps the runs")
    asked = parser.parse_args()
    if unknown := set(asked.corpora) - set(CORPORA):
        parser.error(f"no corpus is called {', '.join(sorted(unknown))}")
    errors, console = Console(stderr=True), Console(width=WIDTH)
    with tempfile.TemporaryDirectory() as scratch:
        for corpus in asked.corpora or CORPORA:
            cases = list(examples() if corpus == "examples" else ported())
            rows = []
            for case in cases:
                if not asked.only or case.program.stem in asked.only:
                    errors.print(case.program.stem, style="dim")
                    run = (asked.runs or Path(scratch)) / corpus / case.program.stem
                    rows.append(row(case, diagnosed(case.program, run)))
            show(console, corpus, rows)


if __name__ == "__main__":
    main()
