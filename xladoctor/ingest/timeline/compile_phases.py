"""Finds compilations of functions in a timeline, and how long each phase took.

Compilers record nested events: time directly in an event of a phase belongs to that phase. The
outermost events of the first phase are the compilations.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter

import numpy as np

from xladoctor.frontends.vocabulary import FIRST_PHASE, part_of
from xladoctor.ingest.compiled_calls import Calls
from xladoctor.ingest.compiler_log import compilation
from xladoctor.ingest.gathered import Gathered
from xladoctor.ingest.timeline.clock import Timeline
from xladoctor.ingest.timeline.intervals import Intervals, covering
from xladoctor.ingest.timeline.python_frames import PythonFrames
from xladoctor.ingest.xplane.nesting import in_order, nest
from xladoctor.ingest.xplane.space import Line

_CALL = "call"  # the name of a site without a frame


def compile_phases(timeline: Timeline, phases: dict[str, str], calls: Calls) -> Gathered:
    """Tables ``compilation`` and ``compile_phase``.

    Args:
        phases: the phase of each event, by its name.
        calls: of compiled functions, and the steps that they are in.
    """
    rows = Gathered()
    for table in ("compilation", "compile_phase"):
        rows.table(table)
    seen, index = _first_calls(timeline), 0
    for line in timeline.threads:
        roots, spent = _spent(timeline, line, phases)
        for number, phase in sorted(spent):
            rows.add(
                "compile_phase",
                phase=phase,
                compilation=index + number if number >= 0 else None,
                duration_ns=spent[number, phase],
            )
        sites = PythonFrames.of(timeline, line, {}).sites(roots.begin, [_CALL] * len(roots.begin))
        for begin, end, site in zip(roots.begin.tolist(), roots.end.tolist(), sites, strict=True):
            part = _made(end, seen.get(line.number, []))
            row = compilation(
                index,
                part and part.rpartition("/")[0],
                0,
                site,
                thread=line.id,
                compile_id=part and part_of(part),
                end_ns=end,
                duration_ns=end - begin,
            )
            rows.add_row("compilation", row | (calls.place(row) if part else {}))
            index += 1
    return rows


def _first_calls(timeline: Timeline) -> dict[int, list[tuple[int, str]]]:
    """The first call of each part of a function, in order, by the thread's number."""
    names = timeline.events.names
    parts = timeline.choice(name for name in names if part_of(name))
    first: dict[str, tuple[int, int]] = {}
    for line in timeline.threads:
        which = timeline.chosen(line, parts)
        called = timeline.events.name[line.events][which].tolist()
        for name, begin in zip(called, timeline.begins(line, which).tolist(), strict=True):
            first[names[name]] = min(
                first.get(names[name], (begin, line.number)), (begin, line.number)
            )
    by_line: dict[int, list[tuple[int, str]]] = {}
    for name, (begin, number) in sorted(first.items(), key=lambda each: each[1]):
        by_line.setdefault(number, []).append((begin, name))
    return by_line


def _made(end: int, first: list[tuple[int, str]]) -> str | None:
    """The part that a compilation made: the next one that its thread calls for the first time.

    None if that part may have been called before the timeline.
    """
    at = bisect_left(first, (end, ""))
    return first[at][1] if at < len(first) else None


def _spent(
    timeline: Timeline, line: Line, phases: dict[str, str]
) -> tuple[Intervals, Counter[tuple[int, str]]]:
    """A thread's compilations, and nanoseconds by compilation (-1 for none) and phase."""
    which = timeline.chosen(line, timeline.choice(phases))
    begin, end = timeline.begins(line, which), timeline.ends(line, which)
    begin, end, which = in_order(begin, end, which)
    _, own, _ = nest(begin, end - begin)
    names = timeline.events.names
    phase_of_each = [
        phases[names[name]] for name in timeline.events.name[line.events][which].tolist()
    ]
    first = np.array([phase == FIRST_PHASE for phase in phase_of_each], bool)
    roots = Intervals.union(begin[first], end[first])
    spent: Counter[tuple[int, str]] = Counter()
    of = covering(roots.begin, roots.end, begin).tolist()
    for number, phase, nanoseconds in zip(of, phase_of_each, own.tolist(), strict=True):
        spent[number, phase] += nanoseconds
    return roots, spent
