"""What the capture writes is what its types say, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.live.harness import EXAMPLES, LIVE, Captures
from xladoctor.ingest import run_records
from xladoctor.recording.manifest import inventory

pytestmark = LIVE
SCHEMA = run_records.schema()


def closed(schema: Any) -> Any:
    """The schema, in which no object may have other fields."""
    if isinstance(schema, list):
        return [closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    other = {"additionalProperties": False} if "properties" in schema else {}
    return {**{key: closed(part) for key, part in schema.items()}, **other}


def written(run: Path) -> Iterator[tuple[str, Any]]:
    """Every record of a run directory, and the name of its file."""
    for pattern in run_records.FILES:
        name = pattern.rpartition("/")[2]
        for file in run.glob(pattern):
            text = file.read_text()
            texts = text.splitlines() if name.endswith(".jsonl") else [text]
            yield from ((name, json.loads(each)) for each in texts)


EACH = [
    pytest.param(name, marks=pytest.mark.xdist_group(name))
    for name in ("recompiling", "scalar_read")
]


@pytest.mark.parametrize("example", EACH)
def test_records_are_of_their_types(example: str, captured: Captures) -> None:
    run = captured(EXAMPLES / f"{example}.py").directory
    defs = closed(SCHEMA["$defs"])
    validators = {
        name: Draft202012Validator({**closed(schema), "$defs": defs})
        for name, schema in SCHEMA["files"].items()
    }
    names = set()
    for name, record in written(run):
        names.add(name)
        validators[name].validate(record)
    later = {"fixes.json", "tpu-check.json"}  # of other commands
    assert names == set(SCHEMA["files"]) - later


@pytest.mark.xdist_group("recompiling")
def test_manifest_lists_the_files_as_they_are(captured: Captures) -> None:
    run = captured(EXAMPLES / "recompiling.py").directory
    record = json.loads((run / "run.json").read_text())
    for key, now in inventory(run).items():
        assert {name: now[name] for name in record[key]} == record[key]
    assert record["files"].keys() == record["crc32"].keys()
    assert {Path(name).name for name in record["files"]} >= {
        "steps.jsonl",
        "metrics.txt",
        "process.json",
    }
