"""Sorts runs by program, and decides on each program by the gate's terms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

from xladoctor.configuration.interface import Configuration
from xladoctor.diagnosis.interface import Diagnosis
from xladoctor.diagnosis.reach import ending
from xladoctor.foreign import encodable, quoted
from xladoctor.gate.acknowledged import Acknowledged
from xladoctor.gate.baseline import Baseline, merged, update
from xladoctor.gate.interface import GateError, GateOutcome
from xladoctor.gate.judge import Terms, entries, judge
from xladoctor.gate.runs import aggregate, repeated
from xladoctor.gate.seen import in_loop


@dataclass(frozen=True, slots=True)
class Program:
    """A program, and the diagnoses of its runs: one or several.

    Attributes:
        nth: number among the programs of this name that the command runs, from 1.
    """

    name: str
    diagnoses: Sequence[Diagnosis]
    nth: int = 1

    @property
    def entry(self) -> str:
        """Its name in the baseline."""
        return self.name if self.nth == 1 else f"{self.name} ({self.nth})"

    @property
    def diagnosis(self) -> Diagnosis:
        """The diagnosis of its only run, or of all its runs combined."""
        return self.diagnoses[0] if len(self.diagnoses) == 1 else aggregate(self.diagnoses)


def programs(runs: Sequence[Sequence[Diagnosis]], name: str | None = None) -> list[Program]:
    """Sort the diagnoses of one or several runs of a command by program.

    Args:
        runs: for each run, a diagnosis for each program that it ran.
        name: what to call the program, if there is only one.

    Raises:
        GateError: a run that cannot be judged, or runs that ran different programs.
    """
    for run in runs:
        for diagnosis in run:
            _refuse(diagnosis)
    names = [[d.run.script or encodable(d.run.path) for d in run] for run in runs]
    if any(other != names[0] for other in names):
        raise GateError(f"the runs ran different programs: {'; '.join(map(', '.join, names))}")
    if name is not None and len(names[0]) > 1:
        raise GateError(
            f"--script names one program, but {len(names[0])} ran: {', '.join(names[0])}"
        )
    if not names[0]:
        raise GateError("no program to judge")
    each = zip(names[0], zip(*runs, strict=True), strict=True)
    return [
        Program(name or script, list(diagnoses), names[0][: at + 1].count(script))
        for at, (script, diagnoses) in enumerate(each)
    ]


def _refuse(diagnosis: Diagnosis) -> None:
    """Refuse a program that failed or did nothing, as it must never look healthy."""
    run = diagnosis.run
    if run.kind != "run":
        return
    steps = diagnosis.steps.count if diagnosis.steps else 0
    after = f"after {steps} step{'s' * (steps != 1)}" if steps else "before its first step"
    again = f"to see what was captured: xladoctor analyze {quoted(run.path)}"
    if ended := ending(run, diagnosis.steps):
        raise GateError(f"{run.path}: {ended}: not judged", again)
    if run.running:
        raise GateError(f"{run.path}: the program is still running, {after}: not judged", again)
    if run.status is None:
        raise GateError(f"{run.path}: the run was cut short {after}: not judged", again)
    compiled = next(
        (count.value for count in diagnosis.counts if count.name == "compilations_after_warmup"),
        None,
    )
    idle = not diagnosis.time.loop_s or compiled is None
    if not steps and idle and not in_loop(diagnosis):
        raise GateError(f"{run.path}: an empty run: the program ran no step on a device", again)


@dataclass(frozen=True, slots=True)
class Policy:
    """The settings by which all programs are judged.

    Attributes:
        path: the baseline's file, which need not exist.
    """

    settings: Configuration
    path: Path
    baseline: Baseline
    acknowledged: Acknowledged
    today: date

    def decide(self, program: Program) -> tuple[Diagnosis, GateOutcome]:
        """The decision on a program, with its diagnosis. Raises GateError."""
        diagnosis = program.diagnosis
        return diagnosis, judge(diagnosis, self._terms(program))

    def updated(self, judged: Sequence[Program]) -> Policy:
        """Write the current findings to the baseline; return the policy with it."""

        def change(baseline: Baseline) -> Baseline:
            for program in judged:
                diagnosis = program.diagnosis
                terms = replace(self, baseline=baseline)._terms(program)
                new = entries(diagnosis, terms)
                baseline = merged(baseline, program.entry, diagnosis, new, terms.judges)
            return baseline

        return replace(self, baseline=update(self.path, change))

    def _terms(self, program: Program) -> Terms:
        pack = program.diagnosis.pack
        return Terms(
            script=program.name,
            settings=self.settings,
            by_time=frozenset(name for name, rule in pack.items() if rule.judged_by == "time"),
            baseline=self.baseline.scripts.get(program.entry),
            baseline_path=str(self.path),
            acknowledged=self.acknowledged,
            today=self.today,
            runs=repeated(program.diagnoses) if len(program.diagnoses) > 1 else (),
            alone={*self.baseline.scripts} <= {program.entry},
        )
