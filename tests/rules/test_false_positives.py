"""Each statement of a rule on when it is wrong was tried: a case names it, or a program here.

A case names words of it in ``tries``. What only a clock shows, a program of ``benchmarks`` prints.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.rules.test_rules import CASES, HERE, RULES, given
from xladoctor.diagnosis.case import Case
from xladoctor.rule_cases.check import statements, unstated

#: Words of a statement, and the program or test that tries it.
BY_PROGRAM = {
    "XD306": {"the thread that sends competes": "examples/batches_sent_in_step_healed.py"},
    "XD315": {"records stacks or shapes": "benchmarks/profiler_stacks.py"},
    "XD402": {"for the common arguments": "tests/live/test_replacements.py"},
    "XD502": {"in the timeline's window": "benchmarks/profiler_alone.py"},
    "XD607": {"Recording stacks and shapes": "benchmarks/profiler_stacks.py"},
    "XD612": {"Recording stacks": "benchmarks/profiler_stacks.py"},
}


def cases(rule: str) -> list[Case]:
    return [Case.model_validate(given(path)) for path in CASES if path.parent.name == rule]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_each_statement_was_tried(rule: Any) -> None:
    tried = [words for case in cases(rule.id) for words in case.tries]
    tried += BY_PROGRAM.get(rule.id, {})
    stated = [text for text in statements(rule) if not text.startswith("None")]
    assert [text for text in stated if not any(words in text for words in tried)] == []


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_cases_try_what_the_rule_states(rule: Any) -> None:
    assert [found for case in cases(rule.id) for found in unstated(rule, case)] == []


def test_programs_try_what_rules_state() -> None:
    stated = {rule.id: statements(rule) for rule in RULES}
    for rule, programs in BY_PROGRAM.items():
        for words, program in programs.items():
            assert any(words in text for text in stated[rule])
            assert (HERE.parents[1] / program).is_file()
