"""No regular expression takes more than linear time, whatever almost matches it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.hostile.near_matches import Expression, expressions, near_matches

_SHORT, _MOST_S = 500, 0.05  # what takes longer for so short a text grows by its third power
_LENGTH, _FEW_S = 12_000, 0.004  # what takes no longer need not be compared
_TIMES = 4
_GROWTH = 1.3 * _TIMES


@pytest.mark.parametrize("expression", expressions(), ids=lambda each: each.name)
def test_time_of_an_expression_is_linear(expression: Expression) -> None:
    slow = (text for text in near_matches(expression.pattern) if grows(expression, *text))
    assert next(slow, None) is None, f"{expression.pattern.pattern} {sorted(expression.uses)}"


def grows(expression: Expression, before: str, pumped: str, after: str) -> bool:
    """Whether the time grows by more than the length of the text does."""

    def text(length: int) -> Any:
        known = before + pumped * max(1, length // len(pumped)) + after
        is_bytes = isinstance(expression.pattern.pattern, bytes)
        return known.encode("latin-1", "replace") if is_bytes else known

    for use in _methods(expression):
        if _seconds(use, text(_SHORT), 1) > _MOST_S < _seconds(use, text(_SHORT), 3):
            return True
        if _seconds(use, text(_LENGTH), 1) > _FEW_S < _seconds(use, text(_LENGTH), 2):
            longer = _seconds(use, text(_TIMES * _LENGTH), 2)
            return longer > _GROWTH * _seconds(use, text(_LENGTH), 5)
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
