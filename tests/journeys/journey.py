"""Runs the stages of a program that is healed round by round."""

from __future__ import annotations

import json
import statistics
import subprocess
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from tests.prescriptions.trial import captured, findings, seconds

JOURNEYS = Path(__file__).parent
PORTED = JOURNEYS.parent / "ported" / "programs"
#: What was found, journey by journey: docs/prescriptions.md is made from it.
TRIED = JOURNEYS / "tried.json"
#: After which a stage is ended: what is this sick need not be seen to its end.
LIMIT_S = 120
#: How often the healed program and the expert's are run, in turn: their seconds are medians.
REPEATS = 3


@dataclass(frozen=True)
class Stage:
    """The program at the start, after a round, or by an expert.

    Attributes:
        seconds: of the loop, with its warm-up, or of the whole program without one.
        ended: whether it had to be ended.
        findings: rules with a finding at warning or above.
    """

    name: str
    seconds: float
    ended: bool
    findings: list[str]


@dataclass(frozen=True)
class Journey:
    """What came of a program.

    Attributes:
        stages: the start, then one for each round.
    """

    program: str
    stages: list[Stage]
    expert: Stage

    @property
    def rounds(self) -> int:
        return len(self.stages) - 1

    @property
    def over(self) -> bool:
        """Whether nothing above information is left."""
        return not self.stages[-1].findings


def names() -> list[str]:
    """All journeys."""
    return sorted(
        path.name for path in JOURNEYS.iterdir() if path.is_dir() and [*path.glob("*.patch")]
    )


def programs(name: str) -> tuple[Path, Path]:
    """Where a journey begins, and the same program by an expert."""
    start = JOURNEYS / name / "start.py"
    if start.exists():
        return start, start.with_name("expert.py")
    return PORTED / f"{name}.py", PORTED / f"{name}_fixed.py"


def travelled(name: str, folder: Path, repeats: int = REPEATS) -> Journey:
    """Run each stage, captured: the last one and the expert's several times, in turn."""
    start, expert = programs(name)
    program = folder / "program.py"
    program.write_bytes(start.read_bytes())
    stages, last = [], "start"
    for patch in sorted((JOURNEYS / name).glob("*.patch")):
        stages.append(_stage(last, program, folder / last))
        follow(patch, program)
        last = patch.stem
    pairs = [
        (
            _stage(last, program, folder / f"{last}-{time}"),
            _stage("expert", expert, folder / f"expert-{time}"),
        )
        for time in range(repeats)
    ]
    healed, by_hand = (_median(runs) for runs in zip(*pairs, strict=True))
    return Journey(name, [*stages, healed], by_hand)


def _median(runs: tuple[Stage, ...]) -> Stage:
    """One stage's runs as one: what any of them found, and whether any had to be ended."""
    return replace(
        runs[0],
        seconds=statistics.median(run.seconds for run in runs),
        ended=any(run.ended for run in runs),
        findings=sorted({rule for run in runs for rule in run.findings}),
    )


def follow(patch: Path, program: Path) -> None:
    """Apply a round's patch, which is of ``program.py``."""
    subprocess.run(
        ["git", "apply", str(patch)],
        cwd=program.parent,
        check=True,
        capture_output=True,
        env={"GIT_CEILING_DIRECTORIES": str(program.parent.parent)},
    )


def _stage(name: str, program: Path, run: Path) -> Stage:
    report, _ = captured(program, run, LIMIT_S)
    hurting = sorted({rule for rule, severity in findings(report) if severity != "info"})
    return Stage(name, seconds(report), report["run"]["signal"] is not None, hurting)


def kept() -> dict[str, Journey]:
    """What was found so far."""
    rows = json.loads(TRIED.read_text(encoding="utf-8")) if TRIED.exists() else []
    return {
        row["program"]: Journey(
            row["program"], [Stage(**each) for each in row["stages"]], Stage(**row["expert"])
        )
        for row in rows
    }


def keep(journeys: dict[str, Journey]) -> None:
    """Write down what was found."""
    rows = [asdict(journeys[name]) for name in sorted(journeys)]
    TRIED.write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
