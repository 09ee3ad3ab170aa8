"""Every column is described, and is what the readers write."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.ingest.test_run_directory import MANIFEST, add_process, write
from xladoctor.evidence.database import Database
from xladoctor.evidence.load import build
from xladoctor.evidence.schema import TABLES
from xladoctor.ingest.interface import Ingested
from xladoctor.ingest.run_directory import read_run_directory

TYPES = {"INTEGER", "BIGINT", "DOUBLE", "BOOLEAN", "VARCHAR", "INTEGER[]", "BIGINT[]"}
NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
#: Written by the diagnosis, or only where there is a timeline (tests/ingest/test_hlo_and_xplane).
ELSEWHERE = {"recompilation", "event", "hlo_module", "hlo_parameter"}


@pytest.fixture
def written(tmp_path: Path) -> Ingested:
    """What is read from a run directory that has a line of every kind."""
    write(tmp_path / "run.json", MANIFEST)
    folder = add_process(tmp_path, 42)
    common = '"thread": 1, "step": 0, "site": 0'
    with (folder / "steps.jsonl").open("a") as log:
        log.write(f'{{"event": "upload", {common}, "shape": [2], "dtype": "float32"}}\n')
        log.write(f'{{"event": "optimizer", {common}}}\n')
        step = (folder / "steps.jsonl").read_text().splitlines()[0]
        log.write(step.replace("[0, 0]", "[1, 5]").replace("MarkStep", "aten::nonzero") + "\n")
    with (folder / "metrics.txt").open("a") as report:
        report.write("Metric: CompileTime\n  TotalSamples: 1\n  Accumulator: 001ms000.000us\n")
    return read_run_directory(tmp_path)[1]


@pytest.mark.parametrize("name", TABLES)
def test_table_and_its_columns_are_described(name: str) -> None:
    table = TABLES[name]
    assert len(table.text) > 8
    assert table.source
    for column, described in table.columns.items():
        assert NAME.fullmatch(column), column
        assert described.type in TYPES, column
        assert len(described.text) > 3, column


@pytest.mark.parametrize("name", TABLES)
def test_times_say_their_unit_in_their_name(name: str) -> None:
    for column, described in TABLES[name].columns.items():
        if re.match(r"(time|when|spent|blocked|waiting|how long)\b", described.text):
            assert column.endswith("_ns"), column


@pytest.mark.parametrize("name", TABLES)
def test_database_has_the_tables_as_they_are_described(name: str) -> None:
    found = Database().rows(f'DESCRIBE "{name}"')
    described = {column: c.type for column, c in TABLES[name].columns.items()}
    assert {row["column_name"]: row["column_type"] for row in found} == described


@pytest.mark.parametrize("name", sorted(set(TABLES) - ELSEWHERE))
def test_columns_are_those_that_the_readers_write(written: Ingested, name: str) -> None:
    assert set(written.tables[name]) == set(TABLES[name].columns)


def test_readers_write_no_other_table(written: Ingested) -> None:
    assert set(written.tables) - set(TABLES) == set()


def test_what_the_readers_write_can_be_loaded(written: Ingested) -> None:
    evidence = build(written, {"kind": "run", "path": "a-run", "cwd": "/home/ada"})

    assert evidence.available == frozenset(TABLES) - ELSEWHERE
    assert evidence.database.scalar("SELECT count(*) FROM execution") == 7
    assert evidence.shown("/home/ada/train.py") == "train.py"
    assert evidence.shown("/home/ada2/train.py") == "/home/ada2/train.py"
    assert evidence.shown(None) is None
