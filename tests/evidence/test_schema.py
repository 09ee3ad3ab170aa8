"""Every column is described, and is what the readers write."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.ingest.test_run_directory import FAULT, MANIFEST, WINDOW, add_process, write
from xladoctor.evidence.database import Database
from xladoctor.evidence.load import build
from xladoctor.evidence.schema import TABLES
from xladoctor.facts import vocabulary
from xladoctor.facts.table import tables
from xladoctor.ingest.interface import Ingested
from xladoctor.ingest.run_directory import read_run_directory
from xladoctor.ingest.run_records import Manifest

TYPES = {"INTEGER", "BIGINT", "DOUBLE", "BOOLEAN", "VARCHAR", "INTEGER[]", "BIGINT[]", "VARCHAR[]"}
NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
#: Written only where there is a timeline.
TIMELINE = {
    "timeline",
    "plane",
    "line",
    "event",
    "event_stat",
    "timeline_step",
    "device",
    "device_step",
    "idle_gap",
    "device_op",
    "hlo_module",
    "hlo_instruction",
    "hlo_frame",
    "hlo_parameter",
    "memory_buffer",
    "host_segment",
    "device_execution",
}
#: These, what a program's labels and the sampler give, what the diagnosis writes, the frontend's
#: vocabulary, and what only a log of the console has.
ELSEWHERE = TIMELINE | {
    "placement",
    "communication",
    "logged_warning",
    "logged_constant",
    "region",
    "host_op",
    "eager_op",
    "kernel_site",
    "device_launch",
    "compiled_part",
    "split_call",
    "collective",
    "pod_process",
    "recompilation",
    "graph_change",
    "judged_part",
    "host_sample",
    "start_up",
    *tables(vocabulary),
}
SAMPLE = Path(__file__).parents[2] / "sample_traces" / "recompiling"
#: Written where samples of the host tell tracing from other Python.
SAMPLED = {"tracing_ns", "idle_tracing_ns"}
MEMORY_ERROR = (
    *("Out of memory allocating 8 bytes.\nBuffer 1:\nSize: 8B\nShape: f32[2]",),
    *("/home/ada/train.py", 7, "train"),
)
#: Given by the database.
NUMBERED = {"position"}


#: Lines of a step log without values of their own.
_PLAIN = (
    '{"event": "idle", "thread": 1, "site": 0}\n',
    '{"event": "live", "thread": 1, "step": 8, "site": 0, "arrays": 9, "bytes": 36}\n',
    '{"event": "holder", "thread": 1, "step": 8, "site": 0, "arrays": 9, "bytes": 36,'
    ' "name": "losses", "owner": "main", "kind": "list", "before": 4}\n',
    '{"event": "reshard", "thread": 1, "site": 0, "compiled": "f", "number": 0, "calls": 4,'
    ' "bytes": 8, "sent_bytes": 8, "before": "P()", "after": "P()",'
    ' "duration_ns": 5, "span_ns": 9}\n',
    '{"event": "copied", "thread": 1, "index": 0, "site": 0, "count": 1, "text": "from sharding'
    ' {devices=[8]<=[8]} to {replicated} efficiently"}\n',
)


@pytest.fixture
def written(tmp_path: Path) -> Ingested:
    """What is read from a run directory that has a line of every kind."""
    write(tmp_path / "run.json", MANIFEST)
    folder = add_process(tmp_path, 42, windows=[WINDOW], memory_error=MEMORY_ERROR)
    write(folder / "faults.log", FAULT)
    write(tmp_path / "python.log", "42 1 uses torch_xla.sync 9 main /home/ada/train.py\n")
    patch = {
        "rule": "XD301",
        "fingerprint": "0",
        "kind": "odd",
        "title": "t",
        "outcome": "verified",
    }
    (tmp_path / "fixes.json").write_text(json.dumps([patch]))
    kept = {"graph": 0, "topology": "v5e", "type": "f32", "shape": [2]}
    graph = {**kept, "compiled_for": "v5e:1x1", "name": "f", "source": "f", "verdict": "fits"}
    operation = {**kept, "operation": "add.1", "opcode": "add", "does": "computes", "bytes": 8}
    check = {
        "graphs": [graph],
        "operations": [{**operation, "stored": [2], "layout": "", "memory": "hbm"}],
        "products": [{**kept, "float32": True}],
        "buffers": [{**kept, "role": "result", "number": 0, "bytes": 8}],
        "peak": [{**kept, "role": "result", "bytes": 8}],
    }
    (tmp_path / "tpu-check.json").write_text(json.dumps(check))
    (folder / "processor.jsonl").write_text("[1, 10, 20, 30]\n")
    common = '"thread": 1, "step": 0, "site": 0'
    with (folder / "steps.jsonl").open("a") as log:
        log.writelines(_PLAIN)
        log.write(f'{{"event": "upload", {common}, "shape": [2], "dtype": "float32"}}\n')
        log.write(f'{{"event": "optimizer", {common}}}\n')
        batches = '"batch_size": 16, "drop_last": false, "workers": 2, "pinned": true'
        log.write(f'{{"event": "loader", "site": 0, {batches}}}\n')
        found = '"compiled": "f", "leaves": 900, "duration_ns": 9, "plain_ns": 1, "argument": "x"'
        most = '"argument_leaves": 800'
        log.write(f'{{"event": "flattening", "thread": 1, "site": 0, {found}, {most}}}\n')
        log.write(
            '{"event": "use", "thread": 1, "site": 0, "compiled": "f", "number": 0}\n'
            '{"event": "empty", "site": 0, "batch_size": 16, "drop_last": true}\n'
        )
        changed = '"against": 1, "changes": [["shape", "x", "float32[1]", "float32[2]"]]'
        again = f'"during": "launch", "end_ns": 9, "duration_ns": 8, {changed}'
        repeated = (
            '"repeated": [0, "add", 800, 900, 0.9], "captured": [[0, "w", "float32[2]", 8]]'
            ', "arrays": [["argument", 0, "x", "float32[2]", 8, true]], "defined": 0'
            """, "redivided": [[[0, "('a',)"], [0, "('b',)"], null, 0, "float32[2]", 8]]"""
        )
        traced = '"traced": [9, true, 5, null, [[0, 9, "add", 8, 0], [null, 0, "sin", 0, 4]]]'
        log.write(f'{{"event": "compile", {common}, {again}, {repeated}, {traced}}}\n')
        took = '"end_ns": 9, "duration_ns": 8, "typical_ns": 1, "traced": true'
        log.write(f'{{"event": "outlier", {common}, {took}}}\n')
        log.write('{"event": "phases", "thread": 1, "number": 1, "phases": {"aot": 5}}\n')
        log.write('{"event": "break", "site": 0, "place": 0, "function": "f", "reason": "r"}\n')
        log.write('{"event": "split", "site": 0, "place": 0, "operator": "all_reduce"}\n')
        log.write(f'{{"event": "graph", {common}, "kept_as": "graph-1.mlirbc.gz", "bytes": 9}}\n')
        took = (
            '"number": 0, "compilation": 0, "name": "f", "key": "k", "computation": "c",'
            ' "outcome": "hit", "read_ns": 1, "write_ns": 0'
        )
        part = '{"event": "cache key", "lookup": 0, "part": "flags", "digest": "d"}'
        log.write(f'{part}\n{{"event": "cache", {common}, {took}}}\n')
        log.write('{"event": "limit", "site": 0, "function": "f", "name": "limit"}\n')
        step = (folder / "steps.jsonl").read_text().splitlines()[0]
        both = '"uploads": [[0, 1, 64, 5]], "saves": [[0, 1, 9]]'
        log.write(f"{step.removesuffix('}')}, {both}}}\n")
        log.write(step.replace('"step"', '"cut"') + "\n")
        log.write(step.replace("[0, 0]", "[1, 5]").replace("counters", "fallbacks") + "\n")
    sites = folder / "call_sites.json"
    loops = '"via": "", "loops": [["/home/ada/train.py", 7, 9, "train"]]'
    asked = (
        '"launches": [[0, 2, 8.0, 1]], "parts": [[0, 4]], "origins": [[0, 8, 7]],'
        '"ignores": [{"file": "train.py", "line": 7, "first": 7, "last": 7, "text": "#"}], "sites"'
    )
    sites.write_text(sites.read_text().replace('"via": ""', loops).replace('"sites"', asked))
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
    columns = Database().rows(f'DESCRIBE "{name}"')
    described = {column: c.type for column, c in TABLES[name].columns.items()}
    assert {row["column_name"]: row["column_type"] for row in columns} == described


@pytest.mark.parametrize("name", sorted(set(TABLES) - ELSEWHERE))
def test_columns_are_those_that_the_readers_write(written: Ingested, name: str) -> None:
    assert set(written.tables[name]) == set(TABLES[name].columns) - NUMBERED


@pytest.mark.parametrize("name", sorted(TIMELINE))
def test_columns_are_those_that_the_timeline_s_readers_write(name: str) -> None:
    read = read_run_directory(SAMPLE)[1]
    parts = [columns for table, columns in read.batches if table == name]
    parts += [produce() for produce in read.lazy.get(name, ())]
    written = set(read.tables.get(name, ())).union(*parts)
    assert written | SAMPLED == set(TABLES[name].columns) - NUMBERED | SAMPLED


def test_readers_write_no_other_table(written: Ingested) -> None:
    assert set(written.tables) - set(TABLES) == set()


def test_what_the_readers_write_can_be_loaded(written: Ingested) -> None:
    evidence = build(written, "a-run", Manifest(command=[], cwd="/home/ada"))

    assert evidence.available == frozenset(TABLES) - ELSEWHERE
    assert evidence.database.scalar("SELECT count(*) FROM execution") == 7
    assert evidence.shown("/home/ada/train.py") == "train.py"
    assert evidence.shown("/home/ada2/train.py") == "/home/ada2/train.py"
    assert evidence.shown(None) is None
