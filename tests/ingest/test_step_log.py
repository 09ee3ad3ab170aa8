"""The step log: rows of each line, what a cut loses, and how many barriers make a step."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import read_call_sites, rows
from xladoctor.evidence.interface import Elsewhere
from xladoctor.evidence.load import build
from xladoctor.ingest.call_sites import CallSites
from xladoctor.ingest.compilations import Timed
from xladoctor.ingest.frames import NOWHERE, CallSite
from xladoctor.ingest.interface import Ingested
from xladoctor.ingest.run_records import DamagedRecord
from xladoctor.ingest.step_log import StepLog, facts_of
from xladoctor.ingest.step_period import barriers_a_step

SYNC = CallSite("/home/ada/train.py", 45, "train", via="sync")
ITEM = CallSite("/home/ada/train.py", 43, "train", via="item")
SITES = CallSites((SYNC, ITEM))
#: As the capture wrote it, the counters shortened.
STEP: dict[str, Any] = {
    "event": "step",
    "thread": 12049,
    "main": True,
    "index": 1,
    "steps": 1,
    "end_ns": 1795248358170449682,
    "duration_ns": 144133032,
    "barrier_ns": 129757590,
    "compile_ns": 5000,
    "capture_ns": 305013,
    "executions": 2,
    "compilations": 1,
    "reads": [[1, "item", 0, 3, 9000, 2000]],
    "input": [1, 700],
    "uploads": [[1, 2, 8192, 180000], [None, 1, 4, 9792]],
    "saves": [[1, 1, 3000], [0, 2, 500]],
    "optimizers": [[0, 1]],
    "log": 7514,
    "traced": True,
    "probed": False,
    "site": 0,
    "counters": {"MarkStep": 1},
    "fallbacks": {"aten::_local_scalar_dense": 3},
}


def read(*lines: dict[str, Any] | str, sites: CallSites = SITES) -> Ingested:
    return read_both(*lines, sites=sites)[0]


def read_both(*lines: dict[str, Any] | str, sites: CallSites = SITES) -> tuple[Ingested, StepLog]:
    ingested = Ingested()
    texts = (line if isinstance(line, str) else json.dumps(line) + "\n" for line in lines)
    log = StepLog(sites, facts_of(texts, "steps.jsonl", ingested.of(2)))
    log.tables().move(ingested.of(2))
    return ingested, log


def table(ingested: Ingested, name: str) -> list[dict[str, Any]]:
    return rows(ingested.tables.get(name, {}))


# Lines


def test_step_line_becomes_a_row_with_its_call_site() -> None:
    (row,) = table(read(STEP), "step")

    assert row == {
        "process": 2,
        "thread": 12049,
        "main": True,
        "tail": False,
        "index": 1,
        "barriers": 1,
        "ordinal": 0,
        "begin_ns": 1795248358026316650,
        "end_ns": 1795248358170449682,
        "duration_ns": 144133032,
        "compile_ns": 5000,
        "read_ns": 7000,
        "input_ns": 700,
        "barrier_ns": 129757590,
        "upload_ns": 189792,
        "save_ns": 3500,
        "capture_ns": 305013,
        "executions": 2,
        "launches": 0,
        "compilations": 1,
        "optimizer_steps": 1,
        "log_offset": 7514,
        "traced": True,
        "probed": False,
        **SYNC.columns(),
    }


def test_reads_and_waits_of_a_step_become_rows_of_their_own() -> None:
    ingested = read(STEP)

    assert table(ingested, "host_sync") == [
        {
            "process": 2,
            "thread": 12049,
            "step": 1,
            "tail": False,
            "kind": "item",
            "closure": False,
            "count": 3,
            "duration_ns": 7000,
            "compile_ns": 2000,
            **ITEM.columns(),
        }
    ]
    assert table(ingested, "data_wait") == [
        {"process": 2, "thread": 12049, "step": 1, "count": 1, "duration_ns": 700}
    ]


def test_uploads_and_saves_of_a_step_become_a_row_a_call_site() -> None:
    ingested = read(STEP)

    common = {"process": 2, "thread": 12049, "step": 1, "tail": False}
    assert table(ingested, "upload") == [
        {**common, "count": 2, "bytes": 8192, "duration_ns": 180000, **ITEM.columns()},
        {**common, "count": 1, "bytes": 4, "duration_ns": 9792, **NOWHERE.columns()},
    ]
    assert table(ingested, "state_save") == [
        {**common, "count": 1, "duration_ns": 3000, **ITEM.columns()},
        {**common, "count": 2, "duration_ns": 500, **SYNC.columns()},
    ]


def test_uploads_and_saves_were_looked_for_also_where_there_were_none() -> None:
    plain = {key: value for key, value in STEP.items() if key not in ("uploads", "saves")}

    ingested = read(plain)

    assert (ingested.tables["upload"], ingested.tables["state_save"]) == ({}, {})


def test_read_that_took_less_than_what_compiled_beside_it_did_not_block() -> None:
    ingested = read({**STEP, "reads": [[1, "item", 1, 1, 2000, 9000]]})

    assert table(ingested, "step")[0]["read_ns"] == 0
    assert table(ingested, "host_sync")[0]["duration_ns"] == 0
    assert table(ingested, "host_sync")[0]["closure"] is True


def test_ordinal_counts_the_barriers_of_a_call_site_on_its_thread() -> None:
    lines = [
        {**STEP, "site": 0},
        {**STEP, "site": 1},
        {**STEP, "site": 0, "steps": 10},
        {**STEP, "site": 0},
        {**STEP, "site": 0, "thread": 7},
    ]
    assert [row["ordinal"] for row in table(read(*lines), "step")] == [0, 0, 1, 11, 0]


def test_tail_is_no_step_and_has_no_call_site() -> None:
    tail = {key: value for key, value in STEP.items() if key not in ("site", "counters")}

    ingested = read({**tail, "event": "tail"})

    (row,) = table(ingested, "step")
    assert (row["tail"], row["file"], row["ordinal"]) == (True, None, 0)
    assert table(ingested, "host_sync")[0]["tail"] is True
    assert table(ingested, "step_period") == []


def test_compile_upload_optimizer_and_loader_lines() -> None:
    common = {"thread": 7, "step": 4, "site": 0}
    ingested, log = read_both(
        {"event": "compile", **common, "during": "read", "end_ns": 99, "duration_ns": 9},
        {"event": "upload", **common, "shape": [16, 64], "dtype": "bfloat16"},
        {"event": "upload", **common, "shape": [], "dtype": "quint8"},
        {"event": "optimizer", "thread": 7, "site": 1, "closure": 0},
        {"event": "loader", "site": 1, "batch_size": 32, "drop_last": False, "workers": 2},
    )

    base = {"process": 2, "thread": 7}
    assert log.compiled == [Timed(7, 4, "read", 99, 9, site=SYNC)]
    sent = {**base, "step": 4, "direction": "to_device", **SYNC.columns()}
    assert table(ingested, "transfer") == [
        {**sent, "shape": [16, 64], "dtype": "bf16"},
        {**sent, "shape": [], "dtype": "quint8"},
    ]
    closure = {f"closure_{key}": SYNC.columns()[key] for key in ("file", "line", "function")}
    assert table(ingested, "optimizer") == [{**base, **closure, **ITEM.columns()}]
    assert table(ingested, "loader") == [
        {
            "process": 2,
            "batch_size": 32,
            "drop_last": False,
            "workers": 2,
            "pinned": None,
            "last_batch": None,
            "collate_file": None,
            "collate_line": None,
            "collate_function": None,
            **ITEM.columns(),
        }
    ]


def test_compilations_of_functions_have_what_changed_in_their_key() -> None:
    again = {
        "event": "compile",
        "thread": 7,
        "step": 4,
        "site": 0,
        "during": "launch",
        "end_ns": 99,
        "duration_ns": 9,
        "ordinal": 3,
        "function": "step",
        "memory": {"argument": 10, "output": 6, "alias": 4, "temp": 2},
    }
    shape = ["shape", "batch['x']", "float32[8,4]", "bfloat16[9,4]"]
    ingested, log = read_both(
        again,
        {**again, "against": 1, "changes": [shape, ["static", "n", "3", "4"]]},
        {**again, "against": 2, "changes": []},
    )

    compiled = [(each.compiled, each.ordinal, each.memory_bytes) for each in log.compiled]
    assert compiled == [("step", 3, 14)] * 3
    names = ("index", "nth", "against", "what", "argument", "was", "now")
    assert [tuple(row[name] for name in names) for row in table(ingested, "key_change")] == [
        (1, 0, 0, "shape", "batch['x']", "f32[8,4]", "bf16[9,4]"),
        (1, 1, 0, "static", "n", "3", "4"),
        (2, 0, 1, "nothing", "", "", ""),
    ]


def test_steps_that_ended_with_next_to_nothing_are_parts_of_the_next() -> None:
    sites = replace(SITES, light=frozenset({1}))
    line = {"event": "step", "thread": 7, "steps": 1, "duration_ns": 50, "executions": 2}
    lines = [
        {**line, "index": number, "end_ns": 100 * number + 100, "site": site}
        for number, site in enumerate((1, 0, 1, 1, 0))
    ]
    lines.insert(
        4,
        {
            "event": "compile",
            "thread": 7,
            "step": 4,
            "site": 0,
            "during": "launch",
            "end_ns": 450,
            "duration_ns": 9,
        },
    )
    outlier = {
        "event": "outlier",
        "thread": 7,
        "end_ns": 9,
        "duration_ns": 90,
        "typical_ns": 10,
        "traced": False,
    }
    lines = [{**outlier, "step": 4}, *lines, {**outlier, "step": 4}]
    lines.insert(2, {**outlier, "step": 0})  # of a step that is none
    ingested = Ingested()
    texts = [json.dumps(each) for each in lines]
    log = StepLog(sites, facts_of(texts, "steps.jsonl", ingested.of(2)))
    log.tables().move(ingested.of(2))

    steps = [
        (row["index"], row["duration_ns"], row["executions"]) for row in table(ingested, "step")
    ]
    assert steps == [(0, 100, 4), (1, 150, 6)]
    assert log.compiled[0].step == 1
    assert [row["step"] for row in table(ingested, "outlier")] == [4, 1]


def test_cuts_of_a_step_add_up_however_many_there_are() -> None:
    cut = {**STEP, "event": "cut", "counters": {}, "fallbacks": {}, "optimizers": []}
    many = 20_000
    cuts = [{**cut, "reads": [[1, f"kind {nth}", 0, 1, 9, 0]]} for nth in range(many)]
    ingested = read(*cuts, {**cut, "event": "step", "reads": [[1, "kind 0", 0, 2, 9, 0]]})

    reads = table(ingested, "host_sync")
    assert len(reads) == many
    assert (reads[0]["kind"], reads[0]["count"], reads[0]["duration_ns"]) == ("kind 0", 3, 18)
    (step,) = table(ingested, "step")
    assert step["duration_ns"] == (many + 1) * STEP["duration_ns"]
    (upload, _) = table(ingested, "upload")
    assert upload["bytes"] == (many + 1) * 8192


def test_counters_are_summed_over_the_lines() -> None:
    lines = [json.dumps(line) for line in (STEP, {**STEP, "counters": {"MarkStep": 4}})]
    log = StepLog(SITES, facts_of(lines, "steps.jsonl", Ingested().of(2)))
    assert log.logged.counters == {"MarkStep": 5, "aten::_local_scalar_dense": 6}


def test_fallbacks_are_counted_step_by_step() -> None:
    assert table(read({**STEP, "fallbacks": {"aten::nonzero": 2}}), "fallback_count") == [
        {"process": 2, "step": 1, "tail": False, "name": "aten::nonzero", "value": 2}
    ]


def test_what_a_short_line_leaves_out_did_not_happen() -> None:
    short = {"event": "step", "thread": 7, "index": 3, "steps": 1, "end_ns": 90, "duration_ns": 50}
    (row,) = table(read(short), "step")
    assert (row["main"], row["compile_ns"], row["read_ns"], row["file"]) == (False, 0, 0, None)


# Damage


@given(st.integers(0, 3 * (len(json.dumps(STEP)) + 1)))
def test_log_cut_anywhere_loses_the_cut_line_alone(cut: int) -> None:
    line = json.dumps(STEP) + "\n"
    kept = (line * 3)[:cut]

    ingested = read(*kept.splitlines(keepends=True))

    whole, rest = divmod(len(kept) + (len(kept) % len(line) == len(line) - 1), len(line))
    assert len(table(ingested, "step")) == whole
    assert len(ingested.notes) == (rest > 0)


WRONG = (
    {"reads": [[1, "item"]]},
    {"uploads": [[1, 2, 3]]},
    {"saves": [[1, 2]]},
    {"input": 4},
    {"executions": 10**20},
    {"duration_ns": None},
)


@pytest.mark.parametrize(
    "line",
    [
        "5\n",
        "null\n",
        "[]\n",
        '"step"\n',
        '{"event": "step"}\n',
        '{"event": []}\n',
        '{"event": "later"}\n',
        "Traceback (most recent call last):\n",
        "\x00\ufffd\n",
        *(json.dumps({**STEP, **wrong}) + "\n" for wrong in WRONG),
    ],
)
def test_foreign_line_leaves_a_note_with_its_number(line: str) -> None:
    ingested = read(STEP, line, STEP)

    (note,) = ingested.lost
    assert re.match(r"steps\.jsonl, line 2: not a line of a step log \(.+\); skipped$", note)
    assert ingested.cut["step"] == note
    assert len(table(ingested, "step")) == 2
    assert len(table(ingested, "upload")) == 4


# Outliers


def test_many_lines_that_cannot_be_read_are_counted() -> None:
    ingested = read(*["x"] * 1000)
    assert (len(ingested.lost), ingested.more_lost) == (200, 800)
    assert build(ingested, "run", Elsewhere("text")).lost[-1] == (
        "run: as much is lost in 800 more places"
    )


def test_step_that_took_much_longer_is_a_row() -> None:
    line = {
        "event": "outlier",
        "thread": 12049,
        "step": 80,
        "end_ns": 900,
        "duration_ns": 600,
        "typical_ns": 100,
        "traced": True,
    }
    assert table(read(STEP, line), "outlier") == [
        {
            "process": 2,
            "thread": 12049,
            "step": 80,
            "end_ns": 900,
            "duration_ns": 600,
            "typical_ns": 100,
            "traced": True,
        }
    ]


def test_steps_without_an_outlier_were_looked_at() -> None:
    assert read(STEP).tables["outlier"] == {}


# Call sites


def test_call_site_that_the_file_lacks_is_nowhere() -> None:
    assert SITES[1] == ITEM
    assert SITES[2] == NOWHERE
    assert SITES[None] == NOWHERE
    assert table(read({**STEP, "site": 9}), "step")[0]["file"] is None


def test_call_sites_file() -> None:
    loop = ["/home/ada/train.py", 40, 45, "train"]
    site = {**ITEM.columns(), "source": "    x.item()", "loops": [loop]}
    fallback: dict[str, Any] = {
        "op": "aten::nonzero",
        "site": 0,
        "count": 2,
        "duration_ns": 9,
        "compile_ns": 1,
    }

    asked: dict[str, Any] = {"file": loop[0], "line": 40, "first": 41, "last": 43, "text": "# why"}

    sites = read_call_sites(
        json.dumps({"sites": [site], "fallbacks": [fallback], "ignores": [asked]})
    )

    assert sites.sites == (ITEM,)
    kept = sites.file
    assert json.loads(msgspec.json.encode((kept.fallbacks, kept.sites[0].loops, kept.ignores))) == [
        [fallback],
        [loop],
        [asked],
    ]
    assert kept.sites[0].source == "    x.item()"


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "5", "[" * 100_000, '{"sites": []}', '{"sites": [{}]}']
)
def test_file_without_call_sites_is_an_error_of_the_documented_kinds(text: str) -> None:
    with pytest.raises(DamagedRecord):
        read_call_sites(text)


# Cuts


def cut(**changes: Any) -> dict[str, Any]:
    """The first part of ``STEP``, with as much of everything."""
    return {
        **STEP,
        "event": "cut",
        "site": 1,
        "launches": 1,
        "steps": 0,
        "executions": 0,
        "end_ns": STEP["end_ns"] - STEP["duration_ns"],
        "optimizers": [[0, 2], [1, 1]],
        **changes,
    }


CUT = cut()


def test_a_step_is_the_sum_of_its_cuts_and_of_what_comes_after_them() -> None:
    ingested = read(CUT, STEP)

    whole, alone = table(ingested, "step")[0], table(read(STEP), "step")[0]
    sums = (
        "duration_ns",
        "compile_ns",
        "read_ns",
        "input_ns",
        "barrier_ns",
        "upload_ns",
        "save_ns",
        "capture_ns",
        "compilations",
    )
    assert {name: whole[name] for name in sums} == {name: 2 * alone[name] for name in sums}
    assert whole["optimizer_steps"] == 3
    assert (whole["begin_ns"], whole["end_ns"]) == (
        alone["begin_ns"] - STEP["duration_ns"],
        alone["end_ns"],
    )
    (read_row,) = table(ingested, "host_sync")
    assert (read_row["count"], read_row["duration_ns"]) == (6, 14000)
    assert [row["value"] for row in table(ingested, "fallback_count")] == [6]


def test_cuts_are_rows_of_their_own_in_the_order_of_time() -> None:
    rows_of = [
        (row["ended_by"], row["line"], row["launches"], row["optimizers"])
        for row in table(read(CUT, STEP), "cut")
    ]

    assert rows_of == [("read", 43, 1, 2), ("barrier", 45, 2, 1)]


def test_step_without_cuts_has_no_row_among_them() -> None:
    assert table(read(STEP), "cut") == []


def test_program_that_was_stopped_has_a_tail_of_its_cuts() -> None:
    ingested = read(CUT, CUT)

    (tail,) = table(ingested, "step")
    assert tail["tail"]
    assert (tail["optimizer_steps"], tail["compilations"]) == (4, 2)
    assert [row["ended_by"] for row in table(ingested, "cut")] == ["read", "read"]


def test_compilation_under_way_at_the_end_belongs_to_the_tail() -> None:
    ingested = Ingested()
    log = StepLog(SITES, facts_of([json.dumps(CUT)], "steps.jsonl", ingested.of(2)))
    log.compiled_until(CUT["end_ns"], CUT["end_ns"] + 100, 60)
    log.tables().move(ingested.of(2))

    (tail,) = table(ingested, "step")
    assert tail["end_ns"] == CUT["end_ns"] + 100
    assert tail["duration_ns"] == STEP["duration_ns"] + 100
    assert tail["compile_ns"] == STEP["compile_ns"] + 60


def test_program_that_only_compiled_has_a_tail_too() -> None:
    ingested = Ingested()
    log = StepLog(SITES, ())
    log.compiled_until(1000, 1100, 60)
    log.tables().move(ingested.of(2))

    (tail,) = table(ingested, "step")
    assert (tail["process"], tail["tail"], tail["main"]) == (2, True, True)
    assert (tail["begin_ns"], tail["end_ns"], tail["compile_ns"]) == (1000, 1100, 60)


# Barriers a step


def period(
    sites: list[int], updates: list[int], fed: list[int] | None = None, idle: int = 0
) -> int:
    """Of a loop whose barriers are all fed, unless ``fed`` says which are.

    Args:
        idle: how many of the barriers have nothing to launch.
    """
    count = len(sites)
    sequences = (sites, updates, fed or [1] * count, [1] * idle + [0] * (count - idle))
    return barriers_a_step(*map(np.asarray, sequences))


@given(st.integers(1, 16), st.integers(3, 20))
def test_barriers_of_an_iteration_make_one_step(barriers: int, turns: int) -> None:
    assert period(list(range(barriers)) * turns, [0] * (barriers - 1) * turns + [1] * turns) == (
        barriers
    )


@given(st.integers(2, 16), st.integers(10, 40))
def test_micro_batches_that_share_one_barrier_line_make_one_step(micro: int, turns: int) -> None:
    assert period([0] * micro * turns, ([0] * (micro - 1) + [1]) * turns) == micro


@given(st.integers(2, 16), st.integers(10, 40))
def test_barriers_that_launch_nothing_are_no_micro_batches(turn: int, turns: int) -> None:
    assert period([0] * turn * turns, ([0] * (turn - 1) + [1]) * turns, idle=turn * turns) == 1


@given(st.integers(2, 200), st.integers(4, 20))
def test_barriers_of_an_inner_loop_make_one_step_for_each_input(inner: int, turns: int) -> None:
    count = inner * turns
    fed = [int(nth % inner == 0) for nth in range(count)]
    assert period([0] * count, [0] * count, fed) == inner


def test_input_every_few_updates_makes_no_step_of_several_updates() -> None:
    assert period([0] * 100, [1] * 100, [1, 0, 0, 0, 0] * 20) == 1


@given(st.integers(1, 4), st.integers(60, 90), st.integers(0, 200))
def test_odd_barrier_among_hundreds_changes_nothing(barriers: int, turns: int, at: int) -> None:
    sites, updates = list(range(barriers)) * turns, ([0] * (barriers - 1) + [1]) * turns
    sites.insert(at, 99)
    updates.insert(at, 0)
    assert period(sites, updates) == barriers


@given(st.integers(2, 12), st.integers(1, 4), st.integers(3, 9))
def test_epochs_with_evaluation_are_not_steps(train: int, test: int, epochs: int) -> None:
    assert period(([0] * train + [1] * test) * epochs, ([1] * train + [0] * test) * epochs) == 1


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=80))
def test_any_sequence_has_a_period_that_came_three_times(barriers: list[tuple[int, int]]) -> None:
    sites, updates = map(list, zip(*barriers, strict=True))
    turn = period(sites, updates)
    assert 1 <= turn <= max(1, min(16, len(sites) // 3))
    assert turn == 1 or np.mean(np.equal(sites[turn:], sites[:-turn])) >= 0.9
