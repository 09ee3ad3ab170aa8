"""Explains what happened in a block, as findings, from what the session has written so far."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from xladoctor.diagnosis.finding import Finding
from xladoctor.doctor import evidence_of
from xladoctor.evidence.interface import Evidence, Period
from xladoctor.expectation.builder import FindingBuilder
from xladoctor.expectation.compiled import explain_compilations
from xladoctor.expectation.events import Places, columns, explain_fallbacks, explain_waits
from xladoctor.expectation.interface import EventCounts, Kind
from xladoctor.ingest.interface import Ingested
from xladoctor.ingest.process_folder import read_process
from xladoctor.ingest.run_records import Manifest

Explained = tuple[list[Finding], list[str]]


def explain(
    happened: Sequence[tuple[Any, EventCounts]], kinds: Sequence[Kind]
) -> tuple[dict[str, list[Finding]], list[str]]:
    """Findings on the events of these kinds, of all sessions, and further notes."""
    findings: dict[str, list[Finding]] = {kind: [] for kind in kinds}
    notes: list[str] = []
    for session, each in happened:
        explained = _explain(session, each, [kind for kind in kinds if each.count(kind)])
        for kind, (found, more) in explained.items():
            findings[kind] += found
            notes += more
    return findings, notes


def _explain(session: Any, happened: EventCounts, kinds: Sequence[Kind]) -> dict[Kind, Explained]:
    place = session.tally.place
    builder = FindingBuilder(_evidence(Path(session.flush()), happened, place))
    explainers: dict[Kind, Callable[[], Explained]] = {
        "compilations": lambda: explain_compilations(builder, happened),
        "host_syncs": lambda: (explain_waits(builder, happened, place), []),
        "fallbacks": lambda: (explain_fallbacks(builder, happened, place), []),
    }
    return {kind: explainers[kind]() for kind in kinds}


def _evidence(folder: Path, happened: EventCounts, place: Places) -> Evidence:
    """The evidence of this process so far; the block is the part to judge, with only its reads."""
    ingested = Ingested()
    read_process(folder, [], ingested.of(0), None)
    ingested.tables.pop("host_sync", None)
    for (site, kind), count in happened.waits.items():
        ingested.add(
            "host_sync",
            process=0,
            tail=True,
            kind=kind,
            closure=False,
            count=count,
            **columns(place(site)),
        )
    block = Period(happened.began_ns, happened.ended_ns)
    origin = Manifest(command=[], cwd=str(Path.cwd()), began_ns=happened.began_ns)
    return evidence_of(ingested, str(folder), origin, block)
