"""Rules of the pack stay short: what takes many lines is a view, and SQL decides between texts."""

from __future__ import annotations

import pytest

from xladoctor.diagnosis.pack import load_rules
from xladoctor.diagnosis.rule import Rule

LINES = 40  # of a query
TAGS = 12  # of a text: {% if … %}, {% for … %}
TEXTS = ("message", "why")
RULES = load_rules()


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_queries_are_short(rule: Rule) -> None:
    assert sum(bool(line.strip()) for line in rule.query.splitlines()) <= LINES


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_texts_decide_little(rule: Rule) -> None:
    given = {"": rule, **rule.per_frontend}
    tags = {
        (frontend, field): (getattr(texts, field) or "").count("{%")
        for frontend, texts in given.items()
        for field in TEXTS
    }
    assert {at: count for at, count in tags.items() if count > TAGS} == {}
