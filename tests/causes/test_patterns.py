"""How sizes go on, and which inputs of two graphs are the same one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xladoctor.causes.inputs import inputs, together
from xladoctor.causes.interface import (
    Cause,
    Causes,
    Compilation,
    Graph,
    HashCounts,
    Kind,
    Loaders,
    Parameter,
    Place,
    Site,
)
from xladoctor.causes.patterns import add_patterns, size_in

# Sizes and counts over the compilations of a call site


SITE = Site(0, "train.py", 41, "", "sync")


def compiled(count: int) -> list[Compilation]:
    """The compilations of a call site, in launches that follow each other."""
    return [Compilation(SITE, n, 1, n, n, None, None, None, None, None) for n in range(count)]


def resized(
    was: int, now: int, dimension: int = 0, kind: Kind = "input_shape", line: int = 8
) -> Cause:
    texts = [f"f32[{'3,' * dimension}{size}]" for size in (was, now)]
    return Cause(
        kind, was=texts[0], now=texts[1], dimension=dimension, value=now, place=Place("d.py", line)
    )


def sizes_in_turn(sizes: list[int], dimension: int = 0) -> list[Cause]:
    return [resized(*pair, dimension) for pair in pairwise(sizes)]


def with_patterns(
    causes: Sequence[Cause | None],
    *sites: range,
    sizes: Mapping[int, int | None] | None = None,
    loaders: Loaders | None = None,
) -> list[Cause]:
    """The causes of a site's compilations after its first; ``sites`` part them into several."""
    compilations = compiled(1 + len(causes))
    given: Causes = {c: cause for c, cause in zip(compilations[1:], causes, strict=True) if cause}
    parts = [[compilations[n] for n in site] for site in sites or [range(len(compilations))]]
    return [
        *add_patterns(
            given, parts, lambda c: (sizes or {}).get(c.index), {}, loaders or {}
        ).values()
    ]


@pytest.mark.parametrize(
    ("sizes", "dimension", "pattern", "seen", "possible"),
    [
        ([4, 5, 6], 0, "grows", 3, None),
        ([16, 32, 48, 64], 1, "grows", 4, None),
        ([9, 6, 3], 0, "varies", 3, 3),
        ([64, 7], 0, "last_batch", 2, 2),
        ([7, 64], 0, None, 2, 2),
        ([64, 7], 1, None, 2, 2),
        ([64, 7, 64], 0, None, 2, 2),
        ([16, 32, 24], 0, "varies", 3, 3),
        ([16, 64, 32], 0, "varies", 3, 4),
        ([10, 11, 20], 0, "varies", 3, 11),
        ([4, 5, 6, 8], 0, "varies", 4, 5),
        ([0, 5, 3], 0, "varies", 3, 6),
    ],
    ids=str,
)
def test_pattern_of_sizes(
    sizes: list[int], dimension: int, pattern: str | None, seen: int, possible: int | None
) -> None:
    causes = with_patterns(sizes_in_turn(sizes, dimension))
    assert {(cause.pattern, cause.seen, cause.possible) for cause in causes} == {
        (pattern, seen, possible)
    }


@pytest.mark.parametrize(
    ("sizes", "last", "pattern"),
    [
        ([7, 64, 7], [None], "last_batch"),
        ([64, 7, 5], [None], "varies"),
        ([64, 7, 5], [None, None], "last_batch"),
        ([60, 7, 60], [None], None),
        ([64, 7, 128], [None], "varies"),
        ([64, 7], [7], "last_batch"),
        ([64, 7], [0], None),
        ([64, 7], [9], None),
        ([64, 7], [0, None], "last_batch"),
        ([64, 7, 5], [5, 7], "last_batch"),
        ([64, 7, 5], [0, 7], "varies"),
    ],
    ids=str,
)
def test_loaders_of_that_size_each_have_a_last_batch(
    sizes: list[int], last: list[int | None], pattern: str | None
) -> None:
    causes = with_patterns(sizes_in_turn(sizes), loaders={(0, 64): last})
    assert {cause.pattern for cause in causes} == {pattern}


def test_given_causes_stay_as_they_are() -> None:
    given = sizes_in_turn([4, 5, 6])
    assert [cause.pattern for cause in with_patterns(given)] == ["grows", "grows"]
    assert given == sizes_in_turn([4, 5, 6])


def test_lines_dimensions_and_kinds_have_patterns_of_their_own() -> None:
    causes = with_patterns(
        [
            resized(4, 5),
            resized(4, 9, line=9),
            resized(4, 11, 1),
            resized(4, 7, kind="data_dependent_shape"),
            resized(5, 6),
        ]
    )
    assert [cause.pattern for cause in causes] == ["varies", None, None, None, "varies"]


def test_call_sites_have_patterns_of_their_own() -> None:
    causes = with_patterns(sizes_in_turn([4, 5, 6]), range(2), range(2, 3))
    assert [cause.pattern for cause in causes] == [None, None]


def test_compilation_without_a_reason_is_passed_over() -> None:
    (cause,) = with_patterns([None, *sizes_in_turn([5, 6])])
    assert cause.seen == 2


@pytest.mark.parametrize(
    ("shape", "dimension", "size"),
    [
        ("f32[4,5]", 0, 4),
        ("f32[4,5]", 1, 5),
        ("f32[4]{0}", 0, 4),
        ("f32[4]", 1, None),
        ("f32[]", 0, None),
        ("f32[<=9]", 0, None),
        (None, 0, None),
        ("3 inputs", 0, None),
    ],
)
def test_size_of_a_dimension(shape: str | None, dimension: int, size: int | None) -> None:
    assert size_in(shape, dimension) == size


@pytest.mark.parametrize(
    ("sizes", "marked"),
    [
        ([10, 20, 30, 40], [1, 2, 3]),
        ([10, 20, 30], []),
        ([10, 18, 26, 34], [1, 2, 3]),
        ([10, 17, 24, 31], []),
        ([100, 200, 300, 410], [1, 2, 3]),
        ([100, 200, 300, 420], []),
        ([10, 10, 20, 30, 40, 40], [2, 3, 4]),
        ([40, 30, 20, 10], []),
        ([10, None, 30, 40, 50], []),
    ],
    ids=str,
)
def test_graphs_that_grow(sizes: list[int | None], marked: list[int]) -> None:
    causes = with_patterns([Cause("operations")] * (len(sizes) - 1), sizes=dict(enumerate(sizes)))
    assert [n for n, cause in enumerate(causes, 1) if cause.kind == "growing"] == marked


@pytest.mark.parametrize(
    ("kind", "grown"),
    [
        ("operations", "growing"),
        ("input_count", "growing"),
        ("unknown", "growing"),
        ("input_shape", "input_shape"),
        ("placement", "placement"),
        ("evicted", "evicted"),
    ],
)
def test_what_can_be_growth(kind: Kind, grown: Kind) -> None:
    causes = with_patterns([Cause(kind)] * 3, sizes={n: 10 * n for n in range(4)})
    assert {cause.kind for cause in causes} == {grown}


@settings(deadline=None)
@given(
    sizes=st.lists(st.integers(0, 50), min_size=1, max_size=8),
    modules=st.dictionaries(st.integers(0, 8), st.integers(0, 99)),
)
def test_any_sizes_have_as_many_possible_as_seen(sizes: list[int], modules: dict[int, int]) -> None:
    for cause in with_patterns(sizes_in_turn(sizes), sizes=modules):
        assert cause.seen == len(set(sizes))
        assert cause.possible is None or cause.possible >= cause.seen


# Which inputs are the same one


def graph(texts: str) -> Graph:
    """Inputs as words: their dimensions, ``x`` between them, and ``@`` and a line if known."""
    none = np.empty(0, np.int64)
    empty = HashCounts(np.empty(0, np.uint64), none, none)
    parameters = [_parameter(number, text) for number, text in enumerate(texts.split())]
    return Graph(0, 0, 0, 0, {}, parameters, empty, empty)


def _parameter(number: int, text: str) -> Parameter:
    sizes, _, line = text.rstrip("!").partition("@")
    place = Place("d.py", int(line)) if line else Place()
    shape = tuple(int(size) for size in sizes.split("x") if size != "s")
    return Parameter(number, "f32", shape, None, place, text.endswith("!"))


def compared(old: str, new: str, *seen: str) -> tuple[list[str], str, str]:
    """The inputs that changed as ``was→now``, those removed and those added."""
    changes = inputs(graph(old), graph(new), together(map(graph, seen)))
    return (
        [f"{_text(a)}→{_text(b)}" for a, b in changes.changed],
        " ".join(map(_text, changes.removed)),
        " ".join(map(_text, changes.added)),
    )


def _text(parameter: Parameter) -> str:
    return "x".join(map(str, parameter.shape)) or "s"


@pytest.mark.parametrize(
    ("old", "new", "wanted"),
    [
        ("1 2 3", "1 2 3", ([], "", "")),
        ("1 2 3", "1 9 3", (["2→9"], "", "")),
        ("1 2 3", "1 8 9", (["2→8", "3→9"], "", "")),
        ("1 2 3", "1 2 7 3", ([], "", "7")),
        ("1 2 7 3", "1 2 3", ([], "7", "")),
        ("1 2 3", "7 1 2 3", ([], "", "7")),
        ("1 2 3", "3 1 2", ([], "", "")),
        ("1 2 3", "3 9 1", (["2→9"], "", "")),
        ("1 2 3 4", "9 2 7 3 4", (["1→9"], "", "7")),
        ("2 2 2", "2 2", ([], "2", "")),
        ("", "1", ([], "", "1")),
        ("2", "2x2", (["2→2x2"], "", "")),
        ("2@5", "2x2@5", (["2→2x2"], "", "")),
        ("2@5", "3@6", (["2→3"], "", "")),
        ("2@5", "3", (["2→3"], "", "")),
        ("1 2@5 3", "4@5 3 1 6", (["2→4"], "", "6")),
        ("s 1", "1", ([], "s", "")),
    ],
    ids=[
        "same",
        "one",
        "two",
        "inserted",
        "left out",
        "in front",
        "permuted",
        "permuted and one",
        "one, and one inserted",
        "fewer of a kind",
        "from none",
        "other dimensions",
        "other dimensions of a line",
        "other line",
        "line unknown",
        "by line",
        "scalar",
    ],
)
def test_inputs_that_differ(old: str, new: str, wanted: tuple[list[str], str, str]) -> None:
    assert compared(old, new) == wanted


@pytest.mark.parametrize(
    ("new", "together", "wanted"),
    [
        ("1 5", ["4 5"], ([], "4", "5")),
        ("1 5!", ["4 5"], (["4→5"], "", "")),
        ("1 5", ["4 6", "5 7"], (["4→5"], "", "")),
        ("1 5", ["3", "2 4 5"], ([], "4", "5")),
    ],
    ids=["two inputs", "sent", "never in one graph", "in one of them"],
)
def test_inputs_seen_in_one_graph_are_two(
    new: str, together: list[str], wanted: tuple[list[str], str, str]
) -> None:
    assert compared("1 4", new, *together) == wanted


@pytest.mark.parametrize("count", [5, 401, 2000])
def test_one_input_more_in_front_of_many(count: int) -> None:
    many = " ".join(map(str, range(1, count + 1)))
    assert compared(many, f"9x9 {many}") == ([], "", "9x9")
    assert compared(f"9x9 {many}", many) == ([], "9x9", "")


def test_more_than_400_that_all_differ_are_told_apart_by_line() -> None:
    old = " ".join(f"{n}@{n}" for n in range(1, 451))
    new = " ".join(f"{n + 1000}@{n}" for n in range(2, 453))
    changed, removed, added = compared(old, new)
    assert changed == [f"{n}→{n + 1000}" for n in range(2, 451)]
    assert (removed, added) == ("1", "1451 1452")


def test_more_than_400_of_one_number_are_paired_in_order() -> None:
    old, new = (" ".join(str(n + more) for n in range(500)) for more in (1000, 2000))
    assert compared(old, new) == ([f"{n + 1000}→{n + 2000}" for n in range(500)], "", "")


some_inputs = st.lists(st.sampled_from(["s", "1", "2", "2@5", "3@5", "3@6!", "2x2"]), max_size=6)


@settings(deadline=None)
@given(old=some_inputs, new=some_inputs)
def test_each_input_is_counted_once(old: list[str], new: list[str]) -> None:
    changed, removed, added = compared(" ".join(old), " ".join(new))
    assert len(removed.split()) + len(changed) <= len(old)
    assert len(added.split()) + len(changed) <= len(new)
    assert len(new) - len(old) == len(added.split()) - len(removed.split())


@settings(deadline=None)
@given(old=some_inputs, random=st.randoms(use_true_random=False))
def test_permuted_inputs_are_the_same(old: list[str], random: Any) -> None:
    new = random.sample(old, len(old))
    assert compared(" ".join(old), " ".join(new)) == ([], "", "")
