"""Which variables hold arrays, found without running any of the program's code."""

from __future__ import annotations

import functools
import gc
import sys
import weakref
from collections import deque
from typing import Any, NamedTuple, NoReturn

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xladoctor.recording.bootstrap._xladoctor.call_site import CallSites
from xladoctor.recording.bootstrap._xladoctor.census import Census, Node, Variable, variables

NEVER = 2**63
X = Variable("x", (("train.py", 9, "train"),))


class Array:
    pass


class Pair(NamedTuple):
    first: Any
    second: Any


class Slots:
    __slots__ = ("kept",)

    def __init__(self, kept: Any) -> None:
        self.kept = kept


class Plain:
    def __init__(self, **attributes: Any) -> None:
        self.__dict__.update(attributes)


class Guarded(Plain):
    """Whatever is asked of it fails."""

    def fail(self, *_: Any) -> NoReturn:
        raise AssertionError

    __len__ = __iter__ = __bool__ = __eq__ = __hash__ = __getattr__ = __repr__ = fail


class GuardedList(list[Any]):
    def fail(self, *_: Any) -> NoReturn:
        raise AssertionError

    __len__ = __iter__ = __getitem__ = __reversed__ = fail


def census(value: Any, until: int = NEVER) -> Census:
    return Census(iter([(X, value)]), lambda each: type(each) is Array, until)


def held(value: Any) -> dict[str, float]:
    found = census(value)
    assert found.complete
    return {node.name: node.arrays for node in found.nodes if node.arrays}


def closure(kept: Any) -> Any:
    return lambda: kept


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ([Array(), Array()], "x"),
        ({"loss": [Array(), Array()]}, "x['loss']"),
        ({3: (Array(), Array())}, "x[3]"),
        (Plain(history=[Array(), Array()]), "x.history"),
        (Pair([Array(), Array()], 0), "x.first"),
        (deque([[Array(), Array()]]), "x[0]"),
    ],
)
def test_an_object_has_the_name_that_the_program_gives_it(value: Any, name: str) -> None:
    assert held(value)[name] == 2


def test_no_code_of_the_program_runs() -> None:
    assert held(Guarded(kept=GuardedList([Array(), Array()])))["x.kept"] == 2


@pytest.mark.parametrize(
    "hide", [Slots, closure, functools.partial(functools.partial, print), lambda kept: {kept}]
)
def test_arrays_are_found_without_a_name(hide: Any) -> None:
    assert held(hide((Array(), Array())))["x"] == 2


def test_an_array_counts_once_and_is_known_to_be_shared() -> None:
    array = Array()
    found = census([array, {"again": array}])
    assert found.roots[0].arrays == 1
    assert found.shared == {id(array)}


@given(
    st.recursive(
        st.just(None),
        lambda each: st.lists(each, max_size=5) | st.dictionaries(st.text(max_size=3), each),
    )
)
def test_all_arrays_in_containers_are_counted(shape: Any) -> None:
    made: list[Array] = []

    def build(part: Any) -> Any:
        if part is None:
            made.append(Array())
            return made[-1]
        if isinstance(part, dict):
            return {key: build(each) for key, each in part.items()}
        return [build(each) for each in part]

    found = census([build(shape)])
    assert found.roots[0].arrays == len(made)
    assert {*map(id, found.below(found.roots[0]))} == {*map(id, made)}


def test_of_a_long_list_the_newest_entries_stand_for_all() -> None:
    values = [Array() for _ in range(10_000)]
    found = census(values)
    assert found.roots[0].arrays == 10_000
    assert len(found.nodes) == 1
    assert values[-1] in found.below(found.roots[0])


def test_a_search_that_takes_too_long_is_incomplete() -> None:
    assert not census([[Array()] for _ in range(100)], until=0).complete


def grown(before: Any, after: Any) -> list[str]:
    return [node.name for node in census(after).grown(census(before).counts())]


@pytest.mark.parametrize(
    ("before", "after", "names"),
    [
        ([Array()], [Array(), Array()], ["x"]),
        ([Array()], [Array()], []),
        ({"a": [Array()], "b": [Array()]}, {"a": [Array()], "b": [Array()] * 1}, []),
        ({"a": [Array()]}, {"a": [Array(), Array(), Array()]}, ["x['a']"]),
        # each entry is new, so the list is what grows
        ([[Array()]], [[Array()], [Array()], [Array()]], ["x"]),
        (
            Plain(log=[Plain(a=Array())]),
            Plain(log=[Plain(a=Array()), Plain(a=Array())]),
            ["x.log"],
        ),
        # two grow alike: what holds both
        ({"a": [Array()], "b": [Array()]}, {k: [Array(), Array()] for k in "ab"}, ["x"]),
    ],
)
def test_what_grows_is_the_object_nearest_to_the_new_arrays(
    before: Any, after: Any, names: list[str]
) -> None:
    assert grown(before, after) == names


def test_variables_are_those_of_the_program_and_are_not_kept_alive() -> None:
    kept = Array()
    gone = weakref.ref(kept)
    sites = CallSites(frozenset())
    found = {
        (variable.name, variable.stack[0][2].rpartition(".")[2], variable.parameter)
        for variable, _ in variables(sys._getframe(), sites)
    }
    here = "test_variables_are_those_of_the_program_and_are_not_kept_alive"
    assert ("kept", here, False) in found
    assert not [name for name, _, _ in found if name.startswith("pytest_")]
    del kept
    gc.collect()
    assert gone() is None


def test_a_parameter_is_known_as_one() -> None:
    def called(given: Any) -> list[Variable]:
        return [each for each, value in variables(sys._getframe(), sites) if value is given]

    sites, array = CallSites(frozenset()), Array()
    ours, theirs = sorted(called(array), key=lambda each: each.parameter)
    assert (ours.name, theirs.name) == ("array", "given")
    assert theirs.stack[1] == (*ours.stack[0],)


def test_a_node_names_the_first_entry_it_was_found_by() -> None:
    node = Node([], "['loss']", Node({}, "metrics", None, X), X)
    assert node.path == ("train.py", "train", "metrics", "['loss']")
