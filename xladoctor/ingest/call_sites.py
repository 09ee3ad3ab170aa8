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
from xladoctor.ingest.run_records import read_record
from xladoctor.recording.bootstrap._xladoctor.redaction import redact_code
from xladoctor.warmup import LEAST_OF_STEP


@dataclass(frozen=True, slots=True)
class CallSites:
    """The interned call sites of a process.

    Attributes:
        loops: around each site, from inside out.
        passing: as :attr:`Folders.passing` has it; of two calls on a line, both have to.
        ignores: comments in their files that ask to ignore findings.
        launches: how often each site launched graphs, if the framework reports launches.
        launched: the same sites, and what is known besides.
        light: sites whose launches ended steps that later turned out to be set-up.
        parts: how many compiled parts of functions its calls ran, as :class:`CallSitesFile` has it.
        origins: of reads whose producing launch is known.
        operations: as :class:`CallSitesFile` has it.
        functions: the compiled functions that each site calls, as :class:`CallSitesFile` has it.
    """

    sites: tuple[CallSite, ...] = ()
    sources: tuple[str, ...] = ()
    fallbacks: tuple[Fallback, ...] = ()
    loops: tuple[tuple[EnclosingLoop, ...], ...] = ()
    passing: Mapping[tuple[str, int], bool] = field(default_factory=dict)
    ignores: tuple[IgnoreComment, ...] = ()
    files: tuple[SourceFile, ...] = ()
    launches: Mapping[int | None, int] = field(default_factory=dict)
    launched: tuple[Launch, ...] = ()
    light: frozenset[int | None] = frozenset()
    parts: Mapping[int | None, int] | None = None
    origins: tuple[ReadOrigin, ...] = ()
    operations: frozenset[int | None] | None = None
    functions: Mapping[int | None, frozenset[int]] = field(default_factory=dict)

    def __getitem__(self, index: int | None) -> CallSite:
        return self.sites[index] if index is not None and index < len(self.sites) else NOWHERE


def read_call_sites(text: str) -> CallSites:
    """Parse ``call_sites.json``. Raises DamagedRecord for any other file."""
    data = read_record(text, decoded(CallSitesFile))
    sites = tuple(CallSite(*(getattr(site, name) for name in SITE)) for site in data.sites)
    passing: dict[tuple[str, int], bool] = {}
    for file, line, passes in data.passing:
        passing[file, line] = passes and passing.get((file, line), True)
    return CallSites(
        sites,
        tuple(site.source for site in data.sites),
        data.fallbacks,
        tuple(site.loops for site in data.sites),
        passing,
        data.ignores,
        data.files,
        {launch.site: launch.count for launch in data.launches},
        data.launches,
        _not_of_loops(data.launches) | frozenset(data.beside),
        None if data.parts is None else dict(data.parts),
        data.origins,
        None if data.operations is None else frozenset(data.operations),
        {site: frozenset(numbers) for site, numbers in data.functions},
    )


def add_call_sites(sites: CallSites, rows: ProcessRows) -> None:
    """Fill the tables of lines, the loops around them, and what happened at them."""
    ingested = rows.ingested  # files are of no process
    for site, text in zip(sites.sites, sites.sources, strict=True):
        ingested.add("source_line", file=site.file, line=site.line, text=redact_code(text))
    rows.table("enclosing_loop", "ignore_comment", "source_file")
    for site, loops in zip(sites.sites, sites.loops, strict=True):
        spot = {"file": site.file, "line": site.line, "via": site.via}
        for depth, loop in enumerate(loops):
            rows.add("enclosing_loop", **spot, depth=depth, **row(loop, EnclosingLoop))
    for asked in sites.ignores:
        columns = row(asked, IgnoreComment)
        ingested.add("ignore_comment", **columns | {"text": redact_code(asked.text)})
    for file in sites.files:
        ingested.add("source_file", **row(file, SourceFile))
    _add_launches(sites, rows)
    for origin in sites.origins:
        rows.add("read_origin", **located_row(origin, ReadOrigin, sites))
    rows.table("fallback")
    for fallback in sites.fallbacks:
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
