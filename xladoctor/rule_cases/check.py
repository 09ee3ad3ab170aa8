"""Checks rule files: their form, and their query and message against empty evidence."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb
from jinja2 import TemplateAssertionError, meta, nodes

from xladoctor.diagnosis import third_party
from xladoctor.diagnosis.case import Case
from xladoctor.diagnosis.phrases import TEMPLATES
from xladoctor.diagnosis.rule import Rule, RuleError
from xladoctor.diagnosis.rule_file import Document, Fault, Read, read_case, read_rule
from xladoctor.diagnosis.rule_row import ROW_COLUMNS, RuleRow
from xladoctor.diagnosis.sandbox import contained
from xladoctor.evidence.interface import Evidence
from xladoctor.rule_cases.evidence import complete
from xladoctor.rule_cases.query_columns import Column, columns_in

_MARKED = re.compile(r"^LINE (\d+): ")
#: The text before the query in its first line.
_BEFORE = "DESCRIBE "
#: DuckDB's types of a row's columns, and their description.
_TYPES = {
    **dict.fromkeys(
        ("integer", "number"),
        (r"(U?(TINY|SMALL|BIG|HUGE)?(INT|INTEGER)|DOUBLE|FLOAT|DECIMAL.*)", "number"),
    ),
    "boolean": ("BOOLEAN", "true or false"),
    "string": ("VARCHAR", "text"),
    "object": ("STRUCT.*", "struct"),
}
_BETWEEN_SENTENCES = re.compile(r"(?<=\.) (?=[A-Z])")
_COLUMNS = RuleRow.model_json_schema(mode="validation")["properties"]


def rule_files(places: Iterable[Path]) -> list[Path]:
    """The rule files that paths name: files, and folders of them. Raises RuleError."""
    files: list[Path] = []
    for place in places:
        if not place.exists():
            raise RuleError(
                f"{place}: no such file or directory",
                "name rule files (*.yaml), or folders of them",
            )
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
        cases = [read_case(file) for file in case_files(path)]
        faults += [*_unstated(read, cases), *(fault for case in cases for fault in case.faults)]
    return sorted(set(faults))


def _unstated(read: Read, cases: Iterable[Read]) -> Iterator[Fault]:
    """Faults for what cases try but the rule's false_positives do not state."""
    rule = read.value
    if not (rule and read.document):
        return
    own = [(read.document, ["cases", number], case) for number, case in enumerate(rule.cases)]
    apart = [(case.document, list[Any](), case.value) for case in cases if case.document]
    for document, at, case in [*own, *apart]:
        for index, words in unstated(rule, case) if case else ():
            yield document.fault(
                [*at, "tries", index], f"tries: no sentence of false_positives has “{words}”"
            )


def nothing() -> Evidence:
    """Evidence without a row, closed to the outside."""
    evidence = complete({})
    evidence.database.close_to_the_outside()
    return evidence


def check_query(read: Read, evidence: Evidence) -> list[Fault]:
    """Faults of a rule's query and message that only a database can find."""
    rule, document = read.value, read.document
    if not (rule and document):
        return []
    try:
        columns = _columns(rule.query, rule.parameters({}), evidence)
        fields = _fields(rule.query, rule.parameters({}), evidence) if "cause" in columns else set()
        selects = list(columns_in(rule.query))
    except duckdb.Error as error:
        return [_refused(document, error)]
    wrong = [*_misfits(columns), *(["returns no column count"] if "count" not in columns else [])]
    faults = [document.fault(["query"], f"query: {text}") for text in wrong]
    faults += [
        document.fault_within(["query"], line, column, f"query: {text}")
        for select in selects
        for line, column, text in _miswritten(select)
    ]
    of_frontends = (
        (["per_frontend", name, "message"], texts.message)
        for name, texts in rule.per_frontend.items()
    )
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
        named = ", ".join(unknown)
        yield f"returns unknown columns: {named} (docs/rule-files.md has those that may be)"
    for name in [column for column in columns if column in ROW_COLUMNS]:
        pattern, expected = _expected(_COLUMNS[name])
        if columns[name] != '"NULL"' and not re.fullmatch(pattern, columns[name]):
            yield f"column {name} is {columns[name]}: expected {expected}"
    for place in ("related", "also"):
        if f"{place}_file" in columns and f"{place}_role" not in columns:
            yield f"returns {place}_file without {place}_role"


def _expected(described: dict[str, Any]) -> tuple[str, str]:
    """The pattern of a column's type, and what that is, of its JSON Schema."""
    parts = described.get("anyOf", [described])
    kinds = [_kind(part) for part in parts if part.get("type") != "null"]
    return "|".join(pattern for pattern, _ in kinds), " or ".join(name for _, name in kinds)


def _kind(described: dict[str, Any]) -> tuple[str, str]:
    if described.get("type") == "array":
        items = [
            part
            for part in described["items"].get("anyOf", [described["items"]])
            if part.get("type") != "null"
        ]
        pattern, name = _TYPES[items[0].get("type", "object")]
        return rf"{pattern}\[\]", f"a list of {name}s"
    pattern, name = _TYPES[described.get("type", "object")]
    return pattern, name if " " in name else f"a {name}"


def _miswritten(select: Iterable[Column]) -> Iterator[tuple[int, int, str]]:
    """Faults for duplicate columns, of which rows have the last, and for invalid words."""
    seen = set[str]()
    for column in select:
        if column.name and column.name in seen:
            yield column.line, column.column, f"column {column.name} is there twice"
        seen.add(column.name)
        words = _words(column.name)
        yield from (
            (line, at, f"{column.name} is {text}: expected {', '.join(words[:-1])} or {words[-1]}")
            for text, line, at in column.texts
            if words and text not in words
        )


def _words(column: str) -> list[str]:
    """The words that a column can be, if it is limited to some."""
    described = _COLUMNS.get(column, {})
    return next((part["enum"] for part in described.get("anyOf", []) if "enum" in part), [])


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
            return document.fault_within(
                ["query"], line, column if known else None, f"query: {first}{hint}"
            )
    return document.fault(["query"], f"query: {first}{hint}")


def _unknown_in_message(
    document: Document,
    location: Sequence[str],
    message: str,
    columns: set[str],
    fields: set[str],
) -> Iterator[Fault]:
    """Names in a message that the query does not return."""
    tree = TEMPLATES.parse(message)
    # Jinja computes the constants in it, which may be of any size.
    names, why = contained(lambda: _undeclared(tree), third_party.MESSAGES_S)
    wrong = [name for name in names if not isinstance(name, str)] or [(1, why)] * bool(why)
    if wrong:
        line, fault = wrong[0]
        yield document.fault_within(location, line, None, f"message: {fault}")
        return
    # Of files the message has what reports show, also where the query has none.
    always = {"cause", "file", "user_file", "related_file", "also_file"}
    found = [
        (part.lineno, part.name, f"the query returns no {part.name}")
        for part in tree.find_all(nodes.Name)
        if part.name in {*names} - columns - always
    ]
    found += [
        (part.lineno, field, f"cause has no {field}")
        for part in tree.find_all((nodes.Getattr, nodes.Getitem))
        if (field := _field_of_cause(part)) is not None and field not in fields
    ]
    found += [
        (part.lineno, "", "there is nothing to include, import or extend")
        for part in tree.find_all((nodes.Include, nodes.Import, nodes.FromImport, nodes.Extends))
    ]
    lines = re.split(r"\r\n|\r|\n", message)  # as Jinja counts them
    for line, word, text in found:
        code = lines[line - 1].find("{")  # text before it is not a name
        at = lines[line - 1].find(word, max(code, 0))
        yield document.fault_within(location, line, max(at, 0), f"message: {text}")


def _undeclared(tree: nodes.Template) -> Iterator[str | tuple[int, str | None]]:
    """Names that a template does not define; or a line and what is wrong in it."""
    try:
        yield from meta.find_undeclared_variables(tree)
    except TemplateAssertionError as error:  # a filter or test that does not exist
        yield error.lineno, error.message


def _field_of_cause(part: nodes.Node) -> str | None:
    """The field that ``cause.field`` or ``cause['field']`` names."""
    if not (
        isinstance(part, nodes.Getattr | nodes.Getitem)
        and isinstance(part.node, nodes.Name)
        and part.node.name == "cause"
    ):
        return None
    if isinstance(part, nodes.Getattr):
        return part.attr
    return str(part.arg.value) if isinstance(part.arg, nodes.Const) else None


def statements(rule: Rule) -> list[str]:
    """The sentences on when the rule is wrong, each without line breaks."""
    texts = [rule.false_positives, *(own.false_positives for own in rule.per_frontend.values())]
    return [
        sentence for text in texts if text for sentence in _BETWEEN_SENTENCES.split(_one_line(text))
    ]


def unstated(rule: Rule, case: Case) -> Iterator[tuple[int, str]]:
    """What a case tries but the rule does not state, with its index in ``tries``."""
    stated = statements(rule)
    for index, words in enumerate(case.tries):
        if not any(_one_line(words) in sentence for sentence in stated):
            yield index, words


def _one_line(text: str) -> str:
    return " ".join(text.split())
