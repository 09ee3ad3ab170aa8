"""What is wrong with rule files: their form, and their query and message against no evidence."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb
from jinja2 import TemplateAssertionError, meta, nodes

from xladoctor.diagnosis.rule import ROW_COLUMNS, TEMPLATES, RuleError
from xladoctor.diagnosis.rule_file import Document, Fault, Read, read_case, read_rule
from xladoctor.evidence.interface import Evidence
from xladoctor.rule_cases.made import complete

_MARKED = re.compile(r"^LINE (\d+): ")
#: What is in the query's first line before it.
_BEFORE = "DESCRIBE "
_NUMBERS = r"(U?(TINY|SMALL|BIG|HUGE)?(INT|INTEGER)|DOUBLE|FLOAT|DECIMAL.*)"
#: Columns that are no texts, with their types and what those are called; all may be NULL.
_TYPES = {
    **dict.fromkeys(("process", "line", "user_line", "related_line", "also_line", "count",
                     "per_step", "cost_ns", "at_most"), (_NUMBERS, "a number")),
    **dict.fromkeys(("stalls", "unbounded", "healthy", "settled"), ("BOOLEAN", "true or false")),
    "cause": ("STRUCT.*", "a struct"),
    "claim": ("STRUCT.*", "what claim() makes, or a list of it"),
    "compilations": (rf"{_NUMBERS}\[\]", "a list of numbers"),
    "consequences": (r"VARCHAR\[\]", "a list of texts"),
}  # fmt: skip


def rule_files(places: Iterable[Path]) -> list[Path]:
    """The rule files that paths name: files, and folders of them. Raises RuleError."""
    files: list[Path] = []
    for place in places:
        if not place.exists():
            raise RuleError(f"{place}: no such file or directory",
                            "name rule files (*.yaml), or folders of them")  # fmt: skip
        found = sorted(place.glob("*.yaml")) if place.is_dir() else [place]
        if not found:
            raise RuleError(f"{place}: no rule in it", "rule files are named *.yaml")
        files += (file for file in found if file not in files)
    return files


def case_files(rule: Path, cases: Path | None = None) -> list[Path]:
    """The files with cases of a rule: of the folder that has its id, beside it or in ``cases``."""
    return sorted(((cases or rule.parent) / rule.stem.partition("-")[0]).glob("*.yaml"))


def check(files: Sequence[Path]) -> list[Fault]:
    """All faults of rule files and of the cases beside them, by file and line."""
    evidence, faults = nothing(), []
    ids: dict[str, Path] = {}
    for path in files:
        read = read_rule(path)
        faults += [*read.faults, *check_query(read, evidence)]
        if read.document and read.value:
            first = ids.setdefault(read.value.id, path)
            if first != path:
                faults.append(read.document.fault(["id"], f"id: {first} has it too"))
        faults += [fault for file in case_files(path) for fault in read_case(file).faults]
    return sorted(set(faults))


def nothing() -> Evidence:
    """Evidence without a row, closed to the outside."""
    evidence = complete({})
    evidence.database.close_to_the_outside()
    return evidence


def check_query(read: Read, evidence: Evidence) -> list[Fault]:
    """Faults of a rule's query and message that only a database can tell."""
    rule, document = read.value, read.document
    if not (rule and document):
        return []
    try:
        columns = _columns(rule.query, rule.parameters({}), evidence)
        fields = _fields(rule.query, rule.parameters({}), evidence) if "cause" in columns else set()
    except duckdb.Error as error:
        return [_refused(document, error)]
    wrong = [*_misfits(columns), *(["returns no column count"] if "count" not in columns else [])]
    faults = [document.fault(["query"], f"query: {text}") for text in wrong]
    of_frontends = ((["per_frontend", name, "message"], texts.message)
                    for name, texts in rule.per_frontend.items())  # fmt: skip
    for location, message in ((["message"], rule.message), *of_frontends):
        if message:
            faults += _unknown_in_message(document, location, message, set(columns), fields)
    return faults


def _columns(query: str, parameters: dict[str, Any], evidence: Evidence) -> dict[str, str]:
    """The columns of a query with their types."""
    rows = evidence.database.rows(_BEFORE + query.rstrip().rstrip(";"), parameters)
    return {row["column_name"]: row["column_type"] for row in rows}


def _fields(query: str, parameters: dict[str, Any], evidence: Evidence) -> set[str]:
    """The fields of the column ``cause``; empty if it is not a struct."""
    try:
        inner = f"SELECT unnest(cause) FROM (\n{query.rstrip().rstrip(';')}\n)"  # noqa: S608
        return set(_columns(inner, parameters, evidence))
    except duckdb.BinderException:
        return set()


def _misfits(columns: dict[str, str]) -> Iterator[str]:
    if unknown := sorted(set(columns) - set(ROW_COLUMNS)):
        yield f"returns unknown columns: {', '.join(unknown)} (docs/rules.md has those that may be)"
    for name in [column for column in columns if column in ROW_COLUMNS]:
        pattern, expected = _TYPES.get(name, ("VARCHAR", "a text"))
        if columns[name] != '"NULL"' and not re.fullmatch(pattern, columns[name]):
            yield f"column {name} is {columns[name]}: expected {expected}"
    for place in ("related", "also"):
        if f"{place}_file" in columns and f"{place}_role" not in columns:
            yield f"returns {place}_file without {place}_role"


def _refused(document: Document, error: duckdb.Error) -> Fault:
    """DuckDB's error at its place in the file."""
    first, *others = [line for line in str(error).splitlines() if line.strip()]
    hint = next((f" ({line})" for line in others if line.startswith(("Candidate", "Did you"))), "")
    for number, text in enumerate(others[:-1]):
        if mark := _MARKED.match(text):
            line, shown = int(mark[1]), text[mark.end() :]
            column = others[number + 1].find("^") - mark.end()
            column -= len(_BEFORE) if line == 1 else 0
            known = column >= 0 and not shown.startswith("...")  # not cut at its beginning
            return document.fault_within(["query"], line, column if known else None,
                                         f"query: {first}{hint}")  # fmt: skip
    return document.fault(["query"], f"query: {first}{hint}")


def _unknown_in_message(
    document: Document, location: Sequence[str], message: str, columns: set[str],
    fields: set[str],
) -> Iterator[Fault]:  # fmt: skip
    """Names in a message that the query does not return."""
    try:
        tree = TEMPLATES.parse(message)
        names = meta.find_undeclared_variables(tree)
    except TemplateAssertionError as error:  # a filter or test that does not exist
        yield document.fault_within(location, error.lineno, None,
                                    f"message: {error.message}")  # fmt: skip
        return
    # Of files the message has what reports show, also where the query has none.
    always = {"cause", "file", "user_file", "related_file", "also_file"}
    for name in tree.find_all(nodes.Name):
        if name.name in names - columns - always:
            yield document.fault_within(location, name.lineno, None,
                                        f"message: the query returns no {name.name}")  # fmt: skip
    for part in tree.find_all(nodes.Getattr):
        if (
            isinstance(part.node, nodes.Name)
            and part.node.name == "cause"
            and (part.attr not in fields)
        ):
            text = f"message: cause has no {part.attr}"
            yield document.fault_within(location, part.lineno, None, text)
