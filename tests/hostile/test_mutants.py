"""A few of the mutants of ``make fuzz``: each is a result or an error, never a fault."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.hostile.fuzz import SAMPLES, attack
from tests.hostile.mutations import places
from xladoctor.evidence.load import load
from xladoctor.ingest.interface import IngestError

FEW = {"text": 60, "timeline": 20, "trace": 20, "torch_log": 20, "run": 2}  # a part each
PARTS = 4


@pytest.mark.parametrize(
    "part", [0, *(pytest.param(part, marks=pytest.mark.thorough) for part in range(1, PARTS))]
)
@pytest.mark.parametrize("kind", FEW)
def test_mutants_are_held(kind: str, part: int) -> None:
    first = 10_000_000 + part * FEW[kind]
    came_of = [attack(kind, seed) for seed in range(first, first + FEW[kind])]
    assert came_of.count("fault") == 0


@pytest.mark.thorough
def test_every_number_of_a_record_may_be_large(tmp_path: Path) -> None:
    shutil.copytree(SAMPLES / "scalar_read", tmp_path / "run")
    shutil.rmtree(tmp_path / "run/plugins")  # the timeline has no such records
    (log,) = tmp_path.glob("run/process-*/steps.jsonl")
    lines = log.read_text("utf-8").splitlines()
    kinds = {(json.loads(line).get("event"),): number for number, line in enumerate(lines)}
    for number in kinds.values():
        for mutant in with_each_number(json.loads(lines[number]), 2**53):
            log.write_text("\n".join([*lines[:number], json.dumps(mutant), *lines[number + 1 :]]))
            try:
                load(str(tmp_path / "run"))
            except IngestError:
                continue


def with_each_number(record: Any, number: int) -> list[Any]:
    """The record with each of its numbers replaced, one at a time."""
    mutants = []
    for position, (holder, key) in enumerate(places(record)):
        if type(holder[key]) is int:
            mutant = json.loads(json.dumps(record))
            inner, name = list(places(mutant))[position]
            inner[name] = number
            mutants.append(mutant)
    return mutants
