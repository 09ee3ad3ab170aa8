"""Samples of the host: rows with their call sites, and files that are missing or damaged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support import rows
from xladoctor.evidence.schema import TABLES
from xladoctor.ingest.call_sites import CallSites
from xladoctor.ingest.frames import NOWHERE, CallSite
from xladoctor.ingest.host_samples import read_host_samples
from xladoctor.ingest.interface import Ingested

LOAD = CallSite("/home/ada/data.py", 12, "Images.__getitem__")
BACKWARD = CallSite("/home/ada/train.py", 44, "train", via="backward")
SITES = CallSites((LOAD, BACKWARD))
SAMPLE: dict[str, Any] = {
    "thread": 12049,
    "main": True,
    "doing": "batch",
    "in_framework": False,
    "site": 0,
    "count": 7,
    "generator": True,
}


def read(path: Path) -> Ingested:
    ingested = Ingested()
    read_host_samples(path, SITES, set(), set(), ingested.of(2))
    return ingested


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "host_samples.json"


def write(file: Path, *samples: Any) -> Path:
    file.write_text(json.dumps({"period_ms": 10, "samples": samples}))
    return file


def test_sample_becomes_a_row_with_its_call_site(file: Path) -> None:
    backward = {
        **SAMPLE,
        "generator": False,
        "doing": None,
        "in_framework": True,
        "site": 1,
        "count": 90,
    }
    ingested = read(write(file, SAMPLE, backward))

    common = {"process": 2, "phase": "loop", "thread": 12049, "main": True}
    assert rows(ingested.tables["host_sample"]) == [
        {
            **common,
            "doing": "batch",
            "in_framework": False,
            "tracing": False,
            "generator": True,
            "count": 7,
            **LOAD.columns(),
        },
        {
            **common,
            "doing": None,
            "in_framework": True,
            "tracing": True,
            "generator": False,
            "count": 90,
            **BACKWARD.columns(),
        },
    ]
    assert set(ingested.tables["host_sample"]) == set(TABLES["host_sample"].columns)


def test_what_came_before_the_first_step_has_rows_of_its_own(file: Path) -> None:
    spent = {"what": "import", "package": "numpy", "duration_ns": 5, "site": 1}
    file.write_text(json.dumps({"samples": [SAMPLE], "start_up": [spent]}))
    (row,) = rows(read(file).tables["start_up"])
    del spent["site"]
    assert row == {"process": 2, **spent, "read_bytes": None, **BACKWARD.columns()}


@pytest.mark.parametrize("site", [None, 2])
def test_sample_without_a_known_line_is_counted_nowhere(file: Path, site: int | None) -> None:
    (row,) = rows(read(write(file, {**SAMPLE, "site": site})).tables["host_sample"])
    assert (row["count"], row["file"]) == (7, NOWHERE.file)


def test_no_samples_are_a_table_without_rows_and_no_file_is_no_table(file: Path) -> None:
    assert read(file) == Ingested()
    assert read(write(file)) == Ingested(tables={"host_sample": {}})


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "5",
        "{}",
        '{"samples": 5}',
        '{"samples": [5]}',
        '{"samples": [{}]}',
        json.dumps({"samples": [SAMPLE, {**SAMPLE, "site": "a"}]}),
        "\x00",
    ],
)
def test_damaged_file_leaves_a_note_and_no_table(file: Path, text: str) -> None:
    file.write_text(text)

    ingested = read(file)

    assert ingested.tables == {}
    (note,) = ingested.notes
    assert note.startswith(f"{file}: cannot be read (")


def test_unreadable_or_missing_text_leaves_a_note(file: Path) -> None:
    file.write_bytes(b"\xff\xfe{}")
    assert len(read(file).notes) == 1
    assert len(read(file.parent).notes) == 1
