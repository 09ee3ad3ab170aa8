"""Two starts of a program compared: what the second compiled that the first had, and why."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from xladoctor.cache_keys.computation import Computation, Difference, Place, first_difference
from xladoctor.repository import installed

if TYPE_CHECKING:
    from xladoctor.cache_keys.lookup import Lookup, Start

#: The part of a key that is the graph itself.
COMPUTATION = "computation"

#: Why a graph was compiled again: a part of its key differs; the entry was not kept, is in another
#: folder, was not loaded, or is gone; it has no key; or the first start had no such function.
Why = Literal["key", "not kept", "folder", "unused", "gone", "bypass", "new"]
#: Why an entry that is there is not loaded.
_UNUSED = ("damaged", "checked")
_FLAG = re.compile(r"(--[^=\s]+)(?:=(.*))?")
_FIELD = re.compile(r"([^\s:]+): ?(.*)")


@dataclass(frozen=True, slots=True)
class Change:
    """What differs in a part of a key.

    Attributes:
        part: as the framework names it.
        field: the flag or option; None where the part has none, or it is not known.
        was, now: values; None where one has none, or cannot be read.
        difference: of computations, where both texts are kept.
        place: the line of the program where they differ first, where known.
    """

    part: str
    field: str | None = None
    was: str | None = None
    now: str | None = None
    difference: Difference | None = None
    place: Place | None = None


@dataclass(frozen=True, slots=True)
class Miss:
    """A graph that the second start compiled.

    Attributes:
        lookup: of the second start.
        earlier: the lookup of the first that it is compared with, if any.
        changes: for ``key``, each part that differs.
    """

    lookup: Lookup
    why: Why
    earlier: Lookup | None = None
    changes: tuple[Change, ...] = ()

    @property
    def seconds(self) -> float:
        """What compiling it took."""
        return self.lookup.compile_s or 0.0

    @property
    def cause(self) -> object:
        """Equal for misses that one cure helps."""
        if self.why == "not kept" and self.earlier is not None:
            return self.why, self.earlier.reason, self.earlier.detail
        return self.why, tuple(replace(each, difference=None) for each in self.changes)


@dataclass(frozen=True, slots=True)
class CacheComparison:
    """What two starts had in common.

    Attributes:
        misses: what the second compiled, the costliest first.
    """

    before: Start
    after: Start
    misses: tuple[Miss, ...]

    @property
    def groups(self) -> list[list[Miss]]:
        """Misses by their cause, the costliest cause first."""
        found: dict[object, list[Miss]] = defaultdict(list)
        for miss in self.misses:
            found[miss.cause].append(miss)
        return sorted(found.values(), key=lambda of: -sum(each.seconds for each in of))

    @property
    def avoidable(self) -> list[Miss]:
        """What a cache could have spared: the first start had compiled, or loaded, its function."""
        return [each for each in self.misses if each.why != "new"]


def compare(before: Start, after: Start, own_files: str) -> CacheComparison:
    """Explain what the second start compiled.

    Args:
        own_files: regular expression for files of the framework, whose lines are not named.
    """
    own = re.compile(own_files)
    by_key = {each.key: each for each in before.lookups if each.key}
    there = {each.key for each in after.lookups}
    free: dict[str, list[Lookup]] = defaultdict(list)
    for each in before.lookups:
        if each.key and each.key not in there:
            free[each.name].append(each)
    misses = []
    for lookup in after.lookups:
        if not lookup.compiled:
            continue
        same = by_key.get(lookup.key)
        if not lookup.key:
            misses.append(Miss(lookup, "bypass"))
        elif same is not None:
            misses.append(_same_key(lookup, same))
        elif candidates := free[lookup.name]:
            nearest = min(candidates, key=lambda each: len(_differing(each, lookup)))
            candidates.remove(nearest)
            changes = _changes(nearest, lookup, own)
            misses.append(
                Miss(lookup, "key", nearest, tuple(_shown(each, after) for each in changes))
            )
        else:
            misses.append(Miss(lookup, "new"))
    return CacheComparison(before, after, tuple(sorted(misses, key=lambda each: -each.seconds)))


def _same_key(lookup: Lookup, earlier: Lookup) -> Miss:
    if earlier.outcome == "not kept":
        return Miss(lookup, "not kept", earlier)
    if earlier.folder != lookup.folder:
        change = Change("folder", None, earlier.folder, lookup.folder)
        return Miss(lookup, "folder", earlier, (change,))
    return Miss(lookup, "unused" if lookup.reason in _UNUSED else "gone", earlier)


def _differing(was: Lookup, now: Lookup) -> list[str]:
    """The names of the parts that differ, the graph itself last: it often follows from others."""
    names = dict.fromkeys((*was.parts, *now.parts))
    digests = [(name, was.parts.get(name), now.parts.get(name)) for name in names]
    found = [name for name, old, new in digests if (old and old.digest) != (new and new.digest)]
    return [*found, *[COMPUTATION] * (was.computation != now.computation)]


def _changes(was: Lookup, now: Lookup, own: re.Pattern[str]) -> tuple[Change, ...]:
    found: list[Change] = []
    for name in _differing(was, now):
        if name == COMPUTATION:
            found.append(_of_computation(was, now, own))
        else:
            old, new = was.parts.get(name), now.parts.get(name)
            found.extend(_of_part(name, old.text if old else None, new.text if new else None))
    flags = {each.field.lstrip("-") for each in found if each.field and each.field[0] == "-"}
    found = [each for each in found if each.field not in flags]  # a flag sets its option
    shown = [each for each in found if each.part == COMPUTATION or each.was != each.now]
    return tuple(shown or found)


def _of_part(name: str, was: str | None, now: str | None) -> list[Change]:
    """What differs in a part: each flag or option, or its whole text."""
    if was is None or now is None or was == now:
        return [Change(name)]
    old, new = _fields(was), _fields(now)
    if old is None or new is None:
        return [Change(name, None, was, now)]
    names = dict.fromkeys((*old, *new))
    return [
        Change(name, field, old.get(field), new.get(field))
        for field in names
        if old.get(field) != new.get(field)
    ]


def _fields(text: str) -> dict[str, str] | None:
    """A value by flag, or by option, a line each; None of another text."""
    lines = [line for line in text.splitlines() if line.strip()]
    for pattern in (_FLAG, _FIELD):
        matches = [pattern.fullmatch(line.strip()) for line in lines]
        if all(matches):
            return {match[1]: match[2] or "" for match in matches if match}
    return None


def _of_computation(was: Lookup, now: Lookup, own: re.Pattern[str]) -> Change:
    texts = _texts(was, now)
    if texts is None:
        return Change(COMPUTATION)
    difference = first_difference(*texts)
    place = users(difference.places, own) or now.place
    return Change(COMPUTATION, difference.what, difference.was, difference.now, difference, place)


def _shown(change: Change, start: Start) -> Change:
    """The change with its file as reports show it."""
    if change.place is None:
        return change
    return replace(change, place=(start.shown(change.place[0]), change.place[1]))


def _texts(was: Lookup, now: Lookup) -> tuple[Computation, Computation] | None:
    old = was.text.read() if was.text else None
    new = now.text.read() if now.text else None
    return None if old is None or new is None else (old, new)


def users(places: Sequence[Place], own: re.Pattern[str]) -> Place | None:
    """The innermost line that is the program's, or else a library's; None if all are the
    framework's.
    """
    foreign: Iterable[Place] = [each for each in places if not own.search(each[0])]
    mine = [each for each in foreign if installed(each[0]) is None]
    return next(iter([*mine, *foreign]), None)


def not_kept(start: Start) -> list[list[Lookup]]:
    """What a start compiled and did not keep, by reason, the costliest first."""
    found: dict[tuple[str | None, str | None], list[Lookup]] = defaultdict(list)
    for each in start.lookups:
        if each.outcome == "not kept":
            found[each.reason, each.detail].append(each)
    return sorted(found.values(), key=lambda of: -sum(each.compile_s or 0 for each in of))
