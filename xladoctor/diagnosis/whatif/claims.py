"""Applies claims, which say what a rule's fix does to the timeline (``claim`` in its rows)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from xladoctor.diagnosis.finding import Claim, Do, What
from xladoctor.diagnosis.rule import RuleError
from xladoctor.diagnosis.whatif.program import (
    ACTIVITIES,
    COMPILE,
    DISPATCH,
    PYTHON,
    UPLOAD,
    WAIT,
    Program,
)
from xladoctor.diagnosis.whatif.replay import Change
from xladoctor.facts.parts import REGIONS

Array = np.ndarray[Any, Any]

#: What a fix can do -> to what; :class:`Claim` explains the words.
VOCABULARY: dict[Do, tuple[What, ...]] = {
    "remove": ("read", "upload", "input", "save", "cut", "tracing", "other"),
    "shorten": ("read",),
    "make_asynchronous": ("read", "barrier", "save"),
    "overlap": ("upload", "input", "save"),
    "merge_executions": ("barrier",),
    "compile_once": ("compile",),
    "constant_cost": ("compile", "upload", "input", "save"),
}
_PYTHON_KINDS = ("tracing", "other")


def claims_of(rule: str, value: Any) -> list[Claim]:
    """The claims of a rule's row: a struct, a list of structs, or None.

    Raises:
        RuleError: a word is not in the vocabulary.
    """
    given = value if isinstance(value, list) else [] if value is None else [value]
    return [_claim(rule, claim) for claim in given if claim is not None]


def _claim(rule: str, given: Mapping[str, Any]) -> Claim:
    known = {field.name for field in fields(Claim)}
    unknown = sorted(set(given) - known)
    if unknown:
        raise RuleError(f"{rule}: its claim has unknown fields: {', '.join(unknown)}")
    set_ = {key: value for key, value in given.items() if value is not None}
    claim = Claim(**set_)
    if claim.what not in VOCABULARY.get(claim.do, ()):
        raise RuleError(
            f"{rule}: its claim says {claim.do} {claim.what}",
            "; ".join(f"{do}: {', '.join(what)}" for do, what in VOCABULARY.items()),
        )
    return claim


@dataclass(frozen=True, slots=True)
class Applied:
    """Claims as a change of a program.

    Attributes:
        calls: the number of calls in steady steps that the claims cover.
        present: whether the program has anything that the claims cover.
    """

    change: Change
    calls: float
    present: bool


def apply(program: Program, claims: Iterable[Claim]) -> Applied:
    """The change that claims make, except claims about compilations."""
    change, present = Change.none(program), False
    covered = np.zeros(int(program.call.max(initial=-1)) + 1)  # how much of each call
    for claim in claims:
        if claim.what == "compile":
            continue
        items = items_of(program, claim)
        change = change | _changed(program, claim, items)
        if claim.what not in (*_PYTHON_KINDS, "barrier"):  # barriers are as frequent as steps
            calls = program.call[items & program.rest]
            calls = np.unique(calls[calls >= 0])
            share = claim.part if claim.what == "cut" else 1.0
            covered[calls] = np.minimum(1.0, covered[calls] + share)
        present = present or bool(np.any(items))
    return Applied(change, float(covered.sum()), present)


def items_of(program: Program, claim: Claim) -> Array:
    """The host items that a claim covers."""
    if claim.what in _PYTHON_KINDS:
        python = (program.activity == PYTHON) & (program.region < 0)
        return np.asarray(python | _of_recorded(program) if claim.what == "tracing" else python)
    items = program.region == REGIONS.index(claim.what)
    if not np.any(items) and claim.what in ACTIVITIES:  # another profiler's, without our calls
        return np.asarray(program.activity == ACTIVITIES.index(claim.what))
    if claim.file is None:
        return np.asarray(items)
    place = (claim.file, claim.line)
    number = program.places.index(place) if place in program.places else -2
    return np.asarray(items & (program.place == number))


def _changed(program: Program, claim: Claim, items: Array) -> Change:
    if claim.what in _PYTHON_KINDS:
        return replace(Change.none(program), part=_python(program, claim, items))
    items = items & (program.activity != COMPILE)
    if claim.what == "cut" or claim.do == "shorten":
        return _shortened(program, claim, items)
    items = items & _chosen(program, items, claim.part)
    return _of_calls(program, claim, items)


def _of_recorded(program: Program) -> Array:
    """Items with costs of recorded operations besides Python's time: their constants are sent
    outside any call, and the barrier walks through all operations to launch the graph.
    """
    sent = (program.activity == UPLOAD) & (program.region < 0)
    barriers = program.region == REGIONS.index("barrier")
    return np.asarray(sent | (barriers & (program.activity == DISPATCH)))


def _python(program: Program, claim: Claim, items: Array) -> Array:
    """The share removed from Python's time and from the other costs of recorded operations."""
    tracing = program.tracing
    kind = 1.0 if np.isnan(tracing) else tracing if claim.what == "tracing" else 1.0 - tracing
    share = np.where(program.activity == PYTHON, kind, np.sign(kind))
    return np.where(items, share * claim.part, 0.0)


def _shortened(program: Program, claim: Claim, items: Array) -> Change:
    """The change in which each call, and what it launches, takes less time by the claim's part.

    Cuts are shortened, too: the timeline does not show which operator made one.
    """
    runs = _launched(program, items)
    return replace(
        Change.none(program),
        part=np.where(items, claim.part, 0.0),
        device_part=np.where(runs, claim.part, 0.0),
    )


def _of_calls(program: Program, claim: Claim, items: Array) -> Change:
    none, runs = Change.none(program), _launched(program, items)
    waiting = items & (program.activity == WAIT)
    if claim.do == "make_asynchronous":
        return replace(none, gone=waiting.astype(float), waits=~items)
    if claim.do == "overlap":
        return replace(none, ahead=np.where(items, _calls(program), -1))
    if claim.do == "merge_executions":
        return replace(
            none, gone=items.astype(float), waits=~items & ~_own_waits(program), merged=runs
        )
    if claim.do == "remove":
        return replace(none, gone=items.astype(float), waits=~items, device=runs.astype(float))
    return replace(none, gone=_beyond(program, items, claim.to_ns), waits=~items)


def _own_waits(program: Program) -> Array:
    """Waits of a barrier for the graph that it launched itself, as when memory is donated.

    They are occasional; a larger graph would not make them proportionally longer.
    """
    barriers = program.region == REGIONS.index("barrier")
    launching = barriers & (program.launches >= 0)
    run_of = np.full(int(program.call.max(initial=0)) + 2, -2)
    run_of[program.call[launching]] = program.launches[launching]
    return np.asarray(barriers & (program.awaits == run_of[program.call]))


def _launched(program: Program, items: Array) -> Array:
    """Which executions these items launch."""
    numbers = program.launches[items]
    runs = np.zeros(len(program.duration), bool)
    runs[numbers[numbers >= 0]] = True
    return runs


def _calls(program: Program) -> Array:
    """The call of each item; an item outside known calls is a call by itself."""
    alone = int(program.call.max(initial=0)) + 1 + np.arange(len(program.call))
    return np.where(program.call >= 0, program.call, alone)


def _chosen(program: Program, items: Array, part: float) -> Array:
    """Items of a part of the calls, spread evenly."""
    calls = _calls(program)
    nth = np.searchsorted(np.unique(calls[items]), calls)
    return np.asarray(np.floor((nth + 1) * part + 1e-9) > np.floor(nth * part + 1e-9))


def _beyond(program: Program, items: Array, to_ns: float) -> Array:
    """The share removed from each item once its call takes a constant time."""
    _, at = np.unique(_calls(program), return_inverse=True)
    lasted = np.bincount(at, np.where(items, program.work, 0))
    left = np.minimum(1.0, to_ns / np.maximum(lasted, 1.0))[at]
    return np.where(items, 1.0 - left, 0.0)
