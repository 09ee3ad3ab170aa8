"""Runs a program and its moved copy, each in its own environment: once for the values of the first
steps, once captured.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from xladoctor.evidence.load import load
from xladoctor.fixes.proof.interface import Run
from xladoctor.fixes.proof.runner import Runner
from xladoctor.fixes.proof.workspace import workspace
from xladoctor.move.proof.interface import Judgement, Side, Verification
from xladoctor.move.proof.judging import judged
from xladoctor.move.proof.recorded import FirstSteps, first_steps
from xladoctor.quantities import duration

#: Counts of a diagnosis that mean the same in any framework.
_COUNTS = ("compilations_after_warmup", "host_syncs_per_step", "fallbacks_per_step", "step_ms")
_RUNS = 4
#: What a step launched, in the loop that took longest.
_LAUNCHES = """
SELECT sum(s.executions + s.launches) / any_value(l.steps) AS launches,
       sum(s.compilations) AS compilations
FROM lead l JOIN step s USING (process, thread) WHERE l.steps > 0
"""
_FAULT = 600  # characters of the end of what a failed program wrote


@dataclass(frozen=True, slots=True)
class Trial:
    """How the programs are run.

    Attributes:
        words: the program with its arguments, as Python gets them: ``train.py``, or ``-m module``.
        cwd: the folder of the project in which it runs.
        rtol: relative tolerance of outputs, losses and gradients.
        stop_after: steps after which the captured runs are ended; 0 for none.
        limit_s: seconds after which a run is ended; 0 for no limit.
        include: files and folders of the project that are copied although git ignores them.
        show: receives how far it is, each time in place of what it received before.
    """

    words: Sequence[str]
    cwd: Path
    rtol: float = 1e-3
    stop_after: int = 0
    limit_s: float = 0.0
    include: Sequence[Path] = ()
    show: Callable[[str], None] = lambda text: None


@dataclass(slots=True)
class _Captured:
    """What a captured run did."""

    run: Run | None = None
    numbers: dict[str, float | None] = field(default_factory=dict)


def verify(
    root: Path, texts: Mapping[Path, str], source: Side, target: Side, trial: Trial
) -> Verification:
    """Whether a moved program computes what the original does in its first steps, and what it does
    besides. The project is copied for each run and stays as it is.

    Args:
        root: the project.
        texts: the moved program: new texts of files of the project, by their paths.
        source, target: where the original runs, and where the moved program does.

    Raises:
        FixError: the project cannot be copied, or the program would leave the copy.
    """
    began = time.monotonic()
    with workspace(root, trial.include) as copies:
        done = 0
        runners = [
            Runner(
                copies,
                [str(side.interpreter), *trial.words],
                trial.cwd,
                trial.stop_after,
                side.environment,
            )
            for side in (source, target)
        ]

        def tick() -> None:
            spent = duration(time.monotonic() - began)
            trial.show(f"run {done + 1} of {_RUNS}, {spent} so far")

        values = list[list[FirstSteps]]()
        judgement: Judgement | None = None
        for runner, written, who in zip(runners, ({}, texts), ("original", "moved"), strict=True):
            runner.refuse_paths()
            status, errors, folder = runner.values(written, trial.limit_s or None, tick)
            values.append(first_steps(folder))
            done += 1
            if judgement is None and not any(each.stopped for each in values[-1]):
                judgement = _failed(who, status, errors)
        judgement = judgement or judged(values[0], values[1], trial.rtol)
        captured = list[_Captured]()
        for runner, written in zip(runners, ({}, texts), strict=True):
            captured.append(_captured(runner, written, trial, tick))
            done += 1
    return _verification(source, target, trial, judgement, captured)


def _failed(who: str, status: int | None, errors: str) -> Judgement | None:
    """What follows if a program did not come to the end of its first steps."""
    if status == 0:
        return None
    said = errors.strip()[-_FAULT:]
    how = "takes too long" if status is None else f"ends with status {status}"
    reason = f"the {who} program {how} before its first steps are done: {said}"
    return Judgement("fails" if who == "moved" else "not comparable", reason=reason)


def _captured(
    runner: Runner, texts: Mapping[Path, str], trial: Trial, tick: Callable[[], None]
) -> _Captured:
    found = _Captured()

    def look(directory: Path) -> None:
        rows = load(str(directory)).database.rows(_LAUNCHES)
        found.numbers.update(rows[0] if rows else {})

    found.run = runner.run_with(texts, trial.limit_s or None, tick, look)
    found.numbers |= dict(found.run.counts)
    return found


def _verification(
    source: Side, target: Side, trial: Trial, judgement: Judgement, captured: Sequence[_Captured]
) -> Verification:
    notes = list[str]()
    for who, each in zip(("original", "moved"), captured, strict=True):
        run = each.run
        if run is None or run.status:
            status = None if run is None else run.status
            notes.append(f"the captured run of the {who} program: status {status}")
    one, other = (each.numbers for each in captured)
    names = ("compilations", "launches", *_COUNTS)
    counts = tuple(
        (name, one.get(name), other.get(name)) for name in names if name in one or name in other
    )
    report: Mapping[str, Any] = captured[1].run.report if captured[1].run else {}
    findings = tuple(report.get("findings", ()))
    made = Verification(source.name, target.name, trial.rtol, judgement, counts, findings)
    return replace(made, notes=tuple(notes))
