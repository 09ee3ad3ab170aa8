"""Matches the findings of A with those of B."""

from __future__ import annotations

from collections.abc import Mapping

from xladoctor.diagnosis.finding import Finding, Ignored
from xladoctor.diagnosis.identity import same, sightings
from xladoctor.diagnosis.interface import Diagnosis

Seen = Finding | Ignored


def matched(a: Diagnosis, b: Diagnosis) -> list[tuple[Seen | None, Seen | None]]:
    """Each finding of both runs once, ignored or not, beside its match in the other run."""
    was = same(sightings(a), sightings(b))
    left, right = _by_fingerprint(a), _by_fingerprint(b)
    pairs = [(left[was[name]] if name in was else None, seen) for name, seen in right.items()]
    gone = left.keys() - was.values()
    return [*pairs, *((seen, None) for name, seen in left.items() if name in gone)]


def _by_fingerprint(diagnosis: Diagnosis) -> Mapping[str, Seen]:
    every: list[Seen] = [*diagnosis.findings, *diagnosis.ignored]
    return {seen.fingerprint: seen for seen in every}
