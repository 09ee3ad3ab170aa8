"""The JSON report: valid by its own schema, and whole."""

from __future__ import annotations

import io
import json
import re
from dataclasses import asdict, replace
from typing import Any

import jsonschema
import pytest

from tests.report.diagnoses import SICK, TEXT
from xladoctor.diagnosis.interface import Diagnosis
from xladoctor.quantities import duration, percent
from xladoctor.report import terminal
from xladoctor.report.interface import Report, Style
from xladoctor.report.json import render, schema


def rendered(diagnosis: Diagnosis, style: Style | None = None) -> str:
    output = io.StringIO()
    render([Report(diagnosis)], output, style or Style())
    return output.getvalue()


def report(diagnosis: Diagnosis) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(rendered(diagnosis))
    return loaded


def leaves(value: Any) -> list[Any]:
    """All strings and numbers in a report."""
    if isinstance(value, dict):
        return [leaf for part in value.values() for leaf in leaves(part)]
    if isinstance(value, list):
        return [leaf for part in value for leaf in leaves(part)]
    return [value]


@pytest.mark.parametrize("diagnosis", [SICK, TEXT], ids=["sick", "text"])
def test_report_is_valid_by_its_schema(diagnosis: Diagnosis) -> None:
    jsonschema.Draft202012Validator.check_schema(schema())
    jsonschema.validate(report(diagnosis), schema(), jsonschema.Draft202012Validator)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("schema_version", "one"),
        ("findings", None),
        ("verdict", {"bound_by": "luck", "text": ""}),
        ("steps", {"count": 1}),
        ("tool", {}),
    ],
)
def test_schema_refuses_what_is_none(path: str, value: Any) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**report(SICK), path: value}, schema())


def test_report_is_the_diagnosis_at_full_precision() -> None:
    assert report(SICK) == {
        name: value
        for name, value in asdict(replace(SICK, pack={})).items()
        if name not in ("pack", "pictures", "traits")
    }
    assert report(SICK)["findings"][3]["cost"]["share"] == 0.00003


def test_core_of_the_contract() -> None:
    first = report(SICK)["findings"][0]
    assert list(report(SICK)) == [
        "schema_version",
        "tool",
        "run",
        "verdict",
        "time",
        "steps",
        "devices",
        "counts",
        "findings",
        "rules",
        "not_checked",
        "ignored",
        "warnings",
        "total_steps",
        "labels",
        "step_groups",
        "tpu_graphs",
        "memory",
        "shardings",
        "pod",
    ]
    assert list(first) == [
        "rule",
        "name",
        "severity",
        "severity_by_counts",
        "title",
        "locations",
        "count",
        "per_step",
        "processes",
        "cost",
        "saving",
        "cause",
        "consequences",
        "message",
        "why",
        "fix",
        "example",
        "fingerprint",
        "subject",
        "recurs",
        "compilations",
        "place",
        "about",
        "tried",
        "suggestion",
    ]
    assert list(first["locations"][0]) == [
        "file",
        "line",
        "function",
        "role",
        "source",
        "span",
    ]


def test_report_for_an_encoding_without_unicode_says_the_same() -> None:
    plain = rendered(SICK, Style(unicode=False))
    assert plain.isascii()
    assert json.loads(plain) == report(SICK)
    assert "größe" in rendered(SICK)


@pytest.mark.parametrize("diagnosis", [SICK, TEXT], ids=["sick", "text"])
def test_every_value_that_the_terminal_shows_is_in_the_report(diagnosis: Diagnosis) -> None:
    output = io.StringIO()
    terminal.render([Report(diagnosis)], output, Style(400))
    data = leaves(report(diagnosis))
    numbers = [value for value in data if isinstance(value, (int, float))]
    texts = (
        " ".join(str(value) for value in data)
        + " "
        + " ".join(
            text
            for n in numbers
            for text in (duration(n), duration(n / 1e3), percent(n), f"{n:.2g}")
        )
    )
    loop = diagnosis.time.loop_s or 1.0
    texts += " ".join(percent(n / loop) for n in numbers)
    rules = diagnosis.rules
    counts = [
        len(rules.fired),
        len(rules.clear),
        len(rules.not_evaluated),
        len(diagnosis.ignored),
        *range(1, len(diagnosis.findings) + 1),
    ]
    known = set(re.findall(r"\d+(?:\.\d+)?", texts)) | {str(count) for count in counts}

    shown = set(re.findall(r"\d+(?:\.\d+)?", output.getvalue()))

    assert shown - known == set()
