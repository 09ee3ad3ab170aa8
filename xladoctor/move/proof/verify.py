"""Runs a program and its moved copy, each in its own environment: once for the values of the first
steps, once captured.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from xladoctor.evidence.load import load
from xladoctor.fixes.proof.runner import Runner
from xladoctor.fixes.proof.workspace import Workspace, workspace
from xladoctor.move.proof.interface import Judgement, Side, Verification
from xladoctor.move.proof.judging import judged
from xladoctor.move.proof.recorded import FirstSteps, first_steps
from xladoctor.quantities import duration

#: Counts of a diagnosis that mean the same in any framework.
_COUNTS = ("compilations_after_warmup", "host_syncs_per_step", "fallbacks_per_step", "step_ms")
_RUNS = 4
#: What was compiled, and what a step launched, in the loop that took longest.
_LAUNCHES = """
SELECT sum(s.compilations) AS compilations,
       sum(s.executions + s.launches) / nullif(any_value(l.steps), 0) AS launches
FROM lead l JOIN step s USING (process, thread)
"""
_FRAME = re.compile(r'  File "(.+)", line (\d+)')
_LIBRARIES = re.compile(r"/(?:site-packages|lib/python3[^/]*)/|^<")
_FAULT, _LINES = 400, 3  # characters of an exception, lines of the end of other errors


@dataclass(frozen=True, slots=True)
class Trial:
    """How the programs are run.

    Attributes:
        words: the program with its arguments, as Python gets them: ``train.py``, or ``-m module``.
        cwd: the folder of the project in which it runs.
        rtol: relative tolerance of outputs, losses and gradients.
        stop_after: steps after which the captured runs are ended; 0 for none.
        counts: whether both are run once more, captured, for their counts and findings.
        limit_s: seconds after which a run is ended; 0 for no limit.
        include: files and folders of the project that are copied although git ignores them.
        show: receives how far it is, each time in place of what it received before.
    """

    words: Sequence[str]
    cwd: Path
    rtol: float = 1e-3
    stop_after: int = 0
    counts: bool = True
    limit_s: float = 0.0
    include: Sequence[Path] = ()
    show: Callable[[str], None] = lambda text: None


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
    with workspace(root, trial.include) as copies:
        programs = [
            _Program(copies, side, who, written, trial)
            for side, who, written in ((source, "original", {}), (target, "moved", texts))
        ]
        values = list[list[FirstSteps]]()
        judgement: Judgement | None = None
        for number, program in enumerate(programs):
            steps, failed = program.values(number)
            values.append(steps)
            judgement = judgement or failed
        judgement = judgement or judged(values[0], values[1], trial.rtol)
        found = Verification(source.name, target.name, trial.rtol, judgement)
        if not trial.counts:
            return found
        (was, _, old), (now, report, new) = (
            each.captured(number) for number, each in enumerate(programs, len(values))
        )
    counts = (
        (name, was.get(name), now.get(name)) for name in ("compilations", "launches", *_COUNTS)
    )
    counted = tuple(each for each in counts if each[1:] != (None, None))
    findings = tuple(report.get("findings", ()))
    notes = tuple(filter(None, (old, new)))
    return replace(found, counts=counted, findings=findings, notes=notes)


class _Program:
    """One of the programs, which is run in copies of the project."""

    def __init__(
        self, copies: Workspace, side: Side, who: str, texts: Mapping[Path, str], trial: Trial
    ) -> None:
        command = [str(side.interpreter), *trial.words]
        self._runner = Runner(copies, command, trial.cwd, trial.stop_after, side.environment)
        self._runner.refuse_paths()
        self._side = side
        self._who, self._texts, self._trial = who, texts, trial
        self._began = time.monotonic()

    def _tick(self, number: int) -> Callable[[], None]:
        def tick() -> None:
            spent = duration(time.monotonic() - self._began)
            self._trial.show(f"run {number + 1} of {_RUNS}, {spent} so far")

        return tick

    def values(self, number: int) -> tuple[list[FirstSteps], Judgement | None]:
        """Its first steps, and what follows if it did not come to their end."""
        limit_s = self._trial.limit_s or None
        status, errors, folder = self._runner.values(self._texts, limit_s, self._tick(number))
        steps = first_steps(folder)
        if status == 0 or any(each.stopped for each in steps):
            return steps, self._elsewhere(steps)
        how = "takes too long" if status is None else f"ends with status {status}"
        reason = f"the {self._who} program {how} before its first steps are done"
        said = f"{reason}: {fault(errors)}" if status else reason
        return steps, Judgement("fails" if self._texts else "not comparable", reason=said)

    def _elsewhere(self, steps: Sequence[FirstSteps]) -> Judgement | None:
        """What follows if it computes on devices of another type than it is to use."""
        used = sorted({device for each in steps for device in each.devices})
        if not used or not self._side.device or self._side.device in used:
            return None
        reason = f"the {self._who} program computes on {' and '.join(used)}"
        return Judgement("fails", reason=f"{reason}, not on {self._side.device}")

    def captured(self, number: int) -> tuple[dict[str, float | None], Mapping[str, Any], str]:
        """The counts of a captured run, its report, and a note if it failed."""
        counts = dict[str, float | None]()

        def look(directory: Path) -> None:
            counts.update(*load(str(directory)).database.rows(_LAUNCHES))

        limit_s = self._trial.limit_s or None
        run = self._runner.run_with(self._texts, limit_s, self._tick(number), look)
        note = f"the captured run of the {self._who} program "
        if run.status is None:
            note += "takes too long"
        elif run.status:
            note += f"ends with status {run.status}: {fault(run.errors)}"
        else:
            note = ""
        return {} if note else counts | dict(run.counts), run.report, note


def fault(errors: str) -> str:
    """The exception that ended a program, with its line of the program; else the end of its
    standard error, which libraries write to as well.
    """
    _, traced, rest = errors.rpartition("Traceback (most recent call last):\n")
    lines = rest.splitlines()
    said = next((n for n, line in enumerate(lines) if line[:1].strip()), None)
    if not traced or said is None:
        return " ".join(line.strip() for line in errors.strip().splitlines()[-_LINES:])
    frames = [found for line in lines[:said] if (found := _FRAME.match(line))]
    own = [found for found in frames if not _LIBRARIES.search(found[1])]
    at = f" ({Path(own[-1][1]).name}:{own[-1][2]})" if own else ""
    return f"{lines[said][:_FAULT]}{at}"
