"""Which finding of A is which of B."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

from xladoctor.diagnosis.interface import Finding
from xladoctor.diagnosis.pairing import paired
from xladoctor.diagnosis.source_line import code

Pair = tuple[Finding | None, Finding | None]


def matched(a: Sequence[Finding], b: Sequence[Finding]) -> list[Pair]:
    """Each finding of both runs once, beside its like in the other run if it has one there.

    Findings are the same by fingerprint; then, where that leaves one on each side, by rule,
    function and code (the file was renamed), or by rule, file and function (the line was edited),
    or by rule alone where one of the runs names no line.
    """
    pairs: list[Pair] = []
    left, right = list(a), list(b)
    for identity in (_by_fingerprint, _by_code, _by_function, _by_rule):
        found = _paired(left, right, identity)
        pairs += found
        left = [one for one in left if all(one is not pair[0] for pair in found)]
        right = [one for one in right if all(one is not pair[1] for pair in found)]
    return [*pairs, *((one, None) for one in left), *((None, one) for one in right)]


def _paired(
    left: list[Finding], right: list[Finding], identity: Callable[[Finding], Hashable | None]
) -> list[tuple[Finding, Finding]]:
    """Those that are alone of their identity on both sides."""
    return [
        pair
        for pair in paired(left, right, identity, identity)
        if identity is not _by_rule or not all(one.locations for one in pair)
    ]


def _by_fingerprint(finding: Finding) -> Hashable | None:
    return finding.rule, finding.fingerprint


def _by_code(finding: Finding) -> Hashable | None:
    if not finding.locations or not finding.locations[0].source:
        return None
    place = finding.locations[0]
    return finding.rule, _what(finding), place.function, code(place.source or "")


def _by_function(finding: Finding) -> Hashable | None:
    if not finding.locations:
        return None
    place = finding.locations[0]
    return finding.rule, _what(finding), place.file, place.function


def _by_rule(finding: Finding) -> Hashable | None:
    return finding.rule, _what(finding)


def _what(finding: Finding) -> str:
    """The operator or setting that it is about, if it is about one."""
    return str(finding.cause.get("op") or finding.cause.get("setting") or "")
