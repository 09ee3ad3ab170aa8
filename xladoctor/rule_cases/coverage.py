"""Finds the statements of a rule's ``false_positives`` that its cases try."""

from __future__ import annotations

import re
from collections.abc import Iterator

from xladoctor.diagnosis.case import Case
from xladoctor.diagnosis.rule import Rule

_BETWEEN_SENTENCES = re.compile(r"(?<=\.) (?=[A-Z])")


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
