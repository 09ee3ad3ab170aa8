"""Which function of the program puts a loader's batches together."""

from __future__ import annotations

import functools
from typing import Any

import pytest

from xladoctor.recording.bootstrap._xladoctor.pytorch.loaders import _codes_of


def collate(rows: list[Any], pad: int = 0) -> list[Any]:
    return [*rows, pad]


class Wrapper:
    def __init__(self, inner: Any) -> None:
        self.description, self.inner = "training", inner

    def __call__(self, rows: list[Any]) -> Any:
        return self.inner(rows)

    def method(self, rows: list[Any]) -> Any:
        return self(rows)


@pytest.mark.parametrize(
    ("function", "runs"),
    [
        (collate, [collate]),
        (functools.partial(collate, pad=1), [collate]),
        (Wrapper(collate).method, [Wrapper.method]),
        (Wrapper(collate), [Wrapper.__call__, collate]),
        (len, [None]),
    ],
    ids=["function", "partial", "method", "wrapper", "builtin"],
)
def test_code_that_a_collate_function_runs(function: Any, runs: list[Any]) -> None:
    codes = [code for code in _codes_of(function) if code is not None]
    assert codes == [part.__code__ for part in runs if part is not None]
