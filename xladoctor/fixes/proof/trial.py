"""Runs a project's program with and without patches, in turn, and judges each patch."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from xladoctor.fixes.interface import FixError, Patch, Plan
from xladoctor.fixes.plan import patched
from xladoctor.fixes.proof.interface import Proof, Run
from xladoctor.fixes.proof.judging import ending, judged, predicted
from xladoctor.fixes.proof.workspace import Workspace, workspace

_HURTS = ("warning", "error")
_LAST = 400  # characters of what a failed program wrote
_TWICE = 2


@dataclass(frozen=True, slots=True)
class Trials:
    """How patches are tried.

    Attributes:
        command: the program and its arguments, as they were recorded.
        cwd: the folder in which it ran.
        pairs: how often the program runs with and without each patch.
        rtol: relative tolerance of the numbers that it prints.
        budget_s: seconds for everything; 0 for no limit.
        stop_after: steps after which each run is ended; 0 for none.
        include: files and folders of the project that are copied although git ignores them.
        tell: receives what is being done.
        recorded_s: seconds of the loop, or of a program without one, when it was recorded.
    """

    command: Sequence[str]
    cwd: Path
    pairs: int = 3
    rtol: float = 1e-3
    budget_s: float = 0.0
    stop_after: int = 0
    include: Sequence[Path] = ()
    tell: Callable[[str], None] = lambda text: None
    recorded_s: float | None = None


def prove(plan: Plan, trials: Trials) -> list[Proof]:
    """Try the patches of a plan, each on top of those before it that hold.

    Raises:
        FixError: the project cannot be copied, or the program fails as it is.
    """
    if not trials.cwd.resolve().is_relative_to(plan.root.resolve()):
        raise FixError(
            f"the program ran in {trials.cwd}, outside of the project {plan.root}",
            "name a project around it with --root",
        )
    with workspace(plan.root, trials.include) as copies:
        return _Course(plan, trials, copies).proofs()


class _Course:
    """The trials of one plan.

    Programs never run at once: they may use the same port or file, and they take each other's time.
    """

    def __init__(self, plan: Plan, trials: Trials, copies: Workspace) -> None:
        self._plan = plan
        self._trials = trials
        self._copies = copies
        self._until = time.monotonic() + trials.budget_s if trials.budget_s else 0.0
        self._longest = 0.0  # seconds of a run
        self._runs = 0
        self._pace = 1.0

    def proofs(self) -> list[Proof]:
        """A proof of each patch, in their order."""
        first, again = self._run(()), self._run(())
        if first.status is None or first.status != again.status or first.loop_s is None:
            hint = first.fault or again.fault or "what it printed says why"
            raise FixError(f"the program cannot be run again in a copy: {ending(first)}", hint)
        if self._trials.recorded_s:
            self._pace = min(first.loop_s, again.loop_s or first.loop_s) / self._trials.recorded_s
        kept: list[Patch] = []
        base = [first, again]
        proofs = []
        for number, patch in enumerate(self._plan.patches, 1):
            title = f"{patch.finding.rule} {patch.file.name}:{patch.finding.locations[0].line}"
            self._trials.tell(f"{number} of {len(self._plan.patches)}: {title}")
            proof = self._proof(patch, kept, base)
            proofs.append(proof)
            if proof.is_kept:
                kept.append(patch)
                base = []
        return proofs

    def _proof(self, patch: Patch, kept: Sequence[Patch], base: list[Run]) -> Proof:
        """Try a patch on top of others: pairs of runs, in turn which of the two comes first."""
        seconds, bound = predicted(patch, self._pace)
        blank = Proof(patch, "not tried", predicted_s=seconds, bound=bound)
        pairs: list[tuple[Run, Run]] = []
        spare = list(base)  # runs that were made without any patch
        while not self._is_over():
            enough = len(pairs) >= self._trials.pairs
            if enough and not self._may_be_shown(judged(blank, pairs, self._trials.rtol), pairs):
                break
            later = len(pairs) % _TWICE == 1
            after = self._run([*kept, patch]) if later else None
            before = spare.pop() if spare else self._run(kept)
            after = after or self._run([*kept, patch])
            pairs.append((before, after))
            if after.status != before.status or after.loop_s is None:
                break
        if not pairs:
            return replace(blank, reason="the time that --budget gives is over")
        return judged(blank, pairs, self._trials.rtol)

    def _may_be_shown(self, proof: Proof, pairs: Sequence[tuple[Run, Run]]) -> bool:
        """Whether more pairs, at most as many again, may show a gain that these only suggest."""
        suggested = proof.times is not None and proof.times.value > 1.0
        few = len(pairs) < _TWICE * self._trials.pairs
        return few and suggested and proof.outcome == "does not help"

    def _is_over(self) -> bool:
        return bool(self._until) and time.monotonic() + _TWICE * self._longest > self._until

    def _run(self, patches: Sequence[Patch]) -> Run:
        """Run the program in a copy with these patches, under light capture: without a timeline,
        which would take most.
        """
        self._copies.fresh(patched(patches))
        self._runs += 1
        directory = self._copies.runs / str(self._runs)
        began = time.monotonic()
        cwd = self._copies.within(self._trials.cwd.resolve())
        done = self._captured(self._command(directory), cwd, Path(f"{directory}-caches"))
        self._longest = max(self._longest, time.monotonic() - began)
        report = _report(directory)
        shutil.rmtree(directory, ignore_errors=True)
        self._refuse_the_original(report)
        if done is None:
            return Run(None, "", fault="it took longer than --budget allows")
        return _run_of(done, report)

    def _captured(
        self, command: Sequence[str], cwd: Path, caches: Path
    ) -> subprocess.CompletedProcess[str] | None:
        """Run a command without standard input; None if it takes too long."""
        process = subprocess.Popen(
            command,
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            env=self._copies.environment(caches),
        )
        try:
            output, errors = process.communicate(timeout=self._left_s())
        except subprocess.TimeoutExpired:
            process.terminate()
            process.communicate()
            return None
        except BaseException:
            process.terminate()
            process.wait()
            raise
        return subprocess.CompletedProcess(list(command), process.returncode, output, errors)

    def _refuse_the_original(self, report: dict[str, Any] | None) -> None:
        """Raise FixError if the program imports the project itself rather than the copy."""
        root = f"{self._copies.root}/"
        for finding in report["findings"] if report else ():
            for place in finding["locations"]:
                if place["file"].startswith(root):
                    raise FixError(
                        f"in a copy of the project the program still imports {place['file']}",
                        "the project is installed in editable mode, or sets sys.path: run it so"
                        " that it imports its modules from the folder that it runs in",
                    )

    def _left_s(self) -> float | None:
        return max(1.0, self._until - time.monotonic()) if self._until else None

    def _command(self, directory: Path) -> list[str]:
        words = [self._copies.word(word) for word in self._trials.command]
        stop = ["--stop-after", str(self._trials.stop_after)] if self._trials.stop_after else []
        return [
            *(sys.executable, "-m", "xladoctor", "run", "--quiet", "--output", str(directory)),
            *("--trace-steps", "0", "--format", f"json={directory}.json", *stop, "--", *words),
        ]


def _report(directory: Path) -> dict[str, Any] | None:
    """The diagnosis in a run directory."""
    try:
        report = json.loads((directory / "diagnosis.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return report if isinstance(report, dict) else None


def _run_of(done: subprocess.CompletedProcess[str], report: dict[str, Any] | None) -> Run:
    fault = done.stderr.strip()[-_LAST:] if done.returncode else ""
    if report is None:
        return Run(done.returncode, done.stdout, fault=fault)
    spent = report["time"]
    return Run(
        done.returncode,
        done.stdout,
        spent["loop_s"] or spent["total_s"],
        spent["loop_s"] and spent["loop_s"] - (spent["warmup_compile_s"] or 0.0),
        tuple(
            (each["name"], each["value"]) for each in report["counts"] if each["value"] is not None
        ),
        frozenset(each["rule"] for each in report["findings"] if each["severity"] in _HURTS),
        tuple(each["rule"] for each in report["findings"]),
        fault,
    )
