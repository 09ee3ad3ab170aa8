"""Computes a finding's fingerprint, which stays the same when its line moves or is reformatted.

:mod:`xladoctor.diagnosis.identity` decides when findings with different fingerprints are the same.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from xladoctor.diagnosis.finding import Finding, Location
from xladoctor.diagnosis.source_line import code
from xladoctor.evidence.interface import Evidence

DIGITS = 16  # followed by the number that distinguishes equal fingerprints


def fingerprint(rule: str, subject: str, locations: Sequence[Location], evidence: Evidence) -> str:
    """The fingerprint of rule, file, function and the line's code.

    Args:
        subject: distinguishes findings of a rule on the same line.
        locations: the first one counts; a finding without any is about the whole run.
        evidence: has the repository that paths are relative to.
    """
    parts = [rule, subject]
    for place in locations[:1]:
        known = code(place.source) if place.source else str(place.line)  # if in doubt, it is new
        parts += [evidence.portable(place.file), place.function or "", known]
    return digest(*parts)


def digest(*parts: str) -> str:
    """A hash of these texts, as 16 hexadecimal digits."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:DIGITS]


def distinct(findings: list[Finding]) -> list[Finding]:
    """Number equal fingerprints (the same code twice in a function) in the order of their lines."""
    seen: dict[str, int] = defaultdict(int)
    numbered = []
    for finding in sorted(findings, key=lambda each: [(at.file, at.line) for at in each.locations]):
        seen[finding.fingerprint] += 1
        nth = seen[finding.fingerprint]
        name = finding.fingerprint if nth == 1 else f"{finding.fingerprint}-{nth}"
        numbered.append(replace(finding, fingerprint=name))
    return numbered
