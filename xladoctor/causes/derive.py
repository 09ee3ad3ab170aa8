"""Completes the evidence, above all with why a call site compiled again: its graph is compared with
the most similar earlier one.

Sources, the best first: the key by which the framework itself decides to compile; both modules, if
the timeline's window covered the compilations; a shape that the program sent to the device for the
first time in the step that compiled; the numbers of inputs and outputs in the analysis log. If none
of them shows the cause, it is unknown.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

from xladoctor.causes import rows
from xladoctor.causes.blocks import with_blocks
from xladoctor.causes.cause import cause_of
from xladoctor.causes.clocks import with_clocks
from xladoctor.causes.compilations import by_site, read_compilations, read_loaders, read_periods
from xladoctor.causes.contrast import Contrast, contrasts
from xladoctor.causes.details import with_first_differences, with_growth, with_makers, with_users
from xladoctor.causes.graphs import Graphs
from xladoctor.causes.history import by_hash, by_log, repeated
from xladoctor.causes.input_cause import dynamic_lines
from xladoctor.causes.inputs import together
from xladoctor.causes.interface import Cause, Causes, Changes, Compilation, Earlier, Sites
from xladoctor.causes.keys import by_keys
from xladoctor.causes.leftovers import read_barriers, with_leftovers
from xladoctor.causes.nearest import Nearest
from xladoctor.causes.patterns import add_patterns
from xladoctor.causes.uploads import Uploads
from xladoctor.causes.vocabulary import Vocabulary
from xladoctor.evidence.database import Database
from xladoctor.evidence.interface import Evidence, Period

_MOST_CHANGES = 40  # operations kept per compilation
_MOST_EARLIER = 500  # graphs of a site, the latest, that a new one is compared with
V = TypeVar("V")


def derive(
    evidence: Evidence, within: Period | None = None, *, compares_processes: bool = True
) -> Evidence:
    """Complete the evidence with the causes of its compilations, and with what its processes are on
    one clock.

    ``recompilation`` gets a row for each compilation after the first of its call site.

    Args:
        within: the part of the run that will be judged, if not all of it.
        compares_processes: whether these are all processes of the job.
    """
    database = evidence.database
    if within:
        database.insert("judged_part", {"begin_ns": [within.begin_ns], "end_ns": [within.end_ns]})
    causes, changes = _explained(database)
    database.insert("recompilation", rows.recompilation(causes))
    database.insert("graph_change", rows.graph_change(changes))
    database.create_views("derived")
    derived = {"recompilation", "graph_change"} if "compilation" in evidence.available else set()
    evidence = replace(evidence, available=evidence.available | derived)
    return with_clocks(evidence) if compares_processes else evidence


def _explained(database: Database) -> tuple[Causes, Changes]:
    """The causes and the differing operations, in the order of the compilations."""
    compilations = read_compilations(database)
    if not compilations:
        return {}, {}
    graphs = Graphs(database, Vocabulary.of(database))
    sites, uploads = by_site(compilations), Uploads(database, compilations)
    again = dict(repeated(compilations))
    nearest = _ordered(_nearest(sites, again, graphs), compilations)
    compared, changes = _compared(database, sites, nearest, graphs, uploads)
    causes = {compilation: by_hash(compilation, old) for compilation, old in again.items()}
    causes |= compared
    causes |= by_keys(database, compilations)
    causes |= _by_records(sites, causes, uploads)
    causes = {**with_blocks(causes, sites, graphs)}
    explained = with_first_differences(_ordered(causes, compilations), nearest, graphs)
    explained = with_makers(with_users(explained, graphs), graphs)
    periods, loaders = read_periods(database), read_loaders(database)
    explained = add_patterns(explained, sites.values(), graphs.size, periods, loaders)
    explained = with_leftovers(explained, changes, read_barriers(database))
    return with_growth(explained, changes), changes


def _ordered(
    values: Mapping[Compilation, V], compilations: Sequence[Compilation]
) -> dict[Compilation, V]:
    return {
        compilation: values[compilation] for compilation in compilations if compilation in values
    }


def _nearest(sites: Sites, again: Earlier, graphs: Graphs) -> Earlier:
    """The earlier compilation to compare each one with, if both graphs are known."""
    nearest = Nearest(graphs)
    found = dict[Compilation, Compilation]()
    for site in sites.values():
        earlier = deque[Compilation](maxlen=_MOST_EARLIER)
        for compilation in site:
            if graphs.of(compilation) is None:
                continue
            if compilation not in again and (old := nearest.of(compilation, earlier)):
                found[compilation] = old
            earlier.append(compilation)
    return found


def _contrasts(sites: Sites, nearest: Earlier, graphs: Graphs) -> Iterator[Contrast]:
    """The contrast of each compilation with its nearest earlier one."""
    seen = {site: together(graphs.of_all(compiled)) for site, compiled in sites.items()}
    return contrasts(
        graphs,
        [
            (before, after, seen[new.site])
            for new, old in nearest.items()
            if (before := graphs.of(old)) and (after := graphs.of(new))
        ],
    )


def _compared(
    database: Database, sites: Sites, nearest: Earlier, graphs: Graphs, uploads: Uploads
) -> tuple[Causes, Changes]:
    """The causes that graphs show, and the differing operations to keep."""
    dynamic = dynamic_lines(database)
    causes, changes = {}, {}
    for (new, old), contrast in zip(
        nearest.items(), _contrasts(sites, nearest, graphs), strict=True
    ):
        changes[new] = contrast.operations[:_MOST_CHANGES]
        known = contrast.without_noise(partial(uploads.was_there, new))
        causes[new] = cause_of(known, old, new, dynamic[new.process], graphs)
    return causes, changes


def _by_records(sites: Sites, known: Causes, uploads: Uploads) -> Causes:
    """The causes of all other compilations after the first of their call site."""
    causes = {}
    for site in sites.values():
        counted, ahead = dict(by_log(site)), uploads.explain_in_order(site)
        for compilation in site[1:]:
            if compilation not in known:
                causes[compilation] = (
                    uploads.explain(compilation)
                    or ahead.get(compilation)
                    or counted.get(compilation)
                    or Cause("unknown")
                )
    return causes
