"""Replays of small programs made by hand: what a claim saves, and what limits them then."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support import Row, complete, evidence, step
from xladoctor.diagnosis.finding import Claim, Do, What
from xladoctor.diagnosis.rule import RuleError
from xladoctor.diagnosis.whatif import Estimate, Fix, WhatIf, claims_of
from xladoctor.diagnosis.whatif.claims import apply
from xladoctor.diagnosis.whatif.program import ACTIVITIES, COMPILE, Program, read_program
from xladoctor.diagnosis.whatif.rates import Rates, read_rates
from xladoctor.diagnosis.whatif.replay import Change, replay
from xladoctor.evidence.interface import Evidence

TRAIN = "/home/ada/train.py"
US, SECOND = 1000, 10**9
DISPATCH = ACTIVITIES.index("dispatch")
BEGIN = 7 * SECOND  # of the window: a replay begins at 0


# Programs by words


@dataclass
class Timeline:
    """What a process did, act by act; the device runs launches in order."""

    segments: list[Row] = field(default_factory=list)
    executions: list[Row] = field(default_factory=list)
    steps: list[Row] = field(default_factory=list)
    now: int = BEGIN
    call: int = -1

    def add(self, words: str, tracing: float | None) -> None:
        """A step: calls and Python, ``;`` between them.

        ``read@41: dispatch 5 > 400, wait 10`` is a call at line 41 that launches a graph in 5 µs,
        which takes the device 400 µs, then waits for it, and 10 µs for its value.
        """
        begin, first = self.now, len(self.segments)
        for call in words.split("; "):
            region, _, acts = call.rpartition(": ")
            kind, _, line = region.partition("@")
            self.call += bool(region)
            place: Row = {"region": kind, "call": self.call} if region else {}
            if line:
                place |= {"file": TRAIN, "line": int(line)}
            for act in acts.split(", "):
                self.act(*act.split(), **place)
        self.steps.append(self.row(begin, self.segments[first:], tracing))

    def act(self, activity: str, us: str, *launched: str, **place: Any) -> None:
        begin, last = self.now, self.executions[-1]["end_ns"] if self.executions else 0
        waits = activity == "wait" and self.executions
        self.now = max(begin, last if waits else 0) + int(us) * US
        row = {
            "process": 0,
            "segment": len(self.segments),
            "step": len(self.steps),
            **place,
            "activity": activity,
            "begin_ns": begin,
            "duration_ns": self.now - begin,
            "awaits": len(self.executions) - 1 if waits else None,
        }
        if launched:
            row["launches"], began = len(self.executions), max(self.now, last)
            self.executions.append(
                {
                    "process": 0,
                    "execution": row["launches"],
                    "device": 0,
                    "launched_ns": self.now,
                    "begin_ns": began,
                    "end_ns": began + int(launched[1]) * US,
                }
            )
        self.segments.append(row)

    def row(self, begin: int, acts: list[Row], tracing: float | None) -> Row:
        spent = {
            name: sum(row["duration_ns"] for row in acts if row["activity"] == name)
            for name in ("compile", "python")
        }
        samples = {} if tracing is None else {"tracing_ns": int(tracing * spent["python"])}
        number = len(self.steps)
        return {
            "process": 0,
            "step": number,
            "joined": True,
            "begin_ns": begin,
            "end_ns": self.now,
            "steady": number >= 3 and not spent["compile"],
            "duration_ns": self.now - begin,
            "compile_ns": spent["compile"],
            "other_ns": spent["python"] - samples.get("tracing_ns", 0),
            **samples,
        }


def tables_of(words: Sequence[str], tracing: float | None = None) -> dict[str, list[Row]]:
    """The tables of a run whose timeline shows all of its steps."""
    timeline = Timeline()
    for each in words:
        timeline.add(each, tracing)
    compiling = [row for row in timeline.segments if row["activity"] == "compile"]
    numbers = [row["step"] for row in compiling]
    return {
        "host_segment": timeline.segments,
        "device_execution": timeline.executions,
        "timeline_step": timeline.steps,
        "step": [
            step(
                row["step"],
                duration_ns=row["duration_ns"],
                compile_ns=row["compile_ns"],
                compilations=numbers.count(row["step"]),
            )
            for row in timeline.steps
        ],
        "compilation": [
            {
                "process": 0,
                "index": index,
                "thread": 1,
                "ordinal": row["step"],
                "file": TRAIN,
                "line": 40,
                "via": "",
                "launches": len(words),
                "duration_ns": row["duration_ns"],
            }
            for index, row in enumerate(compiling)
        ],
    }


def explained(tables: dict[str, list[Row]]) -> Evidence:
    return complete(tables)


def whatif(words: Sequence[str], tracing: float | None = None) -> WhatIf:
    return WhatIf(explained(tables_of(words, tracing)).database)


def steps_of(words: str, count: int = 13) -> list[str]:
    """A loop: three steps of warm-up, and ten steady ones."""
    return [words] * count


def claim(do: Do, what: What, line: int | None = None, **fields: Any) -> Claim:
    return Claim(do, what, None if line is None else TRAIN, line, **fields)


def fix(*claims: Claim, count: int = 13, **fields: Any) -> Fix:
    """A fix of a defect that occurs once a step, unless ``count`` says otherwise."""
    return Fix(0, claims, count, **fields)


def estimate(words: Sequence[str], *claims: Claim, count: int = 13, **options: Any) -> Estimate:
    estimated = whatif(words, **options).estimate(fix(*claims, count=count))
    assert estimated is not None
    return estimated


def gain_us(words: str, *claims: Claim, **options: Any) -> float:
    """What a fix saves in each of thirteen equal steps."""
    estimated = estimate(steps_of(words), *claims, **options)
    assert (estimated.late_s, estimated.warmup_s) == (0.0, 0.0)
    return round(estimated.steady_s / 13 * 1e6, 3)


# The unchanged program


def measured(seed: int) -> dict[str, list[Row]]:
    """A process with random work on its host and its device."""
    random = Random(seed)
    items: list[Row] = []
    runs: list[Row] = []
    now = BEGIN
    for segment in range(random.randint(1, 30)):
        row: Row = {
            "process": seed,
            "segment": segment,
            "step": segment // 5,
            "begin_ns": now,
            "activity": random.choice(["python", "dispatch", "upload"]),
        }
        until = now + random.randint(1, 100)
        doing = random.choice(["work", "launch", "wait"])
        if doing == "wait" and runs:
            row["activity"], row["awaits"] = "wait", random.randrange(len(runs))
            row["region"] = random.choice(["read", "barrier", None])
            ended = runs[row["awaits"]]["end_ns"]
            until = max(now + 1, ended + random.randint(-5, 20)) if ended > now else until
        elif doing == "launch":
            row["launches"] = len(runs)
            delay = random.randint(-10, 50) if runs else 0
            begin = max(until + delay, runs[-1]["end_ns"] - random.randint(-20, 20) if runs else 0)
            runs.append(
                {
                    "process": seed,
                    "execution": len(runs),
                    "launched_ns": until,
                    "begin_ns": begin,
                    "end_ns": begin + random.randint(0, 300),
                }
            )
        items.append({**row, "duration_ns": until - now})
        now = until
    return {"host_segment": items, "device_execution": runs}


def joined(processes: list[dict[str, list[Row]]]) -> Evidence:
    names = ("host_segment", "device_execution")
    return evidence(
        {name: [row for process in processes for row in process[name]] for name in names}
    )


def program_of(database: Any, process: int = 0) -> Program:
    program = read_program(database, process)
    assert program is not None
    return program


seeds = st.lists(st.integers(0, 10**6), min_size=1, max_size=20, unique=True)


@settings(max_examples=5, deadline=None)
@given(seeds)
def test_replay_of_the_unchanged_program_gives_back_what_was_measured(given: list[int]) -> None:
    processes = [measured(seed) for seed in given]
    database = joined(processes).database
    for seed, tables in zip(given, processes, strict=True):
        program = program_of(database, seed)
        outcome = replay(program, Change.none(program))
        assert outcome.ended[-1] == sum(row["duration_ns"] for row in tables["host_segment"])
        ran = [
            (row["begin_ns"] - BEGIN, row["end_ns"] - BEGIN) for row in tables["device_execution"]
        ]
        assert list(zip(outcome.run_begin, outcome.run_end, strict=True)) == ran


def test_latency_of_the_first_execution_is_replayed() -> None:
    tables = tables_of(["barrier: dispatch 20 > 100, wait 2"])
    (run,) = tables["device_execution"]
    run["begin_ns"] += 50 * US
    run["end_ns"] += 50 * US
    tables["host_segment"][-1]["duration_ns"] += 50 * US
    program = program_of(evidence(tables).database)
    assert replay(program, Change.none(program)).total_ns == 172 * US


@settings(max_examples=5, deadline=None)
@given(seeds)
def test_what_becomes_shorter_never_makes_the_program_longer(given: list[int]) -> None:
    database = joined([measured(seed) for seed in given]).database
    for seed in given:
        program = program_of(database, seed)
        shares = np.random.default_rng(seed)
        before = Change.none(program)
        for _ in range(3):
            gone = np.maximum(before.gone, shares.choice([0.0, 0.7, 1.0], len(program.work)))
            device = np.maximum(
                before.device, shares.choice([0.0, 0.5, 0.9], len(program.duration))
            )
            after = replace(before, gone=gone, device=device)
            assert replay(program, after).total_ns <= replay(program, before).total_ns
            before = after


def test_compiling_is_no_part_of_a_program_at_rest() -> None:
    words = steps_of("python 10; compile 500; barrier: dispatch 20 > 100, wait 2")
    program = program_of(explained(tables_of(words)).database)
    assert COMPILE in program.activity
    change = Change.none(program).without_compiling(program)
    assert replay(program, change).total_ns == 13 * 132 * US


# What claims give back


READ = "python 300; barrier@40: wait 2, dispatch 20 > {}; read@41: wait 10"


def test_read_that_holds_up_the_host_gives_back_its_wait() -> None:
    assert gain_us(READ.format(100), claim("remove", "read", 41)) == 110


def test_read_gives_back_next_to_nothing_where_the_device_needs_the_time() -> None:
    words = READ.replace("python 300", "python 10").format(5000)
    assert gain_us(words, claim("remove", "read", 41)) == 22  # of 5042


def test_loop_is_never_faster_than_its_device() -> None:
    words = "python 10; barrier@40: dispatch 20 > 5000; read@41: wait 10"  # no other wait was seen
    assert gain_us(words, claim("remove", "read", 41)) == 40  # of 5040
    program = program_of(explained(tables_of(steps_of(words))).database)
    unread = apply(program, [claim("remove", "read", 41)]).change
    assert replay(program, unread).total_ns == 30 * US + 13 * 5000 * US


def test_executions_launched_in_what_is_removed_are_gone() -> None:
    words = "python 10; read@41: dispatch 5 > 400, wait 10; barrier@40: dispatch 20 > 100, wait 2"
    assert gain_us(words, claim("remove", "read", 41)) == 415
    assert gain_us(words, claim("make_asynchronous", "read", 41)) == 30


def test_barrier_that_does_not_wait_lets_host_and_device_work_side_by_side() -> None:
    words = "python 300; barrier@40: dispatch 20 > 200, wait 2"
    assert gain_us(words, claim("make_asynchronous", "barrier", 40)) == 202


def test_line_of_a_barrier_is_in_the_step_log() -> None:
    words = "python 300; barrier: dispatch 20 > 200, wait 2"
    assert gain_us(words, claim("make_asynchronous", "barrier", 40)) == 202
    assert whatif([words] * 9).estimate(fix(claim("make_asynchronous", "barrier", 7))) is None


@pytest.mark.parametrize(
    ("input_us", "rest_us", "step_us"), [(300, 100, 300), (100, 300, 300), (200, 200, 200)]
)
def test_step_with_an_overlap_takes_as_long_as_the_longer_side(
    input_us: int, rest_us: int, step_us: int
) -> None:
    words = f"input@9: input {input_us}; python {rest_us - 20}; barrier@40: dispatch 20 > 10"
    gained = gain_us(words, claim("overlap", "input", 9))
    assert gained == input_us + rest_us - step_us


def test_overlapped_call_may_have_several_segments() -> None:
    words = "input@9: input 50, upload 50; python 300; barrier@40: dispatch 20 > 10"
    assert gain_us(words, claim("overlap", "input", 9)) == 100


def test_merged_execution_runs_as_a_part_of_the_next_one() -> None:
    words = (
        "python 10; barrier@30: dispatch 20 > 100, wait 2; "
        "python 50; barrier@40: dispatch 20 > 100, wait 2"
    )
    assert gain_us(words, claim("merge_executions", "barrier", 30)) == 104
    program = program_of(explained(tables_of([words])).database)
    merged = replace(Change.none(program), merged=np.array([True, False]))
    outcome = replay(program, merged)
    assert outcome.run_end[1] - outcome.run_begin[1] == 200 * US


def test_call_of_constant_cost() -> None:
    words = "python 10; save@50: save 600, python 400; barrier@40: dispatch 20 > 10"
    assert gain_us(words, claim("constant_cost", "save", 50, to_ns=100.0 * US)) == 900
    assert gain_us(words, claim("constant_cost", "save", 50, to_ns=2000.0 * US)) == 0


def test_shortened_read_waits_for_a_shorter_graph() -> None:
    words = "python 10; read@41: dispatch 20 > 400, wait 10"
    assert gain_us(words, claim("shorten", "read", part=0.9)) == 0.9 * 420  # fetching takes as long


def test_loop_without_barriers_is_as_the_step_log_says() -> None:
    """Its window shows the first turns; reads take more and more of the later ones."""
    tables = tables_of(["python 900; read@41: dispatch 50 > 40, wait 10"])
    tables["timeline_step"] = []
    for row in tables["host_segment"]:
        row["step"] = None
    tables["step"] = [
        step(0, tail=True, duration_ns=5 * SECOND, compile_ns=SECOND, read_ns=3 * SECOND)
    ]
    model = WhatIf(explained(tables).database)
    for part in (0.5, 0.9):
        estimated = model.estimate(fix(claim("shorten", "read", part=part)))
        assert estimated is not None
        assert estimated.seconds == pytest.approx(3 * part, rel=0.01)


@pytest.mark.parametrize(("left_s", "limit"), [(3, "compilation"), (0.01, "host_sync")])
def test_compiling_left_in_a_loop_without_barriers_limits_it(left_s: float, limit: str) -> None:
    """It has no steps, and so no warm-up: a barrier leaves a graph for each shape, say."""
    tables = tables_of(["python 10; read@41: dispatch 50 > 40, wait 900"])
    tables["timeline_step"] = []
    for row in tables["host_segment"]:
        row["step"] = None
    tables["step"] = [
        step(0, tail=True, duration_ns=9 * SECOND, compile_ns=8 * SECOND, read_ns=SECOND)
    ]
    tables["compilation"] = [
        {"process": 0, "index": 1, "thread": 1, "step": 0, "duration_ns": 8 * SECOND}
    ]
    model = WhatIf(explained(tables).database)
    barrier = fix(claim("constant_cost", "compile", to_ns=left_s * SECOND, compilations=[1]))
    estimated = model.estimate(barrier)
    assert estimated is not None
    assert estimated.seconds == pytest.approx(8 - left_s)
    assert estimated.limited_by == model.in_order([barrier])[1] == limit


def test_every_tenth_call_is_kept() -> None:
    words = ["python 10; save@50: save 600, python 50, save 400; barrier@40: dispatch 20 > 10"] * 23
    program = program_of(explained(tables_of(words)).database)
    gone = apply(program, [claim("remove", "save", 50, part=0.9)]).change.gone
    assert sorted(
        set(program.step[(program.region >= 0) & (gone == 0.0) & (program.activity != DISPATCH)])
    ) == [0, 10, 20]


def test_part_of_the_calls_gives_back_that_part() -> None:
    words = steps_of("python 10; save@50: save 1000; barrier@40: dispatch 20 > 10", 23)
    estimated = estimate(words, claim("remove", "save", 50, part=0.9), count=23)
    assert estimated.steady_s == pytest.approx(0.9 * 23e-3)


def test_halves_that_two_fixes_claim_are_all_calls() -> None:
    cut = "python 10; cut: python 50; "
    model = whatif(steps_of(f"{cut}{cut}barrier@40: dispatch 20 > 10"))
    half = fix(claim("remove", "cut", part=0.5))
    assert model.in_order([half, half])[0] == [pytest.approx(13 * 50e-6)] * 2


def test_call_that_two_claims_of_a_fix_cover_counts_once() -> None:
    """Batches are made ahead, by workers that take a tenth of the time."""
    words = steps_of("input@50: input 1000; python 10; barrier@40: dispatch 20 > 10", 23)
    made_ahead = claim("overlap", "input"), claim("constant_cost", "input", to_ns=100.0 * US)
    estimated = estimate(words, *made_ahead, count=23)
    assert estimated.steady_s == pytest.approx(23 * 900e-6, rel=0.05)


def test_timeline_of_another_thread_s_loop_tells_nothing() -> None:
    """Of several threads, the step log goes by the one whose loop takes longest."""
    tables = tables_of(steps_of("python 200; barrier: dispatch 20 > 100, wait 2"))
    longer = [{**row, "duration_ns": 20 * row["duration_ns"]} for row in tables["step"]]
    assert WhatIf(explained(tables).database).limited_by(0) is not None
    assert WhatIf(explained({**tables, "step": longer}).database).limited_by(0) is None


def test_calls_are_counted_in_the_whole_run() -> None:
    words = ["python 100; read@41: wait 100", "python 100"] * 5
    once = estimate(words, claim("remove", "read", 41), count=5)
    assert estimate(words, claim("remove", "read", 41), count=1).steady_s == once.steady_s / 5


def test_calls_are_counted_by_the_turn_where_a_step_has_several_barriers() -> None:
    tables = tables_of(["python 100; read@41: python 100", "python 100"] * 10)
    tables["step_period"] = [{"process": 0, "thread": 1, "barriers": 2}]
    model = WhatIf(explained(tables).database)
    estimated = model.estimate(fix(claim("remove", "read", 41), count=10))
    assert estimated is not None
    assert estimated.steady_s == pytest.approx(10 * 100e-6, rel=0.1)


CALM = "python 100; barrier@40: dispatch 20 > 10"


@pytest.mark.parametrize(
    ("tracing", "what", "part", "gained"),
    [
        (0.75, "tracing", 1.0, 95),
        (0.75, "tracing", 0.4, 38),
        (0.75, "other", 1.0, 25),
        (None, "tracing", 0.5, 60),
        (None, "other", 0.5, 50),
        (0.0, "tracing", 1.0, 0),
    ],
)
def test_part_of_python(tracing: float | None, what: What, part: float, gained: int) -> None:
    """With what is traced goes the barrier's own work for it, 20 µs here."""
    assert gain_us(CALM, claim("remove", what, part=part), tracing=tracing) == gained


def test_tracing_and_other_python_are_all_of_python() -> None:
    parts = [
        claim("remove", "tracing"),
        claim("remove", "other", part=0.6),
        claim("remove", "other", part=0.4),
    ]
    given, _ = whatif(steps_of(CALM), tracing=0.5).in_order([fix(part) for part in parts])
    assert sum(seconds or 0.0 for seconds in given) == pytest.approx(
        13 * (120 - 10) * 1e-6
    )  # the device's 10 µs stay


def test_constants_of_traced_operations_go_with_them_and_the_program_s_uploads_stay() -> None:
    words = "python 100; upload 30; upload@5: upload 40; barrier@40: dispatch 20 > 10, wait 7"
    assert gain_us(words, claim("remove", "tracing", part=0.5)) == 50 + 15 + 10


def test_python_inside_a_call_is_not_the_loop_s() -> None:
    words = "python 100; cut: python 50; barrier@40: dispatch 20 > 10"
    assert gain_us(words, claim("remove", "tracing")) == 100 + 20
    assert gain_us(words, claim("remove", "cut")) == 50


def test_timeline_without_our_calls_tells_by_activity() -> None:
    tables = tables_of(steps_of("input 300; python 100; dispatch 20 > 10"))
    del tables["step"]
    estimated = WhatIf(explained(tables).database).estimate(fix(claim("overlap", "input")))
    assert estimated is not None
    assert estimated.steady_s == pytest.approx(13 * 120e-6)


# Compilations


def compiling(compile_us: int = 600) -> list[str]:
    """Thirteen steps; one in warm-up and two later ones compile."""
    words = ["python 10; barrier@40: dispatch 20 > 100, wait 2"] * 13
    for index in (0, 5, 8):
        words[index] = words[index].replace("barrier", f"compile {compile_us}; barrier")
    return words


def test_compilations_give_back_their_seconds_late_and_in_warm_up() -> None:
    estimated = estimate(compiling(), claim("compile_once", "compile", compilations=[0, 1, 2]))
    assert estimated.steady_s == 0.0
    assert estimated.warmup_s == pytest.approx(600e-6)
    assert estimated.late_s == pytest.approx(1200e-6)
    assert estimated.seconds == pytest.approx(1800e-6)


def compiling_meanwhile(compile_us: int) -> Estimate | None:
    """What is saved if the device works for 1000 µs of each compilation."""
    words = ["python 10; barrier@40: wait 2, dispatch 20 > 1000"] * 13
    words[5] = words[8] = words[5].replace("barrier", f"compile {compile_us}; barrier")
    return whatif(words).estimate(fix(claim("compile_once", "compile", compilations=[0, 1])))


def test_compiling_while_the_device_works_gives_back_less() -> None:
    estimated = compiling_meanwhile(2500)
    assert estimated is not None
    assert estimated.late_s == pytest.approx(2 * 1500e-6, rel=0.02)


def test_compiling_that_the_device_hides_gives_back_nothing() -> None:
    estimated = compiling_meanwhile(600)
    assert estimated is not None
    assert estimated.seconds == 0


def test_compilations_of_constant_cost_take_so_long_all_together() -> None:
    all_three = claim("constant_cost", "compile", compilations=[0, 1, 2], to_ns=900.0 * US)
    assert estimate(compiling(), all_three).seconds == pytest.approx(900e-6)


def test_longer_run_has_more_late_compilations_unless_they_are_settled_or_exhausted() -> None:
    estimated = Estimate(steady_s=1.0, late_s=2.0, warmup_s=4.0, limited_by="device")
    assert estimated.projected(fix(), 10, 100) == 10 + 20 + 4
    assert estimated.projected(fix(settled=True), 10, 100) == 10 + 2 + 4
    assert estimated.projected(fix(count=1), 10, 100) == 10 + 2 + 4  # at least
    assert estimated.projected(fix(count=2, at_most=6), 10, 100) == 10 + 2 * 3 + 4
    assert estimated.projected(fix(count=2, at_most=1), 10, 100) == 10 + 2 + 4


# Where nothing can be told


@pytest.mark.parametrize(
    "absent",
    [
        claim("remove", "read", 7),
        claim("remove", "cut"),
        claim("remove", "read", 40),
        claim("compile_once", "compile", compilations=[99]),
    ],
    ids=str,
)
def test_claim_about_what_the_timeline_does_not_have_has_no_estimate(absent: Claim) -> None:
    assert whatif(steps_of(READ.format(100))).estimate(fix(absent)) is None


def test_process_without_timeline_has_no_estimate() -> None:
    read = claim("remove", "read", 41)
    assert whatif(steps_of(READ.format(100))).estimate(Fix(1, [read], 13)) is None
    tables = {"step": [step(index) for index in range(9)]}
    model = WhatIf(explained(dict(tables)).database)
    assert model.estimate(fix(read)) is None
    assert model.step_s(0) is None
    assert model.in_order([fix(read), None]) == ([None, None], None)


# Several findings


def test_second_finding_that_claims_the_same_gains_nothing_more() -> None:
    model = whatif(compiling())
    same = fix(claim("remove", "tracing"), claim("compile_once", "compile", compilations=[1]))
    (first, second), _ = model.in_order([same, same])
    assert first == pytest.approx(13 * 30e-6 + 600e-6)
    assert second == 0


def test_remainders_add_up_to_all_fixes_at_once() -> None:
    words = (
        "python 300; read@41: dispatch 5 > 200, wait 10; input@9: input 250; "
        "barrier@40: dispatch 20 > 500, wait 2"
    )
    model = whatif(steps_of(words))
    claims = [
        claim("remove", "read", 41),
        claim("overlap", "input", 9),
        claim("remove", "tracing"),
        claim("make_asynchronous", "barrier", 40),
    ]
    given, _ = model.in_order([fix(absent) for absent in claims])
    # the calls of two claims: barriers and Python have none that are counted
    together = model.estimate(fix(*claims, count=2 * 13))
    assert together is not None
    assert sum(seconds or 0.0 for seconds in given) == pytest.approx(together.seconds)


def test_finding_without_estimate_does_not_disturb_the_others() -> None:
    model = whatif(steps_of(READ.format(100)))
    read = fix(claim("remove", "read", 41))
    assert model.in_order([None, read])[0] == [None, *model.in_order([read])[0]]


def test_call_that_two_fixes_make_cheap_is_as_cheap_as_by_one() -> None:
    model = whatif(steps_of("python 10; save@50: save 1000; barrier@40: dispatch 20 > 10"))
    cheap = fix(claim("constant_cost", "save", 50, to_ns=100.0 * US))
    assert model.in_order([cheap, cheap])[0][1] == 0


def test_compilation_that_two_fixes_claim_is_gone_once() -> None:
    once = [fix(claim("compile_once", "compile", compilations=[1]))]
    model = whatif(compiling(5000))
    assert model.in_order(once)[1] == model.in_order(once * 2)[1] == "compilation"


# What is left


@pytest.mark.parametrize(
    ("words", "tracing", "limit"),
    [
        ("python 300; barrier@40: wait 2, dispatch 20 > 100; read@41: wait 2", 0.8, "tracing"),
        ("python 300; barrier@40: wait 2, dispatch 20 > 100; read@41: wait 2", 0.2, "host"),
        ("python 30; barrier@40: wait 2, dispatch 20 > 900; read@41: wait 2", None, "device"),
        ("python 30; barrier@40: dispatch 20 > 5; read@41: wait 900", None, "tracing"),
        ("python 30; barrier@40: wait 500, dispatch 20 > 5; read@41: wait 2", None, "host_sync"),
        (
            "input@9: input 500; barrier@40: wait 2, dispatch 20 > 100; read@41: wait 2",
            None,
            "input",
        ),
        ("save@9: save 500; barrier@40: dispatch 20 > 100; read@41: wait 2", None, "checkpoint"),
        ("upload@9: upload 500; barrier@40: dispatch 20 > 100; read@41: wait 2", None, "upload"),
        ("python 10; barrier@40: dispatch 200 > 10; read@41: wait 2", None, "dispatch"),
    ],
)
def test_step_is_limited_by_what_most_of_it_goes_into(
    words: str, tracing: float | None, limit: str
) -> None:
    removed = claim("remove", "read", 41)
    assert estimate(steps_of(words), removed, tracing=tracing).limited_by == limit


def test_step_is_limited_by_compiling_until_that_is_fixed() -> None:
    words = compiling(60000)
    assert estimate(words, claim("remove", "tracing")).limited_by == "compilation"
    once = claim("compile_once", "compile", compilations=[1, 2])
    assert estimate(words, once).limited_by == "device"


# What rules say


def test_claims_of_a_row() -> None:
    given = {"do": "remove", "what": "read", "file": TRAIN, "line": 41, "part": None}
    assert claims_of("XD201", given) == [claim("remove", "read", 41)]
    assert claims_of("XD201", [given, None, given]) == [claim("remove", "read", 41)] * 2
    assert claims_of("XD201", None) == claims_of("XD201", []) == []


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ({"do": "remove", "what": "read", "colour": "red"}, "XD201: its claim has unknown fields:"),
        ({"do": "paint", "what": "read"}, "XD201: its claim says paint read"),
        ({"do": "remove", "what": "barrier"}, "XD201: its claim says remove barrier"),
    ],
)
def test_claim_outside_the_vocabulary_is_an_error_of_the_rule(given: Row, what: str) -> None:
    with pytest.raises(RuleError, match=what):
        claims_of("XD201", given)


def test_macro_of_the_rules_makes_claims() -> None:
    query = """SELECT [claim('remove', 'read', 'a.py', 1, part_ := 0.5),
                       claim('constant_cost', 'compile', to_ns_ := 9, compilations_ := [1])] AS c"""
    assert claims_of("XD201", evidence({}).database.scalar(query)) == [
        Claim("remove", "read", "a.py", 1, part=0.5),
        Claim("constant_cost", "compile", to_ns=9.0, compilations=[1]),
    ]


# How much of the run a timeline stands for


def rates(**tables: list[Row]) -> Rates | None:
    return read_rates(explained(tables).database, 0)


def logged(traced: int, untraced: int) -> list[Row]:
    """Three steps of warm-up; then those in the window, which are slower, and those after it."""
    return [
        step(index, duration_ns=2 * US if index < 3 + traced else US, traced=index < 3 + traced)
        for index in range(3 + traced + untraced)
    ]


def test_steps_outside_the_window_tell_the_pace() -> None:
    measured = rates(step=logged(traced=4, untraced=5))
    assert measured == Rates(12, 12, 12e-6, {}, frozenset())
    assert measured.step_s == pytest.approx(1e-6)


def test_few_steps_outside_the_window_tell_no_pace_of_their_own() -> None:
    measured = rates(step=logged(traced=4, untraced=4))
    assert measured is not None
    assert measured.step_s == pytest.approx(1.5e-6)


def test_step_includes_what_is_compiled_late() -> None:
    measured = rates(**tables_of(compiling()))
    assert measured is not None
    assert measured.late == frozenset({1, 2})
    assert sorted(measured.compilations) == [0, 1, 2]
    assert measured.late_compile_s == pytest.approx(1200e-6)
    assert measured.step_s == pytest.approx(132e-6 + 1200e-6 / 13)


def test_loop_without_barriers_is_taken_as_a_whole() -> None:
    measured = rates(step=[step(0, tail=True, duration_ns=9 * SECOND, compile_ns=SECOND)])
    assert measured == Rates(0, 0, 8.0, {}, frozenset())
    assert measured.step_s is None


def test_without_step_log_the_timeline_tells() -> None:
    tables = tables_of(steps_of(CALM))
    measured = rates(timeline_step=tables["timeline_step"])
    assert measured == Rates(13, 13, 1560e-6, {}, frozenset())


def test_without_any_step_nothing_is_known() -> None:
    assert rates() is None
    assert rates(step=[step(0, process=1)]) is None
