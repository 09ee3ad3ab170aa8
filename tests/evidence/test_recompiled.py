"""``recompiled``, the macro behind the rules about compiling again: which compilations count, how
bad they are, and which line is named.

Each case is a process of its own in one database; what is in one must not count in another.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.support import Row, evidence, step
from xladoctor.diagnosis.pack import load_rules

KINDS = [
    "input_shape",
    "input_type",
    "constant",
    "operations",
    "input_count",
    "growing",
    "placement",
    "evicted",
    "unknown",
    "function",
    "member",
    "configuration",
    "offset",
    "chain",
]
THRESHOLDS = {"buckets": 6, "phases": 3}


@dataclass(frozen=True)
class Case:
    """A process of ``steps`` steps whose barrier at train.py:40 compiled as listed.

    Attributes:
        compiled: columns of each compilation, of ``compilation`` and of ``recompilation`` at once;
            ``ordinal`` is the launch of the site. The first of a site needs no cause.
        period: barriers in each turn of the loop.
        tail: whether the program went on after its last barrier.
        rows: the rows expected, each with the values that matter.
    """

    compiled: list[Row]
    rows: list[Row]
    kind: str = "constant"
    steps: int = 40
    period: int | None = None
    step: Row = field(default_factory=dict)
    tail: bool = False


def at(*ordinals: int, **columns: Any) -> list[Row]:
    """Compilations at these launches of a site that launches forty times."""
    return [{"ordinal": ordinal, **columns} for ordinal in ordinals]


DATA, MODEL = {"made_file": "data.py", "made_line": 88}, {"made_file": "model.py", "made_line": 7}
NOTHING: list[Row] = []
CASES = {
    # -- warm-up
    "warm_up_is_expected": Case(at(0, 1, 2), NOTHING),
    "fourth_launch_is_no_warm_up": Case(at(0, 1, 2, 3), [{"count": 1}]),
    "warm_up_is_of_each_site": Case(
        at(0, 1, 2, launches=20) + at(0, 1, 2, launches=20, line=60, first_step=20), NOTHING
    ),
    "warm_up_of_two_launches_a_turn": Case(at(0, 1, 4, 5, launches=80), NOTHING),
    "warm_up_of_sixteen_barriers_a_turn": Case(
        at(0, 1, 15, 31, 47, launches=160), NOTHING, steps=160, period=16
    ),
    "after_sixteen_barriers_a_turn": Case(
        at(0, 48, launches=160), [{"count": 1}], steps=160, period=16
    ),
    "unknown_launches_go_by_the_period": Case(
        at(0, 20, 47, 48, launches=None), [{"count": 1}], steps=160, period=16
    ),
    # -- what a fix saves
    "with_one_shape_the_state_of_an_optimizer_is_compiled_for_all_the_same": Case(
        at(0, inputs=20, outputs=44) + at(3, 4, 5, inputs=38, outputs=44),
        [{"count": 3, "avoided": [2, 3]}],
        kind="input_shape",
    ),
    "with_one_shape_numbers_of_unrolled_loops_are_not_compiled_anew": Case(
        [{**row, "inputs": 20 + row["ordinal"], "outputs": 44} for row in at(0, 3, 4)],
        [{"count": 2, "avoided": [1, 2]}],
        kind="input_shape",
    ),
    "as_many_inputs_from_the_first_step": Case(
        at(0, 3, 4, inputs=20, outputs=44), [{"count": 2, "avoided": [1, 2]}], kind="input_shape"
    ),
    # -- outside of the loop
    "called_after_the_loop_from_elsewhere": Case(
        at(0, 10, callers="train.py:90") + at(40, 40, 40, callers="train.py:95"),
        [{"count": 1}],
        tail=True,
    ),
    "last_turn": Case(at(0, 10, 40, callers="train.py:90"), [{"count": 2}], tail=True),
    "loop_after_the_loop": Case(
        at(0, callers="train.py:90") + at(*[40] * 9, callers="train.py:95"),
        [{"count": 6, "settled": False}],
        tail=True,
    ),
    "before_the_first_barrier": Case(
        at(*range(10), launches=10, line=60, in_step=0), [{"count": 7, "settled": True}]
    ),
    "another_phase_begins_with_many_functions": Case(
        [
            row
            for line in range(60, 72)
            for row in at(0, 5, launches=8, line=line, in_step=25, cause=f"jit(f{line})")
        ]
        + at(0, 20, cause="jit(step)"),
        [{"count": 1}],
    ),
    "few_functions_compile_often_in_one_step": Case(
        [
            row
            for line in (60, 61, 62)
            for row in at(*range(8), launches=8, line=line, in_step=25, cause="jit(grow)")
        ],
        [{"count": 5}] * 3,
    ),
    "many_functions_compile_often_in_one_step": Case(
        [
            row
            for line in range(60, 70)
            for row in at(*range(8), launches=8, line=line, in_step=25, cause="jit(grow)")
        ],
        [{"count": 5}] * 10,
    ),
    "layers_evaluated_one_after_the_other_again_and_again": Case(
        at(*range(9), launches=45, line=60, in_step=19, via="dot", cause="jit(dot)"), NOTHING
    ),
    "as_many_shapes_of_a_function_of_the_program": Case(
        at(*range(9), launches=45, line=60, in_step=19, cause="jit(grow)"), [{"count": 6}]
    ),
    "operations_that_compile_until_the_end": Case(
        at(*range(9), launches=12, line=60, in_step=19, via="dot", cause="jit(dot)"), [{"count": 6}]
    ),
    "operations_that_compile_in_several_steps": Case(
        at(*range(9), launches=45, line=60, via="dot", cause="jit(dot)"), [{"count": 6}]
    ),
    "what_one_thread_goes_through_may_change_for_another": Case(
        at(*range(9), launches=45, line=60, in_step=0, via="dot", cause="jit(dot)", thread=2)
        + at(0, 7, 39, line=60, via="dot", cause="jit(dot)"),
        [{"count": 2}],
    ),
    "a_library_called_after_the_loop_from_a_line_that_the_loop_has_not": Case(
        at(0, 1, launches=60, user_file="train.py", user_line=50)
        + at(50, 51, launches=60, user_file="train.py", user_line=70, in_step=40),
        NOTHING,
        tail=True,
    ),
    "a_library_called_after_the_loop_for_two_functions": Case(
        [
            row
            for n in (0, 1)
            for row in at(
                *range(50 + n, 56 + n, 2), launches=60, callers="70", in_step=40, cause=f"jit(f{n})"
            )
        ],
        NOTHING,
        tail=True,
    ),
    # -- how bad
    "once_is_fine_however_late": Case(
        at(0, 39), [{"count": 1, "healthy": True, "settled": False, "by_counts": "info"}]
    ),
    "each_launch": Case(
        at(*range(14), launches=14),
        [
            {
                "count": 11,
                "per_step": 11 / 40,
                "healthy": False,
                "settled": False,
                "by_counts": "error",
            },
        ],
    ),
    "early_buckets": Case(
        at(0, 4, 8, 12, 16, 20),
        [
            {"count": 5, "healthy": True, "settled": None, "by_counts": "info"},
        ],
    ),
    "early_buckets_that_cost_little": Case(
        at(0, 4, 8, duration_ns=2_000_000),
        [
            {"healthy": True, "by_counts": "info"},
        ],
        kind="input_shape",
    ),
    "early_buckets_that_cost_much": Case(
        at(0, 4, 8, duration_ns=3_000_000),
        [
            {"healthy": True, "settled": None, "by_counts": "info"},
        ],
        kind="input_shape",
    ),
    "six_buckets_are_too_many": Case(
        at(0, 4, 8, 12, 16, 20, 24),
        [
            {"count": 6, "healthy": False, "settled": None, "by_counts": "warning"},
        ],
    ),
    "last_bucket_in_the_last_third": Case(
        at(0, 6, 12, 18, 24, 30),
        [
            {"count": 5, "healthy": False, "settled": False, "by_counts": "error"},
        ],
    ),
    "last_third_begins_at_two_thirds": Case(
        at(0, 6, 12, 18, 20, launches=30),
        [
            {"count": 4, "settled": False},
        ],
    ),
    "just_before_the_last_third": Case(
        at(0, 6, 12, 18, 19, launches=30),
        [
            {"count": 4, "settled": None},
        ],
    ),
    "two_in_the_last_third": Case(
        at(0, 38, 39),
        [
            {"count": 2, "healthy": False, "by_counts": "warning"},
        ],
    ),
    "unknown_launches_never_settle": Case(
        at(0, 4, 8, 12, launches=None),
        [
            {"count": 3, "settled": False, "healthy": False, "per_step": 3 / 40},
        ],
    ),
    # -- graphs of another phase
    "evaluation": Case(at(0, 28, 29), [{"count": 2, "healthy": True, "settled": False}]),
    "three_graphs_of_evaluation": Case(at(0, 28, 29, 30), [{"count": 3, "healthy": True}]),
    "four_graphs_are_no_phase": Case(at(0, 28, 29, 30, 31), [{"count": 4, "healthy": False}]),
    "phase_that_is_launched_no_more": Case(at(0, 35, 36, 37), [{"count": 3, "healthy": False}]),
    "shapes_are_no_phase": Case(
        at(0, 28, 29), [{"count": 2, "healthy": False}], kind="input_shape"
    ),
    # -- what it costs, and whether it goes on
    "costs_add_up": Case(
        at(0, 10, 20, 30, duration_ns=5_000_000),
        [
            {"cost_ns": 15_000_000, "stalls": False},
        ],
    ),
    "unknown_costs_stall": Case(at(0, 10, 20, 30), [{"cost_ns": None, "stalls": True}]),
    "two_do_not_stall": Case(at(0, 10, 30), [{"cost_ns": None, "stalls": False}]),
    "settled_does_not_stall": Case(at(0, 6, 9, 12), [{"stalls": False}]),
    "growth_is_unbounded": Case(
        at(0, 10, 20, 30, pattern="grows"), [{"unbounded": True}], kind="growing"
    ),
    "growth_that_has_settled": Case(
        at(0, 5, 10, 15, pattern="grows"), [{"unbounded": False}], kind="growing"
    ),
    "growth_twice_tells_nothing": Case(
        at(0, 10, 30, pattern="grows"), [{"unbounded": False}], kind="growing"
    ),
    "variation_is_bounded": Case(
        at(0, 10, 20, 30, pattern="varies"), [{"unbounded": False}], kind="placement"
    ),
    # -- a missing barrier explains all of it
    "five_updates_a_barrier": Case(
        at(*range(12), launches=12), NOTHING, steps=12, step={"optimizer_steps": 5}
    ),
    # -- which line
    "line_of_the_site": Case(
        at(0, 10, 20, 30),
        [
            {"file": "train.py", "line": 40, "related_file": None, "related_role": None},
        ],
    ),
    "line_of_the_cause": Case(
        at(0, 10, 20, 30, **DATA),
        [
            {
                "file": "data.py",
                "line": 88,
                "related_file": "train.py",
                "related_line": 40,
                "related_role": "compiled",
            },
        ],
    ),
    "two_lines_of_inputs_are_two_rows": Case(
        at(0, 10, 20, 30, **DATA) + at(12, 22, 32, **MODEL),
        [{"line": 7, "count": 3}, {"line": 88, "count": 3}],
        kind="input_shape",
    ),
    "number_without_a_line_joins_the_commonest": Case(
        at(0, 10, 20, **DATA) + at(30, 31), [{"line": 88, "count": 4}]
    ),
    "operations_of_a_site_are_one_row": Case(
        at(0, 10, 20, 30, **DATA) + at(12, **MODEL), [{"line": 88, "count": 4}], kind="operations"
    ),
    "change_is_of_the_commonest_line": Case(
        at(0, 10, 20, **DATA, now="of data") + at(30, **MODEL, now="of the model"),
        [{"line": 88, "now": "of data"}],
        kind="operations",
    ),
    "counts_change_on_any_line": Case(
        at(0, 10, 20, **DATA, now="3 inputs") + at(30, **MODEL, now="5 inputs"),
        [{"line": 88, "now": "5 inputs"}],
        kind="input_count",
    ),
    "sites_are_rows": Case(
        at(0, 10, 20, 30, launches=40) + at(0, 10, 20, 30, line=60),
        [
            {"line": 40, "count": 3},
            {"line": 60, "count": 3},
        ],
    ),
    # -- several causes at one site
    "other_causes_are_other_rows_and_count_for_buckets": Case(
        at(0, 4, 8, 12, 16, 20) + at(24, kind="placement"),
        [
            {"kind": "constant", "count": 5, "healthy": False},
            {"kind": "placement", "count": 1, "healthy": False},
        ],
    ),
    "other_cause_goes_on": Case(
        at(0, 4, 8) + at(39, kind="placement"),
        [
            {"kind": "constant", "settled": None, "healthy": False},
            {"kind": "placement", "settled": False},
        ],
    ),
    "cause_that_is_not_recorded": Case(at(0, 10, kind=None), [{"kind": "unknown", "count": 1}]),
    # -- what is said of the change
    "values_of_a_dimension": Case(
        [
            {"ordinal": n, "dimension": 1, "value": value, "was": f"[{value}]", "now": f"[{value}]"}
            for n, value in ((0, 1), (10, 7), (20, 5), (25, None), (30, 7))
        ],  # None: of another rank
        [{"values": [5, 7], "distinct_values": 2, "to_shape": "[7]", "numbers": None}],
        kind="input_shape",
    ),
    "numbers_in_their_order": Case(
        [{"ordinal": n, "now": str(9 - n)} for n in range(10)],
        [{"numbers": ["6", "5", "4", "3", "2", "1", "0"], "distinct_numbers": 7, "to_shape": None}],
    ),
}


def of_process(number: int, case: Case) -> dict[str, list[Row]]:
    """The rows of a case."""
    tables: dict[str, list[Row]] = {
        "step": [step(n, process=number, **case.step) for n in range(case.steps)],
        "step_period": [],
        "compilation": [],
        "recompilation": [],
    }
    if case.tail:
        tables["step"].append(step(case.steps, process=number, tail=True))
    if case.period:
        tables["step_period"] = [{"process": number, "thread": 1, "barriers": case.period}]
    sites: set[int] = set()
    for index, given in enumerate(sorted(case.compiled, key=lambda row: row["ordinal"])):
        row = {
            "kind": case.kind,
            "line": 40,
            "launches": 40,
            "first_step": 0,
            "made_file": None,
            "made_line": None,
            "duration_ns": None,
            "callers": None,
            "cause": None,
            "via": "",
            "user_file": None,
            "user_line": None,
            "thread": 1,
            "inputs": None,
            "outputs": None,
            **given,
        }
        key = {"process": number, "index": index}
        site = {
            name: row.pop(name)
            for name in (
                "line",
                "launches",
                "duration_ns",
                "callers",
                "cause",
                "via",
                "user_file",
                "user_line",
                "thread",
                "inputs",
                "outputs",
            )
        }
        ordinal = row.pop("ordinal")
        in_step = row.pop("first_step") + ordinal
        tables["compilation"].append(
            {
                **key,
                **site,
                "step": row.pop("in_step", in_step),
                "file": "train.py",
                "ordinal": ordinal,
                "function": "train",
                "graph_hash": f"g{index}",
            }
        )
        if site["line"] in sites and row["kind"]:
            place = {"file": row.pop("made_file"), "line": row.pop("made_line")}
            tables["recompilation"].append({**key, **row, **place})
        sites.add(site["line"])
    return tables


@pytest.fixture(scope="module")
def judged() -> dict[int, list[Row]]:
    """By process, the rows of all causes, with what is said of the change beside the rest."""
    tables: dict[str, list[Row]] = {}
    for number, case in enumerate(CASES.values()):
        for name, rows in of_process(number, case).items():
            tables.setdefault(name, []).extend(rows)
    database = evidence(tables).database
    database.create_views("derived")
    judged: dict[int, list[Row]] = {number: [] for number in range(len(CASES))}
    for kind in KINDS:
        query = "SELECT * FROM recompiled([$kind], $buckets, $phases) ORDER BY line"
        for row in database.rows(query, {"kind": kind, **THRESHOLDS}):
            avoided = row["claim"]["compilations"]
            judged[row["process"]].append({**row["cause"], **row, "avoided": avoided})
    return judged


@pytest.mark.parametrize("number", range(len(CASES)), ids=list(CASES))
def test_rows(judged: dict[int, list[Row]], number: int) -> None:
    wanted = list(CASES.values())[number].rows
    rows = judged[number]

    assert len(rows) == len(wanted)
    assert [
        {key: row[key] for key in expected} for row, expected in zip(rows, wanted, strict=True)
    ] == wanted


def test_rules_of_the_family_ask_with_the_same_thresholds() -> None:
    family = [rule for rule in load_rules() if "recompiled(" in rule.query]
    assert sorted(cause for rule in family for cause in rule.causes) == sorted(KINDS)
    for rule in family:
        assert "$buckets, $phases" in rule.query
        assert rule.thresholds == rule.thresholds | THRESHOLDS
