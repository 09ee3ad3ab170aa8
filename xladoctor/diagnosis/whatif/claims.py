"""What a rule says that its fix does to the timeline: the vocabulary of ``claim`` in its rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from xladoctor.diagnosis.interface import Claim, RuleError
from xladoctor.diagnosis.whatif.program import ACTIVITIES, PYTHON, REGIONS, WAIT, Program
from xladoctor.diagnosis.whatif.replay import Change

Array = np.ndarray[Any, Any]

#: What a fix does -> what it can do it to; :class:`Claim` says what each means.
VOCABULARY = {
    "remove": ("read", "upload", "input", "save", "cut", "tracing", "other"),
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
        RuleError: a word that is not in the vocabulary.
    """
    given = value if isinstance(value, list) else [] if value is None else [value]
    return [_claim(rule, one) for one in given if one is not None]


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
        calls: how many calls in the program's steady steps they are about.
        found: whether the program has any of what they are about.
    """

    change: Change
    calls: int
    found: bool


def apply(program: Program, claims: Iterable[Claim]) -> Applied:
    """The change that claims make; those about compilations are not in it."""
    change, calls, found = Change.none(program), 0, False
    for claim in claims:
        if claim.what == "compile":
            continue
        items = _items(program, claim)
        change = change | _changed(program, claim, items)
        if claim.what not in _PYTHON_KINDS:
            rest = items & np.isin(program.step, program.steady)
            calls += len(np.unique(program.call[rest]))
        found = found or bool(np.any(items))
    return Applied(change, calls, found)


def _items(program: Program, claim: Claim) -> Array:
    """The host items that a claim is about."""
    if claim.what in _PYTHON_KINDS:
        return np.asarray(program.activity == PYTHON)
    region = REGIONS.index(claim.what)
    items = program.region == region
    if not np.any(items) and claim.what in ACTIVITIES:  # a timeline of another's, without our calls
        items = program.activity == ACTIVITIES.index(claim.what)
    elif claim.file is not None:
        place = (claim.file, claim.line)
        number = program.places.index(place) if place in program.places else -2
        items = items & (program.place == number)
    return np.asarray(items & _chosen(program.call, items, claim.part))


def _chosen(call: Array, items: Array, part: float) -> Array:
    """Every so many of the calls, spread evenly, that make up a part of them."""
    calls = np.unique(call[items])
    nth = np.searchsorted(calls, call)
    return np.asarray(np.floor((nth + 1) * part + 1e-9) > np.floor(nth * part + 1e-9))


def _changed(program: Program, claim: Claim, items: Array) -> Change:
    none = Change.none(program)
    if claim.what in _PYTHON_KINDS:
        return _less_python(program, claim, items, none)
    launched = program.launches[items]
    runs = np.zeros(len(program.duration), bool)
    runs[launched[launched >= 0]] = True
    host, waits, ahead, device, merged = (
        none.host, none.waits, none.ahead, none.device, none.merged
    )  # fmt: skip
    timed = items & (program.activity != ACTIVITIES.index("compile"))
    if claim.do == "make_asynchronous":
        host, waits = np.where(items & (program.activity == WAIT), 0.0, host), ~items
    elif claim.do == "overlap":
        host, ahead = np.where(timed, 1.0 / claim.workers, host), timed
    elif claim.do == "merge_executions":
        waits, merged = ~items, runs
        host = np.where(items & (program.activity == WAIT), 0.0, host)
    elif claim.do == "remove":
        host, waits, device = np.where(timed, 0.0, host), ~items, np.where(runs, 0.0, device)
    else:
        host, waits = np.where(timed, _factors(program, items, claim.to_ns), host), ~items
    return Change(host, waits, ahead, device, merged)


def _less_python(program: Program, claim: Claim, items: Array, none: Change) -> Change:
    tracing = program.tracing
    kind = 1.0 if np.isnan(tracing) else tracing if claim.what == "tracing" else 1.0 - tracing
    outside = items & (program.region < 0)
    factor = np.where(outside, 1.0 - min(1.0, kind * claim.part), none.host)
    return Change(factor, none.waits, none.ahead, none.device, none.merged)


def _factors(program: Program, items: Array, to_ns: float) -> Array:
    """For each item the factor that brings its call to a constant time."""
    calls, at = np.unique(program.call, return_inverse=True)
    lasted = np.bincount(at, np.where(items, program.work, 0), len(calls))
    return np.minimum(1.0, to_ns / np.maximum(lasted, 1.0))[at]
