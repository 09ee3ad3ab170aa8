"""Which time findings, the device and overhead explain, and the lines of what is left."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace

from xladoctor.diagnosis.finding import Finding, What
from xladoctor.diagnosis.interface import Explained, LineTime, TimeSpent, Unexplained
from xladoctor.diagnosis.rule import Rule
from xladoctor.evidence.interface import Evidence
from xladoctor.facts.parts import PartName

_WORTH_NAMING = 0.01  # share of the whole, and of a part
_MOST_LINES = 3
_OVERHEAD: tuple[PartName, ...] = ("startup", "after", "capture")
_WAITS: tuple[PartName, ...] = ("read", "barrier")
#: Subject of a claim -> the parts that its time is taken from, in this order.
_PARTS_OF: dict[What, tuple[PartName, ...]] = {
    "compile": ("compile", "warmup_compile"),
    "read": ("read",),
    "upload": ("upload",),
    "input": ("input",),
    "save": ("save",),
    "barrier": ("barrier", "dispatch"),
    "tracing": ("tracing", "python"),
    "other": ("python",),
    "cut": ("tracing", "python", "read", "barrier"),
}
#: The same by the rule's category, for findings without claims.
_PARTS_OF_CATEGORY: dict[str, tuple[PartName, ...]] = {
    "recompilation": ("compile", "warmup_compile"),
    "synchronization": ("read",),
    "barriers": ("compile", "warmup_compile", "barrier", "dispatch", "tracing", "python"),
    "lowering": _PARTS_OF["cut"],
    "input": ("input", "save", "tracing", "python"),
    "device": ("python", "tracing", "dispatch"),
    "pod": ("collective", "barrier", "python"),
}


def explain(
    evidence: Evidence, time: TimeSpent, findings: Sequence[Finding], pack: Mapping[str, Rule]
) -> TimeSpent:
    """Add what accounts for the time, and name the lines of what is left.

    Args:
        pack: the rules of the findings, by id.
    """
    if time.parts is None:
        return time
    left: dict[PartName, float] = {
        field.name.removesuffix("_s"): getattr(time.parts, field.name)  # type: ignore[misc]
        for field in fields(time.parts)
    }
    whole = sum(left.values())
    overhead = sum(left.pop(name) for name in _OVERHEAD)
    claimed = sum(_take(left, finding, pack[finding.rule]) for finding in findings)
    device = _take_from(left, _WAITS, time.device_s or 0.0)
    lines = _Lines(
        evidence,
        {
            (part, at.file, at.line)
            for finding in findings
            for part in _about(finding, pack[finding.rule])
            for at in finding.locations
        },
    )
    rest = [
        Unexplained(part, seconds, lines.hottest(part, seconds))
        for part, seconds in sorted(left.items(), key=lambda item: -item[1])
        if seconds
    ]
    named = sum(row.seconds for row in rest if row.lines)
    if after := [line for line in lines.after_loop() if line.seconds >= _WORTH_NAMING * whole]:
        rest.append(Unexplained("after", time.parts.after_s, after))
    known = overhead + claimed + device + named
    return replace(
        time,
        unexplained=[row for row in rest if row.seconds >= _WORTH_NAMING * whole],
        explained=Explained(
            device, overhead, claimed, named, round(min(1.0, known / whole), 4) if whole else 1.0
        ),
    )


def _take(left: dict[PartName, float], finding: Finding, rule: Rule) -> float:
    """Take a finding's cost from the parts that it is about; return the amount taken."""
    if finding.saving.outside_loop:
        return 0.0  # is overhead already
    seconds = finding.cost.seconds or finding.saving.seconds or 0.0
    return _take_from(left, _about(finding, rule), seconds)


def _about(finding: Finding, rule: Rule) -> Iterable[PartName]:
    claimed = dict.fromkeys(
        part for claim in finding.saving.assumes for part in _PARTS_OF[claim.what]
    )
    return claimed or rule.parts or _PARTS_OF_CATEGORY.get(rule.category, ())


def _take_from(left: dict[PartName, float], parts: Iterable[PartName], seconds: float) -> float:
    taken = 0.0
    for part in parts:
        some = min(left[part], seconds - taken)
        left[part] -= some
        taken += some
    return taken


class _Lines:
    """The lines of a part's time, without lines that findings about that part name."""

    def __init__(self, evidence: Evidence, known: set[tuple[PartName, str, int]]) -> None:
        self._evidence = evidence
        self._known = known

    def hottest(self, part: PartName, seconds: float) -> list[LineTime]:
        """A few lines, each with its share of the seconds."""
        rows = self._evidence.database.rows(
            "SELECT file, line, share FROM time_line WHERE part = $part"
            " ORDER BY share DESC, file, line",
            {"part": part},
        )
        places = [
            (self._evidence.shown(row["file"]) or row["file"], row["line"], row["share"])
            for row in rows
        ]
        others = [place for place in places if (part, *place[:2]) not in self._known] or places
        return [
            LineTime(file, line, round(share * seconds, 4))
            for file, line, share in others[:_MOST_LINES]
            if share >= _WORTH_NAMING
        ]

    def after_loop(self) -> list[LineTime]:
        """The lines that took longest after the loop, with their seconds."""
        rows = self._evidence.database.rows(
            "SELECT file, line, duration_ns / 1e9 AS seconds FROM line_after_loop"
            " ORDER BY seconds DESC, file, line LIMIT $most",
            {"most": _MOST_LINES},
        )
        return [
            LineTime(
                self._evidence.shown(row["file"]) or row["file"],
                row["line"],
                round(row["seconds"], 4),
            )
            for row in rows
        ]
