"""The call sites of a captured process (``call_sites.json``)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from xladoctor.facts.compilations import Fallback, Launch, ReadOrigin
from xladoctor.facts.graphs import IgnoreComment, SourceFile
from xladoctor.facts.records import CallSitesFile
from xladoctor.facts.steps import EnclosingLoop
from xladoctor.facts.table import SITE
from xladoctor.ingest.fact_decoder import decoded
from xladoctor.ingest.fact_rows import located_row, row
from xladoctor.ingest.frames import NOWHERE, CallSite
from xladoctor.ingest.interface import ProcessRows
from xladoctor.recording.bootstrap._xladoctor.redaction import redact_code
from xladoctor.warmup import LEAST_OF_STEP

_NONE = decoded(CallSitesFile)(sites=(), fallbacks=())


@dataclass(frozen=True, slots=True)
class CallSites:
    """The interned call sites of a process.

    Attributes:
        file: all that is kept of them; its lists are looked up in what follows.
        passing: as :attr:`Folders.passing` has it; of two calls on a line, both have to.
        launched: sites that launched graphs, if the framework reports launches.
        launches: how often each of them did.
        light: sites whose launches ended steps that later turned out to be set-up.
    """

    sites: tuple[CallSite, ...] = ()
    file: CallSitesFile = _NONE
    launched: tuple[Launch, ...] = ()
    passing: Mapping[tuple[str, int], bool] = field(default_factory=dict)
    launches: Mapping[int | None, int] = field(default_factory=dict)
    light: frozenset[int | None] = frozenset()
    parts: Mapping[int | None, int] | None = None
    operations: frozenset[int | None] | None = None
    functions: Mapping[int | None, frozenset[int]] = field(default_factory=dict)

    def __getitem__(self, index: int | None) -> CallSite:
        return self.sites[index] if index is not None and index < len(self.sites) else NOWHERE

    @classmethod
    def of(cls, file: CallSitesFile) -> CallSites:
        """The call sites in ``call_sites.json``."""
        passing: dict[tuple[str, int], bool] = {}
        for path, line, passes in file.passing:
            passing[path, line] = passes and passing.get((path, line), True)
        return cls(
            tuple(CallSite(*(getattr(site, name) for name in SITE)) for site in file.sites),
            file,
            file.launches,
            passing,
            {launch.site: launch.count for launch in file.launches},
            _not_of_loops(file.launches) | frozenset(file.beside),
            None if file.parts is None else dict(file.parts),
            None if file.operations is None else frozenset(file.operations),
            {site: frozenset(numbers) for site, numbers in file.functions},
        )


def add_call_sites(sites: CallSites, rows: ProcessRows) -> None:
    """Fill the tables of lines, the loops around them, and what happened at them."""
    ingested, file = rows.ingested, sites.file  # source files are of no process
    for site in file.sites:
        text = redact_code(site.source)
        ingested.add("source_line", file=site.file, line=site.line, text=text)
    rows.table("enclosing_loop", "ignore_comment", "source_file")
    for site in file.sites:
        spot = {"file": site.file, "line": site.line, "via": site.via}
        for depth, loop in enumerate(site.loops):
            rows.add("enclosing_loop", **spot, depth=depth, **row(loop, EnclosingLoop))
    for ignore in file.ignores:
        columns = row(ignore, IgnoreComment)
        ingested.add("ignore_comment", **columns | {"text": redact_code(ignore.text)})
    for source in file.files:
        ingested.add("source_file", **row(source, SourceFile))
    _add_launches(sites, rows)
    for origin in file.origins:
        rows.add("read_origin", **located_row(origin, ReadOrigin, sites))
    rows.table("fallback")
    for fallback in file.fallbacks:
        rows.add("fallback", **located_row(fallback, Fallback, sites))


def _add_launches(sites: CallSites, rows: ProcessRows) -> None:
    if sites.launched:
        rows.table("key_change")
    for launch in sites.launched:
        site = launch.site
        columns = located_row(launch, Launch, sites)
        if site in sites.light:
            columns["steps"] = 0
        rows.add(
            "launch",
            parts=None if sites.parts is None else sites.parts.get(site, 0),
            operations=None if sites.operations is None else site in sites.operations,
            **columns,
        )


def _not_of_loops(launches: Iterable[Launch]) -> frozenset[int | None]:
    """Find sites that ended steps before the main loop was found, and whose work is negligible."""
    loops = [(each.count * each.work, each.work, each.site) for each in launches if each.steps]
    most, main, _ = max(loops, key=lambda loop: loop[0], default=(0.0, 0.0, None))
    return frozenset(
        site
        for total, work, site in loops
        if work < LEAST_OF_STEP * main and total < LEAST_OF_STEP * most
    )
