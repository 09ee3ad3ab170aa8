"""Steps that belong to setting a program up."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from xladoctor.facts.compilations import Launch
from xladoctor.ingest.call_sites import CallSites
from xladoctor.ingest.frames import CallSite
from xladoctor.ingest.run_records import step_line_decoder
from xladoctor.ingest.set_up import sites_of_set_up


def compilation(site: int, defined: int | None = None) -> dict[str, Any]:
    return {
        "event": "compile",
        "thread": 1,
        "step": 0,
        "site": site,
        "during": "launch",
        "end_ns": 1,
        "duration_ns": 1,
        "function": "mul",
        "defined": defined,
    }


def step(site: int) -> dict[str, Any]:
    return {
        "event": "step",
        "thread": 1,
        "index": 0,
        "end_ns": 1,
        "duration_ns": 1,
        "steps": 1,
        "site": site,
    }


def set_up(lines: Iterable[dict[str, Any]], **steps: int) -> frozenset[int | None]:
    launched = tuple(launch(int(site[1:]), count) for site, count in steps.items())
    return found(lines, CallSites(launched=launched))


def found(lines: Iterable[dict[str, Any]], sites: CallSites) -> frozenset[int | None]:
    return sites_of_set_up(map(step_line_decoder(), map(json.dumps, lines)), sites)


def launch(site: int, steps: int) -> Launch:
    return Launch(site=site, count=20, work=1.0, steps=steps)


def test_a_line_that_compiles_operations_each_time_makes_no_loop() -> None:
    assert set_up([compilation(1), step(1)] * 6, s1=6) == {1}


def test_a_line_that_settles_makes_a_loop() -> None:
    assert set_up([compilation(1), *[step(1)] * 4], s1=4) == frozenset()
    assert set_up([compilation(1), step(1), step(1)] * 2, s1=4) == {1}


def test_a_function_of_the_program_that_compiles_each_time_makes_a_loop() -> None:
    assert set_up([compilation(1, defined=2), step(1)] * 6, s1=6) == frozenset()


def test_many_steps_make_a_loop_and_their_log_is_not_read() -> None:
    def unread() -> Iterable[dict[str, Any]]:
        raise AssertionError
        yield {}

    assert set_up(unread(), s1=10, s2=12) == frozenset()


def test_set_up_before_or_after_a_loop_is_none() -> None:
    own = compilation(3, defined=2)
    lines = [compilation(1), step(1), compilation(1), step(1), own, *[step(3)] * 12, step(4)]
    assert set_up(lines, s1=2, s3=12, s4=1) == {1}


def test_single_operations_that_are_over_at_once_make_no_loop() -> None:
    operation = CallSites(sites=(CallSite(via="where"),), launched=(launch(0, 19),))
    lasting, brief = ({**step(0), "duration_ns": ns} for ns in (1_000_000, 1_000))
    tail = {**brief, "event": "tail", "duration_ns": 10_000_000}
    compiling = {**step(0), "duration_ns": 5_000_000, "compile_ns": 4_999_000}
    for steps, none in ((brief, {0}), (lasting, set()), (compiling, set())):
        lines = [{**lasting, "duration_ns": 9_000_000}, *[steps] * 18, tail]
        assert found(lines, operation) == none
    own = [compilation(0, defined=2), *[brief] * 19, tail]
    assert found(own, operation) == frozenset()
