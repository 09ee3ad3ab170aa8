"""Explains what happened in a block, as findings, from what the session has written so far: where
it waited for the device, and which operators ran on the CPU.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from xladoctor.diagnosis.engine import judge
from xladoctor.diagnosis.finding import Finding
from xladoctor.diagnosis.rule import Rule
from xladoctor.doctor import evidence_of
from xladoctor.evidence.interface import Evidence, Period
from xladoctor.evidence.row import Row
from xladoctor.expectation.builder import FindingBuilder
from xladoctor.expectation.compiled import explain_compilations
from xladoctor.expectation.interface import EventCounts, Kind
from xladoctor.ingest.interface import Ingested
from xladoctor.ingest.process_folder import read_process
from xladoctor.ingest.run_records import Manifest
from xladoctor.recording.bootstrap._xladoctor.call_site import PLACE

Places = Callable[[int | None], Any]
_WAIT = "Host waits until the device is done"
_WAIT_WHY = "wait_device_ops() blocks the host until the device has finished all of its work."
_WAIT_FIX = "Remove the wait from the step: reading a value waits for what it needs."
_EARLIER = "The line is from an earlier step: this block was not watched closely enough to show it"
_UNSEEN = (
    "Run the step once or twice before the block, each time with its barrier: after a step with"
    " fallbacks, the next one is searched for their lines"
)


def explain_waits(builder: FindingBuilder, happened: EventCounts, place: Places) -> list[Finding]:
    """A finding for each line that read, printed, copied or saved, with its rule's texts."""
    rules = {kind: rule for rule in builder.rules for kind in rule.reads}
    groups: dict[tuple[str, Any], dict[str, int]] = defaultdict(dict)
    for (site, kind), count in happened.waits.items():
        key = rules[kind].id if kind in rules else "", place(site)
        groups[key][kind] = groups[key].get(kind, 0) + count
    return [_waited(builder, rules, spot, kinds) for (_, spot), kinds in groups.items()]


def _waited(
    builder: FindingBuilder, rules: dict[str, Rule], spot: Any, kinds: dict[str, int]
) -> Finding:
    row: Row = {**columns(spot), "count": sum(kinds.values())}
    via = row.pop("via")
    rule = rules.get(next(iter(kinds)))
    if rule is None:
        return builder.without_rule(_WAIT, row, _WAIT_WHY, _WAIT_FIX)
    cause = {
        "kinds": sorted(kinds),
        "share_of_steps": None,
        "steps_of": None,
        "via": via,
        "cure": None,
    }
    return builder.from_rule(rule, {**row, "cause": cause})


def columns(spot: Any) -> Row:
    """The columns of a call site; all None if it is unknown."""
    return dict.fromkeys(PLACE) if spot is None else dict(zip(PLACE, spot, strict=True))


def explain_fallbacks(
    builder: FindingBuilder, happened: EventCounts, place: Places
) -> list[Finding]:
    """A finding for each operator and line, from evidence of the block alone."""
    small = evidence_of(_of_block(happened, place), "", Manifest(command=[]))
    seen = {op for op, _ in happened.lines}
    explained = []
    for rule in builder.rules_on("fallbacks"):
        for row in judge(rule, small, {"times": 1}):
            placed, op = row["file"] is not None, row["subject"]
            row["consequences"] = [] if op in seen else [_EARLIER if placed else _UNSEEN]
            explained.append(builder.from_rule(rule, row))
    return explained


def _of_block(happened: EventCounts, place: Places) -> Ingested:
    """The block's counters, and the lines of its operators or, failing that, of earlier ones."""
    ingested = Ingested()
    ingested.add("process", process=0)
    ingested.table("fallback")
    for op, count in happened.fallbacks.items():
        ingested.add("counter", process=0, name=op, value=count)
        lines = _of(op, happened.lines) or _of(op, happened.known_lines)
        for site, number in lines.items():
            ingested.add("fallback", process=0, op=op, count=number, **columns(place(site)))
    return ingested


def _of(op: str, lines: dict[tuple[str, int | None], int]) -> dict[int | None, int]:
    return {site: number for (name, site), number in lines.items() if name == op}


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
