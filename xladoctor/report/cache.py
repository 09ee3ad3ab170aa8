"""What starts of a program found in the cache of compiled graphs, what they missed, and why."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TextIO

from rich.console import RenderableType
from rich.text import Text

from xladoctor.cache_keys.compare import COMPUTATION, CacheComparison, Change, Miss, not_kept
from xladoctor.foreign import as_json
from xladoctor.frontends.vocabulary import vocabulary
from xladoctor.quantities import counted, duration, first_few
from xladoctor.report.interface import Style
from xladoctor.report.text import grid, inset, styled, write

if TYPE_CHECKING:
    from xladoctor.cache_keys.compare import Why
    from xladoctor.cache_keys.lookup import Lookup, Start
    from xladoctor.frontends.vocabulary_file import DiskCacheWords

_LONGEST = 160  # letters of a value
_CONSTANT = re.compile(r"^%\w+ = stablehlo\.constant (?:dense(?:_resource)?<(.*)>)(?= : )")
#: What no part of a key says.
_WHY: dict[Why, str] = {
    "not kept": "{before} did not keep it: {reason}",
    "unused": "{before} had kept it, but {reason}",
    "gone": "{before} had kept it, but the entry is gone",
    "bypass": "{reason}",
    "new": "{before} compiled no such function",
}
#: Why a miss that has no key, or no earlier lookup, says that it was not kept.
_SAID: frozenset[Why] = frozenset(("not kept", "unused", "bypass"))


def render(
    starts: Sequence[Start],
    comparisons: Sequence[CacheComparison],
    limit: int,
    output: TextIO,
    style: Style,
) -> None:
    """Write what each start found, then why the later ones compiled again.

    Args:
        limit: how many causes, and how many reasons, to show; 0 for all.
    """
    parts: list[RenderableType] = [_found(each, style) for each in starts]
    for comparison in comparisons:
        parts += [Text(), *_compared(comparison, limit, style)]
    for comparison in comparisons:
        said = {id(each.lookup) for each in comparison.misses if each.why in _SAID}
        parts += _lost(comparison.after, said, limit, style)
    if not comparisons:
        parts += [part for each in starts for part in _lost(each, set(), limit, style)]
    write(parts, output, style)


def _found(start: Start, style: Style) -> Text:
    hits = sum(not each.compiled for each in start.lookups)
    looked_up = counted(len(start.lookups), _noun(start))
    run = f" ({start.run})" if start.run else ""
    text = styled(f"{start.label}{run}: {looked_up}, {hits} found in the cache", style, "bold")
    if hits < len(start.lookups):
        text.append(f", {len(start.lookups) - hits} compiled in {duration(start.compile_s)}")
    return text


def _noun(start: Start) -> str:
    return vocabulary(start.frontend).words.get("graph", "graph")


def _compared(comparison: CacheComparison, limit: int, style: Style) -> Iterator[RenderableType]:
    before, after, noun = comparison.before.label, comparison.after.label, _noun(comparison.after)
    if not comparison.misses:
        yield styled(f"{after} compiled nothing that {before} had.", style)
        return
    groups, given = comparison.groups, set[str]()
    for group in groups[: limit or None]:
        seconds = duration(sum(each.seconds for each in group))
        missed = "compiled" if group[0].why == "new" else "missed"
        title = f"{counted(len(group), noun)} {missed} by {after}, {seconds}: "
        if group is not groups[0]:
            yield Text()
        yield styled(title + _names([each.lookup for each in group]), style, "bold")
        yield inset(_rows(_explained(group[0], comparison), given, style))
    if limit and len(groups) > limit:
        yield styled(f"… {len(groups) - limit} more causes (--limit 0 for all)", style, "dim")


def _names(lookups: Sequence[Lookup]) -> str:
    """The functions, with how many of each, or the line of one that is alone."""
    counts = Counter(each.name for each in lookups)
    names = first_few([name if n == 1 else f"{name} ({n})" for name, n in counts.items()])
    place = lookups[0].place if len(lookups) == 1 else None
    return names if place is None else f"{names} ({_at(place)})"


def _at(place: tuple[str, int]) -> str:
    return f"{place[0]}:{place[1]}"


def _rows(rows: Iterable[tuple[str, str]], given: set[str], style: Style) -> RenderableType:
    """Names and texts; a cure that has been given is not given again."""
    shown = []
    for name, text in rows:
        repeated = name == "cure" and text in given
        given.update([text] if name == "cure" else [])
        shown.append((Text(name, style="dim"), styled("as above" if repeated else text, style)))
    return grid(shown)


def _explained(miss: Miss, comparison: CacheComparison) -> Iterator[tuple[str, str]]:
    """Names and texts: why, the values, the cure."""
    words = vocabulary(comparison.after.frontend).disk_cache
    of = miss.earlier if miss.why == "not kept" and miss.earlier else miss.lookup
    reason = {"before": comparison.before.label, "reason": _reason(of, words)}
    if miss.why in _WHY:
        yield "why", _WHY[miss.why].format(**reason)
    for change in miss.changes:
        yield from _changed(change, comparison, words)
    cure = words.gone if miss.why == "gone" else ""
    if miss.why in _SAID and (advice := words.reasons.get(of.reason or "")):
        cure = advice.cure
    if cure:
        yield "cure", cure


def _reason(lookup: Lookup, words: DiskCacheWords) -> str:
    advice = words.reasons.get(lookup.reason or "")
    title = advice.title if advice else lookup.reason or "unknown"
    return title.replace("{detail}", lookup.detail or "?")


def _changed(
    change: Change, comparison: CacheComparison, words: DiskCacheWords
) -> Iterator[tuple[str, str]]:
    advice, title, field = words.parts.get(change.part), change.part, change.field
    if change.difference is not None:
        advice = words.computation.get(change.difference.kind)
        field = None if change.difference.kind == "constant" else field
    elif change.part == COMPUTATION:
        title = "program; where it differs is not known, as its text is not there"
    elif change.field in words.options:
        advice = words.options[change.field]
    title = advice.title if advice else title
    where = f", first at {_at(change.place)}" if change.place else ""
    yield "why", f"different {title}{f': {field}' if field else ''}{where}"
    if change.was is not None or change.now is not None:
        yield comparison.before.label, _value(change.was)
        yield comparison.after.label, _value(change.now)
    if advice and advice.cure:
        yield "cure", advice.cure


def _value(value: str | None) -> str:
    text = "none" if not value else " ".join(_CONSTANT.sub(r"\1", value).split())
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _lost(start: Start, said: Container[int], limit: int, style: Style) -> Iterator[RenderableType]:
    """What the next start compiles once more, as this one did not keep it; not what was said."""
    words, given = vocabulary(start.frontend).disk_cache, set[str]()
    groups = [[each for each in of if id(each) not in said] for of in not_kept(start)]
    short = next((of[0].detail for of in groups if of and of[0].reason == "short"), None)
    for group in [of for of in groups if of][: limit or None]:
        seconds = sum(each.compile_s or 0.0 for each in group)
        spent = f", {duration(seconds)} of compiling" if seconds else ""
        title = f"{counted(len(group), _noun(start))} not kept by {start.label}{spent}: "
        rows = [("why", _reason(group[0], words))]
        if (advice := words.reasons.get(group[0].reason or "")) and advice.cure:
            rows.append(("cure", advice.cure))
        least = min(each.compile_s or 0.0 for each in group)
        if group[0].reason != "short" and short is not None and 0 < least < float(short):
            rows.append(("and", f"compiled in less than {short} s, too: both keep it out"))
        yield Text()
        yield styled(title + _names(group), style, "bold")
        yield inset(_rows(rows, given, style))


def record(starts: Sequence[Start], comparisons: Sequence[CacheComparison]) -> dict[str, Any]:
    """The same as JSON has it; times in seconds."""
    return {
        "starts": [
            {"label": each.label, "lookups": [_lookup(lookup) for lookup in each.lookups]}
            for each in starts
        ],
        "misses": [
            {
                "before": each.before.label,
                "after": each.after.label,
                "why": miss.why,
                "seconds": miss.seconds,
                "lookup": _lookup(miss.lookup),
                "not_kept": miss.earlier.reason if miss.earlier else None,
                "changes": [_change(change) for change in miss.changes],
            }
            for each in comparisons
            for miss in each.misses
        ],
    }


def _lookup(lookup: Lookup) -> dict[str, Any]:
    place = lookup.place or (None, None)
    names = ("name", "key", "outcome", "reason", "detail", "folder", "compile_s", "read_s")
    return {name: getattr(lookup, name) for name in names} | {"file": place[0], "line": place[1]}


def _change(change: Change) -> dict[str, Any]:
    place = change.place or (None, None)
    kind = None if change.difference is None else change.difference.kind
    named = {name: getattr(change, name) for name in ("part", "field", "was", "now")}
    return {**named, "kind": kind, "file": place[0], "line": place[1]}


def render_json(content: dict[str, Any], output: TextIO, style: Style) -> None:
    """Write the record."""
    output.write(as_json(content, ascii_only=not style.unicode))
