"""The largest value that fits is found with few compilations, and what is not known is said."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.report.snapshots import assert_as_before
from xladoctor.facts.records import TpuCheckFile
from xladoctor.facts.tpu import TpuGraph
from xladoctor.report import ladder as report
from xladoctor.report.interface import Style
from xladoctor.tpu_check.check import Request
from xladoctor.tpu_check.compiler.interpreter import Compiler
from xladoctor.tpu_check.compiler.run import Limits
from xladoctor.tpu_check.compiler.topology import Topology
from xladoctor.tpu_check.graphs import Found, Graph
from xladoctor.tpu_check.ladder import climb as module
from xladoctor.tpu_check.ladder.climb import Ladder, climb
from xladoctor.tpu_check.ladder.lower import Lowered
from xladoctor.tpu_check.ladder.vary import VaryError, Way, parse

REQUEST = Request([Topology("v5e")], Compiler(Path("python"), "2", "3"), Limits())
SNAPSHOTS = Path(__file__).parents[1] / "snapshots"
GIB = 1 << 30


def lowered(value: str, name: str = "step", content: str | None = None) -> Lowered:
    graph = Graph(name, (content or value).encode(), "stablehlo", Path("g.mlir"))
    return Lowered(Found((graph,)), Path("run"), 2.5)


class Compilations(list[str]):
    """The values that were compiled; ``decide`` has the verdict on each."""

    def __init__(self, patch: pytest.MonkeyPatch, decide: Callable[[float], str]) -> None:
        super().__init__()
        self._decide = decide
        patch.setattr(module, "check_graphs", self._check)

    def _check(self, found: Found, request: Request, progress: Any) -> TpuCheckFile:
        value = found.graphs[0].content.decode()
        self.append(value)
        size, verdict = float(value), self._decide(float(value))
        graph = TpuGraph(
            graph=0,
            topology="v5e",
            compiled_for="v5e:1x1",
            name="step",
            source="",
            verdict=verdict,
            reason="it calls back into Python" if verdict == "refused" else "",
            operations=1170,
            available_bytes=int(15.75 * GIB),
            peak_bytes=int(size * GIB) if verdict == "fits" else None,
            compile_ns=3_000_000_000,
            compiler="jax 1",
        )
        return TpuCheckFile(frontend="jax", graphs=(graph,))


def climbed(text: str, lower: Callable[[str], Lowered] = lowered, beside: str = "") -> Ladder:
    way = Way("option", "--batch_size")
    return climb(parse(text), way, lower, REQUEST, lambda _: None, beside)


@given(st.integers(1, 70), st.integers(0, 71))
def test_the_largest_that_fits_is_found_with_few_compilations(count: int, limit: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        asked = Compilations(patch, lambda size: "fits" if size <= limit else "does_not_fit")
        found = climbed(f"b=1..{count}")
    largest, above = found.largest, found.next
    assert (int(largest.value) if largest else 0) == min(limit, count)
    assert (int(above.value) if above else count + 1) == min(limit, count) + 1
    assert len(asked) == len({*asked}) <= 1 + count.bit_length()
    assert limit < count or asked == [str(count)]


def test_what_has_no_verdict_is_neither(monkeypatch: pytest.MonkeyPatch) -> None:
    Compilations(monkeypatch, lambda size: "fits" if size < 5 else "refused")
    found = climbed("b=1..8")
    assert found.largest
    assert found.next
    assert (found.largest.value, found.next.value) == ("4", "5")
    assert found.why_not("7") == "5 has no verdict"
    assert "5 has no verdict: it calls back into Python" in report.sentence(found)


def test_a_value_that_does_not_reach_the_program_is_noticed_before_compiling(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = Compilations(monkeypatch, lambda _: "fits")
    with pytest.raises(VaryError, match="b=1 and b=4 give the same graph"):
        climbed("b=1,2,4", lambda value: lowered(value, content="8"))
    assert asked == []


def test_steps_of_different_functions_are_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    Compilations(monkeypatch, lambda _: "fits")
    with pytest.raises(VaryError, match="largest graphs of b=1 and b=4 are init and step"):
        climbed("b=1,2,4", lambda value: lowered(value, "init" if value == "1" else "step"))


def test_a_program_that_fails_before_its_step_has_no_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    Compilations(monkeypatch, lambda _: "fits")
    with pytest.raises(VaryError, match="b=2: the program ended with status 1"):
        climbed(
            "b=2,4", lambda value: replace(lowered(value), failed="the program ended with status 1")
        )


def test_what_is_no_number_cannot_be_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    Compilations(monkeypatch, lambda _: "fits")
    with pytest.raises(VaryError, match="has to be a number"):
        climbed("remat=none,full")


@pytest.fixture
def ladders(monkeypatch: pytest.MonkeyPatch) -> list[Ladder]:
    found = []
    for beside, limit in (("remat=none", 5), ("remat=full", 11)):
        decide = lambda size, limit=limit: "fits" if size <= limit else "does_not_fit"  # noqa: E731
        Compilations(monkeypatch, decide)
        found.append(climbed("batch_size=1..64", beside=beside))
    return found


def test_a_grid_has_a_table_and_a_sentence_for_each(ladders: list[Ladder]) -> None:
    text = io.StringIO()
    report.render(ladders, text, Style(width=80))
    assert max(map(len, text.getvalue().splitlines())) <= 80
    assert_as_before(SNAPSHOTS / "ladder.txt", text.getvalue())


def test_json_has_the_same(ladders: list[Ladder]) -> None:
    text = io.StringIO()
    report.render_json(ladders, text, Style())
    first = json.loads(text.getvalue())["ladders"][0]
    assert (first["largest"], first["next"], first["beside"]) == ("5", "6", "remat=none")
    by_value = {each["value"]: each for each in first["values"]}
    assert by_value["5"]["needed_bytes"] == 5 * GIB
    assert by_value["6"]["verdict"] == "does_not_fit"
    assert by_value["7"]["not_asked"] == "6 does not fit"
