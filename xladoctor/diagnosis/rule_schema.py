"""The JSON Schema of rule files, from the models: for editors, and for the docs."""

from __future__ import annotations

from typing import Any

from xladoctor.diagnosis.case import Series
from xladoctor.diagnosis.rule import Rule
from xladoctor.evidence.schema import TABLES
from xladoctor.json_schema import described

#: The purpose of each key of a rule file.
KEYS = {
    "id": "two capitals or more, of your own, and three or four digits: ACME001",
    "name": "what the pattern is called, phrased to read well after “allow …”",
    "title": "a headline",
    "category": "family of the rule",
    "severity": "error, warning or info: the highest severity that a finding can have",
    "confidence": "high, medium or low: how sure the rule is",
    "judged_by": "counts (the same in every run, on any machine, so the gate can"
    " judge them) or time",
    "about": "loop (the default), run (it judges settings or the capture) or results (the"
    " program computes something wrong; such findings come first)",
    "recurs": "false if it may be over after some steps, so that runs compare by counts, not rates",
    "curable": "false if there is nothing to do, so that no fix saves what it costs",
    "waits": "true if its cost is the host's wait for the device",
    "spares_later_runs": "true if its fix saves warm-up compiling only in later runs",
    "parts": "parts of the time that its cost comes from, in this order, if it claims none;"
    " by default those of its category",
    "covers": "rules whose findings are left out, as parts of its own, if they are on"
    " the same processes",
    "events": "what it counts, if expectations count that too:"
    " compilations, host_syncs or fallbacks",
    "causes": "kinds of recompilation that it covers: $causes in the query",
    "decided_by": "loop or condition: the construct around the operation that the row names, which"
    " is then the finding's first line",
    "reads": "kinds of reads that it covers: $reads in the query",
    "verdict": "bound_by and text: what limits a program with such a finding above info",
    "status": "preview (its findings are information, unless select has its full id), stable or"
    " deprecated",
    "since": "the version that it came with",
    "evidence": "what shows that it is right, if no example on a CPU does",
    "applies_to": "its frameworks: trait, what they do; frontend, by name; with_table,"
    " without_table: only for evidence that has, or lacks, a table",
    "needs": "tables that it needs to be judged (a|b: one of them is enough)",
    "not_evaluated": "the sentence to print for each of them that is missing",
    "needs_rows": "tables or views that must have a row, each with the sentence to print",
    "clear_needs_rows": "tables or views that must have a row for the rule to be clear: else"
    " it counts as not evaluated",
    "needs_steps": "steps that another profiler's timeline must have for the rule to be"
    " clear: else it counts as not evaluated",
    "thresholds": "named numbers, used in the query as $name; users can change them",
    "query": "one SELECT over the evidence; each row is a finding",
    "message": "Jinja template over the row's columns: the values of this finding; `percent` writes"
    " a share, `duration` seconds, `places` a list of lines",
    "why": "why that is slow",
    "fix": "what to do about it",
    "fix_here": "the fix for the finding's cause, a template like `message`. It knows the"
    " line's code as `source`, the line of its barrier as `barrier`, whether it is `below_barrier`,"
    " the place of a barrier in a function that the loop calls as `barrier_called`, and a loop"
    " without a barrier as `unbarred`. If it is empty, reports show `fix`",
    "fix_by": "kinds of `xladoctor fix` that can follow the fix, in the order in which they are"
    " tried (docs/fixes.md)",
    "untried": "why no test follows the fix and measures what it saves, if none can",
    "example": "code that triggers the rule, and the same code fixed, or the name of a pair of"
    " programs in examples/ that differ in this; only in `per_frontend` if the code is"
    " one framework's",
    "per_frontend": "texts for one framework, or for all with a trait: title, message, why,"
    " fix, example and others. The rule's own texts apply to any framework, so they name none; for"
    " nouns that differ they use `{{ words.tensor }}`, `graph`, `launch`, `input`, `compiled` or"
    " `barrier`, with `| plural`, `| a` or `| capitalize`",
    "false_positives": "when it is wrong, and how to tell",
    "references": "where to read more",
    "cases": "evidence that must, and that must not, trigger it",
}


def schema() -> dict[str, Any]:
    """The schema, as published in ``docs/rule.schema.json``."""
    rule = described(Rule, null=True)
    for key, entry in rule["properties"].items():
        rule["properties"][key] = {"description": KEYS[key], **entry}
    tables = rule["$defs"]["Case"]["properties"]["tables"]
    tables |= {"properties": {name: _rows(name) for name in TABLES}, "additionalProperties": False}
    rule["$defs"]["Series"] = described(Series, null=True)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **rule,
        "title": "A rule of xladoctor",
        "description": "A rule file; docs/rule-files.md and docs/writing-rules.md explain it.",
    }


def _rows(table: str) -> dict[str, Any]:
    """The rows of a table in a case."""
    count = {"description": "how many rows this one stands for", "type": "integer"}
    columns = {name: {"description": column.text} for name, column in TABLES[table].columns.items()}
    row = {
        "type": "object",
        "properties": {"rows": count, **columns},
        "additionalProperties": False,
    }
    return {"description": TABLES[table].text, "type": "array", "items": row}
