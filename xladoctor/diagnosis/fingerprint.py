"""A finding's identity: the same for the same defect when its line moves or is formatted anew."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from xladoctor.diagnosis.interface import Finding, Location
from xladoctor.diagnosis.source_line import code
from xladoctor.evidence.interface import Evidence


def fingerprint(rule: str, what: str, locations: Sequence[Location], evidence: Evidence) -> str:
    """Of rule, file, function and the line's code.

    Args:
        rule: its id.
        what: tells findings of a rule at one line apart: the operator, the way of reading.
        locations: the first one counts; a finding without any is one of the whole run.
        evidence: knows the repository that paths are relative to.
    """
    parts = [rule, what]
    for place in locations[:1]:
        known = code(place.source) if place.source else str(place.line)  # rather new than mistaken
        parts += [evidence.portable(place.file), place.function or "", known]
    return identity(*parts)


def identity(*parts: str) -> str:
    """Of what is told by these texts, as 16 hexadecimal digits."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def distinct(found: list[Finding]) -> list[Finding]:
    """Number equal fingerprints (the same code twice in a function) by their lines' order."""
    seen: dict[str, int] = defaultdict(int)
    numbered = []
    for finding in sorted(found, key=lambda one: [(at.file, at.line) for at in one.locations]):
        seen[finding.fingerprint] += 1
        nth = seen[finding.fingerprint]
        name = finding.fingerprint if nth == 1 else f"{finding.fingerprint}-{nth}"
        numbered.append(replace(finding, fingerprint=name))
    return numbered
