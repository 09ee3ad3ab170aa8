"""Writes what is made from other files: pages of rules, keys and commands, tables, schemas.

The pages of rules and of the evidence are for the site alone, and not committed: `--site` writes
only these. `--check` writes nothing, and fails if one of the others is not up to date.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import json
import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Mapping
from importlib import import_module
from itertools import takewhile
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from benchmarks import fixes
from tests.comparison.record import RECORDED, STAGES
from tests.journeys import journey as journeys
from tests.prescriptions import trial as prescriptions
from tests.report.captured import diagnosis
from xladoctor.comparison.compare import compare
from xladoctor.comparison.interface import Demand
from xladoctor.configuration import schema as configuration
from xladoctor.diagnosis import rule_schema
from xladoctor.diagnosis.case import Expected
from xladoctor.diagnosis.engine import diagnose
from xladoctor.diagnosis.pack import load_rules
from xladoctor.diagnosis.rule import Rule
from xladoctor.diagnosis.rule_row import ROW_COLUMNS
from xladoctor.doctor import load_evidence
from xladoctor.environment.releases import tried
from xladoctor.evidence.catalog import public_macros, public_views
from xladoctor.evidence.query_analysis import shapes
from xladoctor.evidence.reference import examples, view_columns
from xladoctor.evidence.schema import (
    CHANGES,
    EVIDENCE_VERSION,
    STABLE,
    TABLES,
    Column,
)
from xladoctor.fixes import registry
from xladoctor.frontends.vocabulary import vocabulary
from xladoctor.ingest import run_records
from xladoctor.report import comparison, comparison_json, terminal
from xladoctor.report.interface import Report, Style
from xladoctor.report.json import schema
from xladoctor.report.rule_page import page
from xladoctor.report.schema import UNITS
from xladoctor.rule_cases.judge import BASE, DEFAULTS
from xladoctor.rule_cases.trial import unpacked

DOCS = Path(__file__).resolve().parent
SHAPES = DOCS.parent / "xladoctor" / "evidence" / "query_shapes.json"
SAMPLE = "recompiling"
#: The run that pages show of each other framework; `tests.report.record` records them.
SHOWN = {
    "jax": "changing_shapes",
    "torch_tpu": "operators_one_by_one",
    "torch_compile": "print_in_step",
}
COMMANDS = (
    "run",
    "analyze",
    "report",
    "gate",
    "fix",
    "compare",
    "capture",
    "compilations",
    "query",
    "view",
    "stacks",
    "tpu-check",
    "env",
    "rules",
    "rules list",
    "rules new",
    "rules check",
    "rules test",
    "explain",
)
FAMILIES = {
    "XD1": "compiling",
    "XD2": "reads and uploads",
    "XD3": "what a step is made of",
    "XD4": "operators without a lowering",
    "XD5": "the host is the limit",
    "XD6": "the device's own time",
    "XD7": "settings and versions",
    "XD8": "pods: one process compared with the others",
    "XD9": "the evidence itself",
}
CONFIGURATION = DOCS / "configuration.md"
PRESCRIPTIONS = DOCS / "prescriptions.md"
README = DOCS.parent / "README.md"
START = DOCS / "start.md"
COMPARE = DOCS / "compare.md"
READING = DOCS / "reading.md"
TROUBLESHOOTING = DOCS / "troubleshooting.md"
TORCH_TPU = DOCS / "torchtpu.md"
FIXES = DOCS / "fixes.md"
CASES = DOCS / "rule-cases.md"
RULES = DOCS / "rule-files.md"


def rules_page(rules: list[Rule]) -> str:
    """The rules by family, in tables that link their pages."""
    parts = ["# Rules\n"]
    for family, what in FAMILIES.items():
        rows = [
            f"| [{rule.id}]({rule.id}.md) | {rule.name} | {rule.title} | {rule.judged_by} |"
            for rule in rules
            if rule.id.startswith(family)
        ]
        table = ["| Rule | Name | What it finds | Goes by |", "| --- | --- | --- | --- |", *rows]
        parts.append(f"## {family}: {what}\n\n" + "\n".join(table) + "\n")
    return "\n".join(parts)


def filled(path: Path, **parts: str) -> str:
    """A page with the texts between its marks made anew."""
    page = path.read_text(encoding="utf-8")
    for what, text in parts.items():
        begin, end = f"<!-- {what}: generated -->", f"<!-- end of {what} -->"
        before, _, rest = page.partition(begin)
        _, _, after = rest.partition(end)
        page = f"{before}{begin}\n{text}{end}{after}"
    return page


def key_tables(schema: dict[str, Any]) -> str:
    """The keys of the configuration, a table for each table of the file."""
    gate, budgets = schema["$defs"]["Gate"], schema["$defs"]["Budgets"]
    return "\n".join(
        f"## `[{name}]`\n\n{text}| Key | Value | Default | Meaning |\n| --- | --- | --- | --- |\n"
        + "".join(
            f"| `{key}` | {value(entry)} | {default(entry)} | {entry['description']} |\n"
            for key, entry in table["properties"].items()
            if "description" in entry
        )
        for name, table, text in (
            ("tool.xladoctor", schema, ""),
            ("tool.xladoctor.gate", gate, ""),
            (
                "tool.xladoctor.gate.budgets",
                budgets,
                "What each counts: [the gate](gate.md#budgets). The same keys for some"
                " scripts alone:"
                ' `[tool.xladoctor.gate.scripts."GLOB"]`.\n\n',
            ),
        )
    )


def value(key: dict[str, Any]) -> str:
    """What a key takes, in words."""
    if "enum" in key:
        return ", ".join(f"`{choice}`" for choice in key["enum"])
    if "anyOf" in key:
        return " or ".join(value(choice) for choice in key["anyOf"])
    kind = key.get("type", "object")
    named = {"object": "table", "array": "list", "boolean": "true, false", "string": "text"}
    return named.get(kind, kind)


def default(key: dict[str, Any]) -> str:
    """What counts where the key is not given."""
    return f"`{json.dumps(key['default'])}`" if "default" in key else "none"


def evidence_page() -> str:
    """Every table, public view and macro of the evidence."""
    changes = "\n".join(f"- {version}: {what}" for version, what in sorted(CHANGES.items()))
    parts = [
        f"# Evidence: tables, views and macros\n\nWhat rules and `xladoctor query` can read, in"
        f" version {EVIDENCE_VERSION}. {UNITS}\n\nThe query below each runs on any evidence; [how"
        " to write a rule](writing-rules.md) makes a rule of one.\n",
        f"## Versions\n\n{changes}\n",
        "## Tables\n",
    ]
    for name, table in TABLES.items():
        text = f"{table.text[0].upper()}{table.text[1:]}. From: {table.source}."
        parts.append(evidence_entry(name, text, table.columns))
    parts.append("## Views\n")
    columns = view_columns()
    parts += [
        evidence_entry(name, view.text, columns[name]) for name, view in public_views().items()
    ]
    parts.append("## Macros\n")
    for name, macro in public_macros().items():
        call = f"`{macro.call}`{', a table' if macro.gives_rows else ''}. {macro.text}"
        parts.append(evidence_entry(name, call, {}))
    return "\n".join(parts)


def evidence_entry(name: str, text: str, columns: Mapping[str, Column]) -> str:
    """A table, view or macro: what it is, its columns, an example."""
    rows = "\n".join(
        f"| `{column}` | {described.type} | {described.text} |"
        for column, described in columns.items()
    )
    table = f"| Column | Type | Meaning |\n| --- | --- | --- |\n{rows}\n\n" if rows else ""
    text = f"*Stable.* {text}" if name in STABLE else text
    return f"### {name}\n\n{text}\n\n{table}```sql\n{examples()[name]}\n```\n"


def described(head: str, texts: Mapping[str, str]) -> str:
    """Names with what they mean, as a Markdown table."""
    escaped = {name: text.replace("|", r"\|") for name, text in texts.items()}
    rows = [f"| `{name}` | {text} |" for name, text in escaped.items()]
    return "\n".join([f"| {head} | Meaning |", "| --- | --- |", *rows]) + "\n"


def expected_values() -> str:
    """What a case may name of a finding."""
    return described(
        "Value", {name: str(field.description) for name, field in Expected.model_fields.items()}
    )


def kinds_table() -> str:
    """Each kind of fix, and the rules that name it."""
    rules = load_rules()
    rows = []
    for name in sorted(registry.names()):
        text = inspect.getdoc(import_module(f"xladoctor.fixes.kinds.{name}")) or ""
        named = ", ".join(rule.id for rule in rules if name in rule.fix_by)
        summary = text.partition("\n")[0].rstrip(".").replace("``", "`")
        rows.append(f"| `{name}` | {summary} | {named} |\n")
    return f"| Kind | What it does | Rules |\n| --- | --- | --- |\n{''.join(rows)}"


def names_table() -> str:
    """What takes the place of the names of the package that TorchTPU has replaced."""
    by_instead: dict[str, list[str]] = {}
    for name, instead in vocabulary("torch_tpu").replaced.items():
        by_instead.setdefault(instead, []).append(f"`{name}`")
    rows = [f"| {', '.join(names)} | {instead} |" for instead, names in by_instead.items()]
    return "\n".join(["| Name | In its place |", "| --- | --- |", *rows]) + "\n"


def tried_patches() -> str:
    """What came of the patches of the sick examples, as `python -m benchmarks.fixes` kept it."""
    kept = json.loads(fixes.KEPT.read_text(encoding="utf-8"))
    return f"{fixes.sums(kept)}\n\n{fixes.table(kept)}"


def row_defaults() -> str:
    """The values that rows of cases have where they do not say."""
    given = {"any table that has the column": BASE, **DEFAULTS}
    shown = {
        name: ", ".join(f"`{key}: {json.dumps(value)}`" for key, value in row.items())
        for name, row in given.items()
    }
    rows = [f"| {name} | {columns} |" for name, columns in shown.items()]
    return "\n".join(["| Table | Columns |", "| --- | --- |", *rows]) + "\n"


def report_text(name: str, **style: Any) -> str:
    """The terminal report of a run that tests of reports keep."""
    text = io.StringIO()
    terminal.render([Report(diagnosis(name))], text, Style(**style))
    return text.getvalue()


def quoted_verdict() -> str:
    """The verdict of the sample trace, as a quotation."""
    text = diagnosis(SAMPLE).verdict.text
    return textwrap.fill(text, 100, initial_indent="> ", subsequent_indent="> ") + "\n"


def quoted_finding(name: str, width: int = 80, *, begin: str = " 1 ") -> str:
    """A terminal report from the line that begins so to the end of its first finding."""
    lines = report_text(name, width=width, color=False).splitlines()
    first = next(nth for nth, line in enumerate(lines) if line.startswith(" 1 "))
    start = next(nth for nth, line in enumerate(lines) if line.startswith(begin))
    block = [*lines[start:first], *takewhile(str.strip, lines[first:])]
    return "\n".join(["```text", *(line.rstrip() for line in block), "```"]) + "\n"


def quoted_comparison() -> str:
    """The comparison of the two recorded runs on a terminal."""
    rules = load_rules()
    with contextlib.ExitStack() as stack:
        runs = []
        for stage in STAGES:
            folder = stack.enter_context(unpacked(RECORDED / f"{stage}.tar.xz"))
            stack.enter_context(contextlib.chdir(folder.parent))
            runs.append(diagnose(load_evidence(stage), rules))
        text = io.StringIO()
        comparison.render(compare(runs[0], runs[1], rules, Demand()), text, Style(width=80))
    return f"```text\n{text.getvalue()}```\n"


def picture() -> str:
    """The terminal report of the sample trace, as an SVG image."""
    console = Console(record=True, width=80, file=io.StringIO(), color_system="standard")
    console.print(Text.from_ansi(report_text(SAMPLE, width=80, color=True)))
    svg = console.export_svg(title="xladoctor run recompiling.py", unique_id="report")
    svg = re.sub(r"@font-face \{.*?\}", "", svg, flags=re.DOTALL)  # fonts fetched from elsewhere
    return "\n".join(line.rstrip() for line in svg.splitlines() if line.strip()) + "\n"


def help_page() -> str:
    """The help texts of all commands, 80 columns wide."""
    parts = ["# Commands\n"]
    for command in ("", *COMMANDS):
        shown = subprocess.run(
            [sys.executable, "-m", "xladoctor", *command.split(), "--help"],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "COLUMNS": "80", "TERM": "dumb", "NO_COLOR": "1"},
        ).stdout
        text = "\n".join(line.rstrip() for line in shown.strip("\n").splitlines())
        parts.append(f"## xladoctor {command}".rstrip() + f"\n\n```text\n{text}\n```\n")
    return "\n".join(parts)


def releases_table() -> str:
    """The releases that xladoctor was tried with."""
    rows = [
        f"| {row.framework} {row.version} | {row.python} | {', '.join(row.read)} |"
        for row in tried()
    ]
    return "\n".join(["| Release | Python | Read |", "| --- | --- | --- |", *rows]) + "\n"


def tried_table() -> str:
    """What came of each fix that was followed."""
    rows = []
    for trial in prescriptions.kept().values():
        rule = trial.patch.partition("/")[0]
        foretold = "" if trial.foretold_s is None else f"{trial.foretold_s:.2g}"
        if foretold and trial.basis == "bound":
            foretold = f"at most {foretold}"
        program = trial.program + f" ({trial.device})" * (trial.device != "CPU")
        cells = (
            f"[{rule}](rules/{rule}.md)",
            program,
            f"{trial.before_s:.3g}",
            f"{trial.after_s:.3g}",
            foretold,
            trial.left or "gone",
            ", ".join(trial.new) or "–",
        )
        rows.append(f"| {' | '.join(cells)} |")
    head = "| Rule | Program | Before s | After s | Foretold s | Left | New |"
    return "\n".join([head, "| --- | --- | ---: | ---: | ---: | --- | --- |", *rows]) + "\n"


def journeys_table() -> str:
    """How programs with several defects were healed."""
    rows = []
    for name, journey in journeys.kept().items():
        seconds = " → ".join(
            f"{'over ' * stage.ended}{stage.seconds:.3g}" for stage in journey.stages
        )
        found = " → ".join(", ".join(stage.findings) or "nothing" for stage in journey.stages)
        by_hand = f"{journey.expert.seconds:.3g}"
        rows.append(f"| {name} | {journey.rounds} | {seconds} | {by_hand} | {found} |")
    head = "| Program | Rounds | Seconds | By hand | Findings at warning or above |"
    return "\n".join([head, "| --- | ---: | --- | ---: | --- |", *rows]) + "\n"


def committed() -> dict[Path, str]:
    """The generated files that the repository has."""
    findings = {which: quoted_finding(name) for which, name in SHOWN.items()}
    return {
        CONFIGURATION: filled(CONFIGURATION, keys=key_tables(configuration.schema())),
        RULES: filled(
            RULES, keys=described("Key", rule_schema.KEYS), columns=described("Column", ROW_COLUMNS)
        ),
        TROUBLESHOOTING: filled(TROUBLESHOOTING, releases=releases_table()),
        PRESCRIPTIONS: filled(PRESCRIPTIONS, tried=tried_table(), journeys=journeys_table()),
        FIXES: filled(FIXES, kinds=kinds_table(), tried=tried_patches()),
        README: filled(README, **findings),
        START: filled(
            START,
            torch_xla=quoted_finding(SAMPLE),
            **findings | {"jax": quoted_finding(SHOWN["jax"], begin="xladoctor")},
        ),
        COMPARE: filled(COMPARE, comparison=quoted_comparison()),
        READING: filled(READING, verdict=quoted_verdict(), finding=quoted_finding(SAMPLE, 84)),
        TORCH_TPU: filled(TORCH_TPU, names=names_table()),
        CASES: filled(CASES, defaults=row_defaults(), values=expected_values()),
        DOCS / "rule.schema.json": json.dumps(rule_schema.schema(), indent=1) + "\n",
        DOCS / "configuration.schema.json": json.dumps(configuration.schema(), indent=1) + "\n",
        DOCS / "run-directory.schema.json": json.dumps(run_records.schema(), indent=1) + "\n",
        DOCS / "report.schema.json": json.dumps(schema(), indent=1) + "\n",
        DOCS / "comparison.schema.json": json.dumps(comparison_json.schema(), indent=1) + "\n",
        DOCS / "commands.md": help_page(),
        DOCS / "report.svg": picture(),
        SHAPES: shapes(rule.query for rule in load_rules()),
    }


def of_the_site() -> dict[Path, str]:
    """The pages that are made for the site."""
    rules = load_rules()
    return {
        DOCS / "evidence.md": evidence_page(),
        DOCS / "rules" / "README.md": rules_page(rules),
        **{DOCS / "rules" / f"{rule.id}.md": page(rule) for rule in rules},
    }


def main() -> int:
    """Write or check generated files."""
    os.chdir(DOCS.parent)  # so that the picture shows a relative path
    pages = of_the_site() if "--site" in sys.argv else committed()
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
