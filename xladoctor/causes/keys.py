"""Makes causes from differences in the keys of compiled functions.

The framework itself compares keys before it compiles. So they show causes that graphs do not:
another function object, a weak type, the structure around the arrays.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from typing import Literal, NamedTuple

from xladoctor.causes.interface import NOWHERE, Cause, Causes, Compilation, Kind, Place
from xladoctor.causes.patterns import SIZE_OF, size_in, sizes_of
from xladoctor.evidence.database import Database

_CHANGES = """
    SELECT process, index, against, what, argument, was, now, hint, role,
           file, line, function, user_file, user_line, user_function
    FROM key_change
    ORDER BY process, index, nth
"""
#: What differs -> the kind of cause; a difference makes those after it irrelevant.
_KINDS: dict[str, Kind] = {
    "function": "function",
    "member": "member",
    "static": "constant",
    "structure": "input_count",
    "shape": "input_shape",
    "type": "input_type",
    "weak_type": "weak_type",
    "offset": "offset",
    "chain": "chain",
    "sharding": "placement",
    "configuration": "configuration",
    "nothing": "evicted",
    "guard": "unknown",
}


#: Static arguments that are shapes, mostly of single operations: x[:n] is compiled for each n.
_OF_SIZES = re.compile(r"(^|_)(shape|sizes)$")


class _Change(NamedTuple):
    against: int | None  # None: the earlier compilation is not in the evidence
    what: str
    argument: str
    was: str
    now: str
    hint: str | None
    role: Literal["made", "used"] | None  # the role of the place
    place: Place


def by_keys(database: Database, compilations: Iterable[Compilation]) -> Causes:
    """The causes of compilations for which their key and an earlier one are known."""
    changes: dict[tuple[int, int], list[_Change]] = defaultdict(list)
    rows = database.table(_CHANGES)[1]
    for process, index, against, what, argument, was, now, hint, role, *site in rows:
        place = Place(*site) if role else NOWHERE
        change = _Change(against, what, argument, was, now, hint, role, place)
        changes[process, index].append(change)
    order = list(_KINDS)
    return {
        compilation: _cause(min(known, key=lambda change: order.index(change.what)))
        for compilation in compilations
        if (
            known := [
                change
                for change in changes[compilation.process, compilation.index]
                if change.what in _KINDS
            ]
        )
    }


def _cause(change: _Change) -> Cause:
    kind = _KINDS[change.what]
    if change.what == "static" and _OF_SIZES.search(change.argument):
        kind = "input_shape"
    dimension = _dimension(change.was, change.now) if kind == "input_shape" else None
    return Cause(
        kind,
        "key",
        change.against,
        was=change.was or None,
        now=change.now or None,
        dimension=dimension,
        value=None if dimension is None else size_in(change.now, dimension),
        op="sharding" if kind == "placement" else None,
        argument=change.argument or None,
        role=change.role,
        place=change.place,
        hint=change.hint,
    )


def _dimension(was: str, now: str) -> int | None:
    """The first dimension in which two shapes of equal rank differ."""
    alone = SIZE_OF.fullmatch(was), SIZE_OF.fullmatch(now)
    if alone[0] and alone[1] and alone[0][2] == alone[1][2]:
        return int(alone[0][2])
    before, after = (sizes_of(text) or [] for text in (was, now))
    if len(before) != len(after):
        return None
    return next(
        (
            number
            for number, sizes in enumerate(zip(before, after, strict=True))
            if sizes[0] != sizes[1]
        ),
        None,
    )
