"""Which launches end steps, where there are no barriers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import cast

from tests.support import read_call_sites
from xladoctor.recording.bootstrap._xladoctor.anchors import Anchors
from xladoctor.recording.bootstrap._xladoctor.call_site import FRAMEWORK, CallSites

INIT, TRAIN, METRIC, EVALUATE, UPDATE = range(5)
WORK: dict[int | None, float] = {INIT: 50, TRAIN: 9000, METRIC: 40, EVALUATE: 3000, UPDATE: 60}


def ended(sites: Iterable[int]) -> list[int]:
    anchors = Anchors(WORK, CallSites(()).kind)
    return [site for site in sites if anchors.ends_step(site)]


def test_the_heaviest_launch_of_a_turn_ends_its_step() -> None:
    assert ended([TRAIN, METRIC] * 10) == [TRAIN] * 9


def test_each_loop_has_an_anchor_of_its_own() -> None:
    epoch = [TRAIN] * 10 + [EVALUATE] * 5
    assert ended(epoch * 3) == [TRAIN] * 9 + [EVALUATE] * 4 + 2 * ([TRAIN] * 10 + [EVALUATE] * 5)


def test_a_line_that_launches_twice_in_a_turn_has_no_loop_of_its_own() -> None:
    for few in (2, 3, 4):
        steps = ended(([EVALUATE] * few + [TRAIN]) * 20)
        assert steps == [EVALUATE] * (few - 1) + [TRAIN] * 19  # of the first turn, as yet alone


def test_small_launches_that_repeat_within_a_turn_end_none() -> None:
    turns = ended(([TRAIN] + [UPDATE] * 6) * 20)
    assert turns.count(TRAIN) == 19
    assert turns.count(UPDATE) <= 6  # of the first turn, before the loop is known


def test_a_launch_that_is_made_once_ends_none() -> None:
    assert ended([INIT, TRAIN, EVALUATE]) == []


def test_the_same_line_called_from_two_places_is_two_calls() -> None:
    anchors = Anchors(WORK, CallSites(()).kind)

    def launch() -> bool:
        return bool(anchors.ends_step(TRAIN))

    results = [(launch(), launch()) for _ in range(10)]
    assert [sum(pair) for pair in results] == [0] + [1] * 9


def launching(anchors: Anchors) -> Callable[..., list[bool]]:
    """A function of the framework that launches operations, one after the other."""
    scope = {"hook": lambda operation: anchors.ends_step(TRAIN, operation)}
    text = "def apply(*operations):\n    return [hook(each) for each in operations]\n"
    exec(compile(text, "framework.py", "exec"), scope)
    return cast("Callable[..., list[bool]]", scope["apply"])


def kind(file: str) -> int:
    return FRAMEWORK if file == "framework.py" else int(CallSites(()).kind(file))


def test_operations_that_one_call_of_the_framework_launches_make_no_loop() -> None:
    apply = launching(Anchors(WORK, kind))

    assert not any(apply(*["dot", "add", "dot", "add", "dot", "add"]))


def test_a_call_of_the_framework_that_comes_again_ends_a_step() -> None:
    anchors = Anchors(WORK, kind)
    apply = launching(anchors)
    turns = []
    for _ in range(10):
        turns.append(apply("dot", "add", "dot", "add"))
        anchors.ends_step(METRIC)  # what another line launches
    assert [any(turn) for turn in turns] == [False] + [True] * 9
    assert not any(any(turn[1:]) for turn in turns)

    for _ in range(10):
        turns.append(apply("dot", "add", "dot", "add"))
        anchors.went_on()  # a value is read
    assert all(any(turn) for turn in turns[-9:])


def test_one_operation_after_the_other_is_a_loop() -> None:
    apply = launching(Anchors(WORK, kind))

    assert sum(sum(apply("dot")) for _ in range(10)) == 9


def test_what_a_loop_that_does_more_makes_of_earlier_steps() -> None:
    anchors = Anchors(WORK, CallSites(()).kind)
    for _ in range(5):
        anchors.ends_step(INIT)
    assert anchors.since
    since = []
    for _ in range(3):
        anchors.ends_step(TRAIN)
        since.append(anchors.since)
    assert since[1:] == [0, 1]


def test_operations_that_come_between_launches_of_a_function_end_no_steps() -> None:
    turn = [TRAIN] + [EVALUATE] * 12  # each does a third of what the function does

    def steps(operations: Iterable[int | None]) -> list[int]:
        anchors = Anchors(WORK, CallSites(()).kind, operations=frozenset(operations))
        return [site for site in turn * 20 if anchors.ends_step(site)]

    assert steps([EVALUATE]).count(TRAIN) == 19
    assert steps([EVALUATE]).count(EVALUATE) == 11  # of the first turn, before the loop is known
    assert steps([]).count(EVALUATE) > 200  # of functions, it is a loop of its own


def test_operations_that_do_more_than_the_function_end_no_steps_either() -> None:
    anchors = Anchors(WORK, CallSites(()).kind, operations=frozenset([TRAIN]))
    turn = [EVALUATE] + [TRAIN] * 3
    steps = [site for site in turn * 20 if anchors.ends_step(site)]
    assert steps.count(EVALUATE) == 19
    assert steps.count(TRAIN) == 2  # of the first turn


def test_operations_have_a_loop_of_their_own_where_no_function_is_launched_any_more() -> None:
    anchors = Anchors(WORK, CallSites(()).kind, operations=frozenset([EVALUATE]))
    program = [TRAIN] * 10 + [EVALUATE] * 1000
    assert [site for site in program if anchors.ends_step(site)].count(EVALUATE) > 700


def test_a_function_that_does_little_beside_operations_does_not_tell_the_steps() -> None:
    anchors = Anchors(WORK, CallSites(()).kind, operations=frozenset([TRAIN]))
    epoch = [EVALUATE] + [TRAIN] * 50
    assert [site for site in epoch * 10 if anchors.ends_step(site)].count(TRAIN) >= 10 * 49


def test_steps_of_operations_before_the_loop_of_functions_were_none() -> None:
    launches = [(EVALUATE, 240, 3000.0, 11), (TRAIN, 20, 9000.0, 19)]
    sites = read_call_sites(
        json.dumps({"sites": [], "fallbacks": [], "launches": launches, "beside": [EVALUATE]})
    )
    assert sites.light == {EVALUATE}
