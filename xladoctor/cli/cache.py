"""``xladoctor cache``: why the cache of compiled graphs on disk missed."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import typer

from xladoctor.cli.groups import argument, grouped, option
from xladoctor.cli.output import (
    ColorOption,
    PlainFormat,
    PlainOption,
    load_evidence,
)
from xladoctor.foreign import clean
from xladoctor.report.output import Color, say, show

if TYPE_CHECKING:
    from xladoctor.cache_keys.compare import CacheComparison
    from xladoctor.cache_keys.lookup import Start


@grouped
def cache(
    *,
    a: str = argument("A run: its directory, name or URL, such as last~1.", metavar="A"),
    b: str | None = argument(
        "A later run of the same program, or that of another host.", default=None, metavar="B"
    ),
    layout: PlainOption = PlainFormat.terminal,
    limit: int = option("How many causes to show; 0 for all.", default=10, min=0, metavar="N"),
    color: ColorOption = Color.auto,
) -> None:
    """Show why the cache of compiled graphs missed.

    Of two runs: what the second compiled that the first had compiled or loaded, and which part of
    its key differs. Of one run: what it did not keep; of a job, each rank against the first. Exit
    status: 0 nothing was compiled again, 1 something was, 2 a run cannot be read or has no record.
    """
    from xladoctor.report import cache as report

    found, comparisons = _compared(_starts(a), None if b is None else _starts(b))
    if layout is PlainFormat.json:
        show(partial(report.render_json, report.record(found, comparisons)), color)
    else:
        show(partial(report.render, found, comparisons, limit), color)
    raise typer.Exit(int(any(each.avoidable for each in comparisons)))


def _starts(path: str) -> list[Start]:
    from xladoctor.cache_keys.lookup import starts

    evidence = load_evidence(path, None)
    for note in evidence.notes:
        say(f"note: {note}")
    return [replace(each, run=clean(evidence.path)) for each in starts(evidence)]


def _compared(
    first: list[Start], second: list[Start] | None
) -> tuple[list[Start], list[CacheComparison]]:
    """The starts, named apart, and the comparisons of those that belong together."""
    from xladoctor.cache_keys.compare import compare
    from xladoctor.frontends.vocabulary import vocabulary

    own = vocabulary(first[0].frontend).own_files
    if second is None:
        return first, [compare(first[0], each, own) for each in first[1:]]
    if len(first) != len(second):
        say(f"note: A has {len(first)} processes and B {len(second)}; the first are compared")
    if (second[0].began_ns or 0) < (first[0].began_ns or 0):
        say("note: B began before A; give the run that filled the cache first")
    pairs = list(zip(_named("A", first), _named("B", second), strict=False))
    return [each for pair in pairs for each in pair], [compare(*pair, own) for pair in pairs]


def _named(run: str, starts: list[Start]) -> list[Start]:
    several = len(starts) > 1
    return [replace(each, label=f"{run} {each.label}" if several else run) for each in starts]
