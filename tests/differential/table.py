"""Counts of what became of generated programs, by kind."""

from __future__ import annotations

import gc
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from hypothesis import HealthCheck, Phase, given, seed, settings

from tests.differential.judge import Judgement, Program, judge
from tests.differential.kinds import programs
from xladoctor.fixes import registry
from xladoctor.fixes.case import Case
from xladoctor.fixes.interface import Change

_ROUNDS = 6
_MORE = 2  # than the share of patches asks for: many of them are there already
_FORM = re.compile(r"\[.*|[\d.]+|'.*?'")


@dataclass
class Row:
    """What became of the programs of one kind.

    Attributes:
        falls: programs that behave differently after the patch, with how.
    """

    kind: str
    verdicts: Counter[str] = field(default_factory=Counter)
    raised: int = 0
    falls: list[tuple[Program, Judgement]] = field(default_factory=list)
    refusals: Counter[str] = field(default_factory=Counter)

    @property
    def generated(self) -> int:
        """All programs."""
        return self.verdicts.total()

    def shortest_falls(self) -> list[tuple[Program, Judgement]]:
        """The shortest program for each way to differ."""
        by_reason: dict[str, tuple[Program, Judgement]] = {}
        for program, judgement in sorted(self.falls, key=lambda each: len(each[0].text)):
            by_reason.setdefault(_FORM.sub("", judgement.reason)[:40], (program, judgement))
        return [*by_reason.values()]

    @property
    def patched(self) -> int:
        """Those that were not refused."""
        return self.generated - self.verdicts["refused"]

    def __str__(self) -> str:
        each = self.verdicts
        return (
            f"{self.kind:26}{self.generated:>9}{self.patched:>9}{each['refused']:>9}"
            f"{each['as declared']:>13}{len(self.falls):>10}{self.raised:>9}"
        )


HEAD = (
    f"{'kind':26}{'programs':>9}{'patched':>9}{'refused':>9}{'as declared':>13}{'differ':>10}"
    f"{'raising':>9}"
)


def row(
    kind: str,
    count: int,
    number: int = 0,
    patched: int = 0,
    fix: Callable[[Case], Change] | None = None,
    real: bool = False,
) -> Row:
    """Generate and judge programs of a kind, each once.

    Args:
        count: how many, at least.
        number: the seed.
        patched: how many that are not refused, if that takes no more than some rounds.
        fix: a mutant of the kind.
        real: whether the frameworks run the programs.
    """
    found, seen = Row(kind), set[str]()

    def judged(program: Program) -> None:
        if program.marked in seen:
            return
        seen.add(program.marked)
        judgement = judge(fix or registry.kind(kind), program, real)
        if judgement.verdict == "void":
            return
        found.verdicts[judgement.verdict] += 1
        found.raised += judgement.raised
        if judgement.verdict in ("differs", "fails"):
            found.falls.append((program, judgement))
        if judgement.verdict == "refused":
            found.refusals[judgement.reason] += 1

    gc.freeze()  # the collector would go through the frameworks' objects again and again
    for turn in range(_ROUNDS):
        missing = count - found.generated
        if turn and found.patched < patched:  # the share that is patched is known
            a_patch = found.generated / max(found.patched, 1)
            missing = max(missing, int(_MORE * (patched - found.patched) * a_patch))
        if missing > 0:
            _generate(kind, missing, number * _ROUNDS + turn, judged)
    gc.unfreeze()
    return found


def _generate(kind: str, count: int, number: int, judged: Callable[[Program], None]) -> None:
    @seed(number)
    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=[*HealthCheck],
    )
    @given(programs(kind))
    def each(program: Program) -> None:
        judged(program)

    each()
