"""Which function of the program puts a loader's batches together, and the rows of the last."""

from __future__ import annotations

import functools
from typing import Any

import pytest
from torch.utils.data import RandomSampler, SequentialSampler

from xladoctor.recording.bootstrap._xladoctor.pytorch.loaders import _codes_of, _last_batch


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


class Unready:
    def __len__(self) -> int:
        raise NotImplementedError


@pytest.mark.parametrize(
    ("sampler", "rows"),
    [
        (RandomSampler(range(80)), 0),
        (RandomSampler(range(83)), 3),
        (SequentialSampler(range(5)), 5),
        (SequentialSampler(Unready()), None),
        (range(83), None),
    ],
    ids=["full", "smaller", "fewer than a batch", "no length yet", "the program's own"],
)
def test_rows_of_the_last_batch(sampler: Any, rows: int | None) -> None:
    assert _last_batch(sampler, 8) == rows
