"""How sizes go on, and which inputs of two graphs are the same one."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support import Row
from xladoctor.causes.changes import inputs
from xladoctor.causes.graphs import Counted, Graph, Parameter, Place
from xladoctor.causes.patterns import add_patterns, size_in

# Sizes and counts over the compilations of a call site


def explained(index: int, was: int, now: int, dimension: int = 0, **columns: Any) -> Row:
    texts = [f"f32[{'3,' * dimension}{size}]" for size in (was, now)]
    return {"process": 0, "index": index, "kind": "input_shape", "file": "d.py", "line": 8,
            "dimension": dimension, "value": now, "was": texts[0], "now": texts[1],
            **columns}  # fmt: skip


def sizes_in_turn(sizes: list[int], dimension: int = 0) -> list[Row]:
    return [explained(index + 1, *pair, dimension)
            for index, pair in enumerate(pairwise(sizes))]  # fmt: skip


def with_patterns(rows: list[Row], *sites: list[int], sizes: dict[int, int] | None = None) -> None:
    """Sites are given by the indices of their compilations; all of them make one by default."""
    chosen = sites or [[0, *(row["index"] for row in rows)]]
    compiled = [[{"process": 0, "thread": 1, "index": i, "ordinal": i, "inputs": None,
                  "outputs": None} for i in site] for site in chosen]  # fmt: skip
    add_patterns(rows, compiled, lambda row: (sizes or {}).get(row["index"]), {})


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
    rows = sizes_in_turn(sizes, dimension)
    with_patterns(rows)
    assert {(row["pattern"], row["seen"], row["possible"]) for row in rows} == {
        (pattern, seen, possible)
    }


def test_lines_dimensions_and_kinds_have_patterns_of_their_own() -> None:
    rows = [
        explained(1, 4, 5), explained(2, 4, 9, line=9), explained(3, 4, 11, 1),
        explained(4, 4, 7, kind="data_dependent_shape"), explained(5, 5, 6),
    ]  # fmt: skip
    with_patterns(rows)
    assert [row["pattern"] for row in rows] == ["varies", None, None, None, "varies"]


def test_call_sites_have_patterns_of_their_own() -> None:
    rows = sizes_in_turn([4, 5, 6])
    with_patterns(rows, [0, 1], [2])
    assert [row["pattern"] for row in rows] == [None, None]


def test_compilation_without_a_reason_is_passed_over() -> None:
    rows = sizes_in_turn([4, 5, 6])
    del rows[0]
    with_patterns(rows, [0, 1, 2])
    assert rows[0]["seen"] == 2


@pytest.mark.parametrize(
    ("shape", "dimension", "size"),
    [("f32[4,5]", 0, 4), ("f32[4,5]", 1, 5), ("f32[4]{0}", 0, 4), ("f32[4]", 1, None),
     ("f32[]", 0, None), ("f32[<=9]", 0, None), (None, 0, None), ("3 inputs", 0, None)],
)  # fmt: skip
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
    known = {index: size for index, size in enumerate(sizes) if size is not None}
    rows: list[Row] = [{"process": 0, "index": n, "kind": "operations"}
                       for n in range(1, len(sizes))]  # fmt: skip
    with_patterns(rows, sizes=known)
    assert [row["index"] for row in rows if row["kind"] == "growing"] == marked


@pytest.mark.parametrize(
    ("kind", "grown"),
    [("operations", "growing"), ("input_count", "growing"), ("unknown", "growing"),
     ("input_shape", "input_shape"), ("placement", "placement"), ("evicted", "evicted")],
)  # fmt: skip
def test_what_can_be_growth(kind: str, grown: str) -> None:
    rows: list[Row] = [{"process": 0, "index": n, "kind": kind} for n in range(1, 4)]
    with_patterns(rows, sizes={n: 10 * n for n in range(4)})
    assert {row["kind"] for row in rows} == {grown}


@settings(deadline=None)
@given(
    sizes=st.lists(st.integers(0, 50), min_size=1, max_size=8),
    modules=st.dictionaries(st.integers(0, 8), st.integers(0, 99)),
)
def test_any_sizes_have_as_many_possible_as_seen(sizes: list[int], modules: dict[int, int]) -> None:
    rows = sizes_in_turn(sizes)
    with_patterns(rows, sizes=modules)
    for row in rows:
        assert row["seen"] == len(set(sizes))
        assert row["possible"] is None or row["possible"] >= row["seen"]


# Which inputs are the same one


def graph(parameters: list[Parameter]) -> Graph:
    empty = Counted(*(np.empty(0, kind) for kind in (np.uint64, np.int64, np.int64)))
    return Graph(0, 0, "G", 0, {}, parameters, empty, empty)


def given_by(texts: str) -> list[Parameter]:
    """Inputs as words: their dimensions, ``x`` between them, and ``@`` and a line if known."""
    found = []
    for number, text in enumerate(texts.split()):
        sizes, _, line = text.rstrip("!").partition("@")
        place = Place("d.py", int(line)) if line else Place()
        shape = tuple(int(size) for size in sizes.split("x") if size != "s")
        found.append(Parameter(number, "f32", shape, None, place, text.endswith("!")))
    return found


def compared(old: str, new: str, *together: str) -> tuple[list[str], str, str]:
    """The inputs that changed as ``was→now``, those removed and those added."""
    seen = [{one.kind for one in given_by(text)} for text in together]
    changes = inputs(
        graph(given_by(old)), graph(given_by(new)),
        lambda a, b: any(a in kinds and b in kinds for kinds in seen),
    )  # fmt: skip
    return (
        [f"{_text(a)}→{_text(b)}" for a, b in changes.changed],
        " ".join(map(_text, changes.removed)), " ".join(map(_text, changes.added)),
    )  # fmt: skip


def _text(one: Parameter) -> str:
    return "x".join(map(str, one.shape)) or "s"


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
    ids=["same", "one", "two", "inserted", "left out", "in front", "permuted", "permuted and one",
         "one, and one inserted", "fewer of a kind", "from none", "other dimensions",
         "other dimensions of a line", "other line", "line unknown", "by line", "scalar"],
)  # fmt: skip
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
