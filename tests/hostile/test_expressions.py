"""No regular expression takes more than linear time, whatever almost matches it."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from tests.hostile.near_matches import Expression, expressions, near_matches

_SHORT, _MOST_S = 500, 0.05  # what takes longer for so short a text grows by its third power
_LENGTH, _FEW_S = 12_000, 0.004  # what takes no longer need not be compared
#: Expressions, by the beginning of their name, whose text is cut to so many characters before.
_CUT = {
    "xladoctor.frontends.torch.ingest.text_records.": 5_000,
    "xladoctor.frontends.torch_xla.ingest.pasted_report._CUT_KEY": 500,
    "xladoctor.recording.bootstrap._xladoctor.pytorch.guards.": 5_000,
}
#: What reads the package's own files, or settings, rules and options that the user wrote.
_OWN = (
    "xladoctor.configuration.",
    "xladoctor.diagnosis.",
    "xladoctor.evidence.catalog.",
    "xladoctor.rule_cases.",
)
_MOST_OF_CUT_S = 1.0
_TIMES = 4
_PARTS = 64
_GROWTH = 1.3 * _TIMES


@cache
def found() -> list[Expression]:
    """To find them takes seconds, which the collection of tests, in each worker, does without."""
    return [each for each in expressions() if not each.name.startswith(_OWN)]


@pytest.mark.thorough
@pytest.mark.parametrize("part", range(_PARTS))
def test_time_of_expressions_is_linear(part: int) -> None:
    for each in found()[part::_PARTS]:
        slow = (text for text in near_matches(each.pattern) if grows(each, *text))
        assert next(slow, None) is None, f"{each.name} {each.pattern.pattern} {sorted(each.uses)}"


def grows(expression: Expression, before: str, pumped: str, after: str) -> bool:
    """Whether the time grows by more than the length of the text does."""

    def text(length: int) -> Any:
        known = before + pumped * max(1, length // len(pumped)) + after
        is_bytes = isinstance(expression.pattern.pattern, bytes)
        return known.encode("latin-1", "replace") if is_bytes else known

    cut = next((most for name, most in _CUT.items() if expression.name.startswith(name)), None)
    for use in _methods(expression):
        if cut:
            return _seconds(use, text(cut), 1) > _MOST_OF_CUT_S < _seconds(use, text(cut), 3)
        if _seconds(use, text(_SHORT), 1) > _MOST_S < _seconds(use, text(_SHORT), 3):
            return True
        if _seconds(use, text(_LENGTH), 1) > _FEW_S < _seconds(use, text(_LENGTH), 2):
            return all(  # a busy machine may disturb one of them
                _seconds(use, text(_TIMES * _LENGTH), 2) > _GROWTH * _seconds(use, text(_LENGTH), 5)
                for _ in range(3)
            )
    return False


def _methods(expression: Expression) -> list[Callable[[Any], object]]:
    pattern = expression.pattern
    kept = expression.uses & {"match", "fullmatch"}
    if expression.uses - kept:
        return [pattern.search]
    return [getattr(pattern, use) for use in sorted(kept)]


def _seconds(use: Callable[[Any], object], text: Any, times: int) -> float:
    """The shortest of several times."""
    seconds = []
    for _ in range(times):
        began = time.process_time()
        use(text)
        seconds.append(time.process_time() - began)
    return min(seconds)
