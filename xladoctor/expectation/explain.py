"""What happened in a block, as findings: from what the session wrote down until now."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from xladoctor.diagnosis.interface import Finding
from xladoctor.doctor import evidence_of
from xladoctor.evidence.interface import Evidence
from xladoctor.expectation.compiled import explain_compilations
from xladoctor.expectation.events import explain_fallbacks, explain_waits
from xladoctor.expectation.interface import Happened
from xladoctor.expectation.words import Words
from xladoctor.ingest.interface import Ingested
from xladoctor.ingest.run_directory import read_process

Explained = tuple[list[Finding], list[str]]


def explain(
    session: Any, happened: Happened, kinds: Sequence[str]
) -> tuple[dict[str, list[Finding]], list[str]]:
    """Findings on the events of these kinds, and what else there is to say."""
    words = Words(_evidence(Path(session.flush()), happened))
    place = session.tally.place
    explainers: dict[str, Callable[[], Explained]] = {
        "compilations": lambda: explain_compilations(words, happened, place),
        "host_syncs": lambda: (explain_waits(words, happened, place), []),
        "fallbacks": lambda: (explain_fallbacks(words, happened, place), []),
    }
    explained = {kind: explainers[kind]() for kind in kinds}
    notes = [note for _, some in explained.values() for note in some]
    return {kind: found for kind, (found, _) in explained.items()}, notes


def _evidence(folder: Path, happened: Happened) -> Evidence:
    """Of this process alone, up to now."""
    ingested = Ingested()
    read_process(folder, [], 0, ingested, None)
    return evidence_of(ingested, kind="run", path=str(folder), cwd=str(Path.cwd()),
                       began_ns=happened.began_ns)  # fmt: skip
