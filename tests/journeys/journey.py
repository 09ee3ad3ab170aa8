"""Runs the stages of a program that is healed round by round."""

from __future__ import annotations

import json
import subprocess
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.prescriptions.trial import captured, findings, seconds

JOURNEYS = Path(__file__).parent
PORTED = JOURNEYS.parent / "ported" / "programs"
#: What was found, journey by journey: docs/prescriptions.md is made from it.
TRIED = JOURNEYS / "tried.json"
#: After which a stage is ended: what is this sick need not be seen to its end.
LIMIT_S = 120


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


def travelled(name: str, folder: Path) -> Journey:
    """Run each stage once, captured."""
    start, expert = programs(name)
    program = folder / "program.py"
    program.write_bytes(start.read_bytes())
    stages = [_stage("start", program, folder)]
    for patch in sorted((JOURNEYS / name).glob("*.patch")):
        follow(patch, program)
        stages.append(_stage(patch.stem, program, folder))
    return Journey(name, stages, _stage("expert", expert, folder))


def follow(patch: Path, program: Path) -> None:
    """Apply a round's patch, which is of ``program.py``."""
    subprocess.run(
        ["git", "apply", str(patch)], cwd=program.parent, check=True, capture_output=True,
        env={"GIT_CEILING_DIRECTORIES": str(program.parent.parent)},
    )  # fmt: skip


def _stage(name: str, program: Path, folder: Path) -> Stage:
    report, _ = captured(program, folder / f"run-{name}", LIMIT_S)
    hurting = sorted({rule for rule, severity in findings(report) if severity != "info"})
    return Stage(name, seconds(report), report["run"]["signal"] is not None, hurting)


def kept() -> dict[str, Journey]:
    """What was found so far."""
    rows = json.loads(TRIED.read_text(encoding="utf-8")) if TRIED.exists() else []
    return {row["program"]: Journey(row["program"], [Stage(**each) for each in row["stages"]],
                                    Stage(**row["expert"])) for row in rows}  # fmt: skip


def keep(journeys: dict[str, Journey]) -> None:
    """Write down what was found."""
    rows = [asdict(journeys[name]) for name in sorted(journeys)]
    TRIED.write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
