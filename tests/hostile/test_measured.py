"""A few of the inputs that ``make fuzz`` measures: none is a fault, takes gigabytes or hangs."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from tests.hostile.crafted import crafted
from tests.hostile.declared import records
from tests.hostile.documents import as_json
from tests.hostile.limits import Input
from tests.hostile.measured import chosen, measure
from xladoctor.ingest.run_records import FILES, read_record

_FEW = 30


def check(some: Iterable[Input]) -> None:
    totals = measure(some, processes=1)
    assert {outcome for each in totals.values() for outcome in each.counts} <= {"result", "error"}


def test_fields_with_values_that_they_should_not_have() -> None:
    check(each for each in chosen(_FEW, seed=1) if not each.judged)


@pytest.mark.thorough
def test_many_records() -> None:
    check(each for each in chosen(40 * _FEW, seed=2) if each.judged and each.format != "crafted")


@pytest.mark.thorough
@pytest.mark.parametrize("name", sorted(each.what for each in crafted()))
def test_crafted_input(name: str) -> None:
    check(each for each in crafted() if each.what == name)


def test_declared_records_are_read_as_they_are_made() -> None:
    for path, record in records():
        pattern = path.replace("process-1", "process-*")
        text, fields = as_json(record)
        assert read_record(text, FILES[pattern])
        assert all(text[field.begin : field.end] for field in fields)
