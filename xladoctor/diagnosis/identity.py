"""Matches a program's earlier findings with its current ones, and computes their fingerprints,
which stay the same when a line moves or is reformatted.

Two findings are the same defect if one of these holds, tried in this order; a pair made by an
earlier criterion is final. They always have the same rule and subject (operator or setting).

1. Their fingerprints agree: the line moved, was reformatted, or is now ignored. Equal lines in one
   function are matched by how often they occur, then in order: if one of two is removed, the other
   stays; a third is new.
2. Their file was renamed: the old file has no finding left, the new one had none, and function and
   code agree for at least half of the findings of the file with fewer. A copy is new, as the
   original keeps its findings; so is a line that moved to a file that had findings already.
3. Their function was renamed: the same within a file, for lines that occur as often as before. A
   line that moved to another function is new if either function has findings of its own.
4. The line was edited: the rule has no other added or removed finding in the function, and most of
   the code is the same (or was not read in one of the runs).
5. One of them has no line, and the rule has no other added or removed finding.

If several fit equally well, none is matched. When in doubt, a finding is new: a regression taken
for a known defect costs more than a second look at a known one. Programs are paired by name before
any of this: callers pass two lists of findings of one program.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from pathlib import PurePosixPath

from xladoctor.diagnosis.finding import Finding, Ignored, Location
from xladoctor.diagnosis.interface import Diagnosis, RunFacts
from xladoctor.diagnosis.source_line import code
from xladoctor.evidence.interface import Evidence
from xladoctor.repository import portable

_HALF = 0.5  # share of a file's findings, or of a line's code: git's threshold for a rename
Scope = tuple[str, ...]
Key = Callable[["Sighting"], Hashable | None]


@dataclass(frozen=True, slots=True)
class Sighting:
    """The part of a finding that both a diagnosis and a baseline have.

    Attributes:
        subject: the operator or setting that it is about, or empty; None if it is only part of the
            fingerprint.
        file: portable path; None for a finding about the whole run.
        source: the line, formatted in any way; empty if it was not read.
        count: occurrences in the run.
        per_step: occurrences per step; None if the rule gives no rate.
    """

    fingerprint: str
    rule: str
    subject: str | None
    file: str | None
    function: str | None
    source: str
    count: int
    per_step: float | None

    @property
    def code(self) -> str | None:
        """The line without what formatters change; None if it was not read."""
        return code(self.source) if self.source else None

    @property
    def frequency(self) -> float:
        """Occurrences, as comparable as possible between runs: per step, else in the run."""
        return self.count if self.per_step is None else self.per_step


def sightings(diagnosis: Diagnosis) -> list[Sighting]:
    """All findings of a program, ignored or not."""
    run = diagnosis.run
    return [
        *(_reported(finding, run) for finding in diagnosis.findings),
        *(_ignored(ignored, run) for ignored in diagnosis.ignored),
    ]


def _reported(finding: Finding, run: RunFacts) -> Sighting:
    place = finding.locations[0] if finding.locations else None
    return Sighting(
        finding.fingerprint,
        finding.rule,
        finding.subject,
        portable(place.file, run.cwd, run.root) if place else None,
        place.function if place else None,
        (place.source if place else None) or "",
        finding.count,
        finding.per_step,
    )


def _ignored(ignored: Ignored, run: RunFacts) -> Sighting:
    return Sighting(
        ignored.fingerprint,
        ignored.rule,
        None,
        portable(ignored.file, run.cwd, run.root),
        ignored.function,
        ignored.source or "",
        ignored.count,
        ignored.per_step,
    )


def same(then: Sequence[Sighting], now: Sequence[Sighting]) -> dict[str, str]:
    """By current fingerprint of each finding that existed before, its earlier fingerprint.

    Each earlier finding matches at most one current finding. The result is symmetric.
    """
    subjects: dict[str, set[str]] = defaultdict(lambda: {""})
    for seen in (*then, *now):
        subjects[seen.rule].add(seen.subject or "")
    pairing = _Pairing(
        [_with_subject(seen, subjects[seen.rule]) for seen in then],
        [_with_subject(seen, subjects[seen.rule]) for seen in now],
    )
    pairing.pair(lambda seen: (*_stem(seen), seen.frequency))
    pairing.pair(_stem)
    pairing.rename(_file, _in_file)
    pairing.pair(_line)
    pairing.rename(_function, _in_function)
    pairing.pair(_line)
    pairing.pair_alone(_block, _alike)
    pairing.pair_alone(_rule, lambda a, b: None in (a.file, b.file))
    return pairing.pairs


def _with_subject(seen: Sighting, subjects: set[str]) -> Sighting:
    """The finding with the one of these subjects that its fingerprint was made from, if any."""
    if seen.subject is not None:
        return seen
    if seen.file and seen.code is None:  # its fingerprint was made from the line's number
        return replace(seen, subject="") if subjects == {""} else seen
    place = [seen.file, seen.function or "", seen.code or ""] if seen.file else []
    made_of = [
        subject
        for subject in subjects
        if digest(seen.rule, subject, *place) == seen.fingerprint[:DIGITS]
    ]
    return replace(seen, subject=made_of[0]) if made_of else seen


class _Pairing:
    """Two lists of findings, and the pairs made so far."""

    def __init__(self, then: list[Sighting], now: list[Sighting]) -> None:
        self.then, self.now = then, now
        self.pairs: dict[str, str] = {}

    def pair(self, key: Key) -> None:
        """Pair findings with equal keys, in the order of their numbers."""
        for then, now in self._groups(key):
            for a, b in zip(sorted(then, key=_number), sorted(now, key=_number), strict=False):
                self.pairs[b.fingerprint] = a.fingerprint

    def pair_alone(self, key: Key, accept: Callable[[Sighting, Sighting], bool]) -> None:
        """Pair findings that are the only ones with their key on both sides, if accepted."""
        for then, now in self._groups(key):
            if len(then) == len(now) == 1 and accept(then[0], now[0]):
                self.pairs[now[0].fingerprint] = then[0].fingerprint

    def rename(self, scope: Callable[[Sighting], Scope | None], content: Key) -> None:
        """Give the earlier findings the current names of their files (or functions)."""
        names = _renamed(_contents(self.then, scope, content), _contents(self.now, scope, content))
        self.then = [
            _placed(seen, names[old]) if (old := scope(seen)) in names else seen
            for seen in self.then
        ]

    def _groups(self, key: Key) -> Iterator[tuple[list[Sighting], list[Sighting]]]:
        """The unpaired findings by key, without those whose key is None."""
        groups: dict[Hashable, tuple[list[Sighting], list[Sighting]]]
        groups = defaultdict(lambda: ([], []))
        paired = set(self.pairs.values()), self.pairs.keys()
        for side, all_seen in enumerate((self.then, self.now)):
            for seen in all_seen:
                if seen.fingerprint not in paired[side] and (name := key(seen)) is not None:
                    groups[name][side].append(seen)
        yield from groups.values()


def _placed(seen: Sighting, scope: Scope) -> Sighting:
    file, function = (*scope, seen.function)[:2]
    return replace(seen, file=file, function=function)


def _contents(
    all_seen: Sequence[Sighting], scope: Callable[[Sighting], Scope | None], content: Key
) -> dict[Scope, Counter[Hashable]]:
    """The contents of findings in each file (or function)."""
    contents: dict[Scope, Counter[Hashable]] = defaultdict(Counter)
    for seen in all_seen:
        if (name := scope(seen)) is not None:
            contents[name][content(seen)] += 1
    return contents


def _renamed(
    then: dict[Scope, Counter[Hashable]], now: dict[Scope, Counter[Hashable]]
) -> dict[Scope, Scope]:
    """New names by old ones: the best matches among names that vanished and that appeared."""
    fits: dict[tuple[Scope, Scope], tuple[int, bool]] = {}
    for old in then.keys() - now.keys():
        for new in now.keys() - then.keys():
            shared = (then[old] & now[new]).total() - min(then[old][None], now[new][None])
            if shared and shared >= _HALF * min(then[old].total(), now[new].total()):
                fits[old, new] = shared, PurePosixPath(old[-1]).name == PurePosixPath(new[-1]).name
    return {
        old: new
        for (old, new), fit in fits.items()
        if all(fit > other for pair, other in fits.items() if (pair[0] == old) != (pair[1] == new))
    }


def _number(seen: Sighting) -> tuple[int, str]:
    """A sort key by the number of equal lines, with which their fingerprints end."""
    return len(seen.fingerprint), seen.fingerprint


def _stem(seen: Sighting) -> tuple[Hashable, ...]:
    return seen.rule, seen.fingerprint[:DIGITS]


def _file(seen: Sighting) -> Scope | None:
    return (seen.file,) if seen.file else None


def _in_file(seen: Sighting) -> Hashable | None:
    known = None not in (seen.subject, seen.code)
    return (seen.rule, seen.subject, seen.function, seen.code) if known else None


def _function(seen: Sighting) -> Scope | None:
    return (seen.file, seen.function) if seen.file and seen.function else None


def _in_function(seen: Sighting) -> Hashable | None:
    known = None not in (seen.subject, seen.code)
    return (seen.rule, seen.subject, seen.file, seen.code, seen.frequency) if known else None


def _line(seen: Sighting) -> Hashable | None:
    content = _in_file(seen)
    return (seen.file, content) if seen.file and content else None


def _block(seen: Sighting) -> Hashable | None:
    known = seen.file and seen.subject is not None
    return (seen.rule, seen.subject, seen.file, seen.function) if known else None


def _rule(seen: Sighting) -> Hashable | None:
    return None if seen.subject is None else (seen.rule, seen.subject)


def _alike(a: Sighting, b: Sighting) -> bool:
    """Whether most of a line's code is the same."""
    if a.code is None or b.code is None:
        return True
    first, second = sorted((a.code, b.code))  # the ratio depends on their order
    return SequenceMatcher(None, first, second, autojunk=False).ratio() >= _HALF


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
