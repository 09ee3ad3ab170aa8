"""Tries patches: all together first and, where that does not hold, parts of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from xladoctor.fixes.interface import FixError, Patch, Plan
from xladoctor.fixes.proof.interface import Proof, Run
from xladoctor.fixes.proof.judging import ending, is_cured, judged, predicted
from xladoctor.fixes.proof.runner import Runner
from xladoctor.fixes.proof.workspace import workspace
from xladoctor.quantities import duration

_TWICE = 2
#: How much longer than without it a program may take with a patch.
_PATIENCE, _PATIENCE_S = 10, 60.0


@dataclass(frozen=True, slots=True)
class Trials:
    """How patches are tried.

    Attributes:
        command: the program and its arguments, as they were recorded.
        cwd: the folder in which it ran.
        pairs: how often the program runs without patches, and with each set of them.
        rtol: relative tolerance of the numbers in its results.
        budget_s: seconds for everything; 0 for no limit.
        stop_after: steps after which each run is ended; 0 for none.
        include: files and folders of the project that are copied although git ignores them.
        tell: receives what is being done, as a line.
        show: receives how far it is, each time in place of what it received before.
        recorded_s: seconds of the loop, or of a program without one, when it was recorded.
        whole_s: seconds of the whole program when it was recorded.
    """

    command: Sequence[str]
    cwd: Path
    pairs: int = 3
    rtol: float = 1e-3
    budget_s: float = 0.0
    stop_after: int = 0
    include: Sequence[Path] = ()
    tell: Callable[[str], None] = lambda text: None
    show: Callable[[str], None] = lambda text: None
    recorded_s: float | None = None
    whole_s: float | None = None


class Course:
    """The trials of a plan. What came of them so far is there also if they are interrupted.

    Programs never run at once: they may use the same port or file, and they take each other's time.
    """

    def __init__(self, plan: Plan, trials: Trials) -> None:
        self._plan = plan
        self._trials = trials
        self._settled = dict[int, Proof]()
        self._runs = dict[tuple[int, ...], list[Run]]()
        self._until = time.monotonic() + trials.budget_s if trials.budget_s else 0.0
        self._seconds = list[float]()  # of each run
        self._expected = max(_TWICE, trials.pairs) + trials.pairs  # runs, if nothing else turns up
        self._pace = 1.0

    @property
    def proofs(self) -> list[Proof]:
        """A proof of each patch, in their order."""
        why = "the time of --budget is over" if self._is_over() else "it was interrupted"
        return [
            self._settled.get(id(patch)) or Proof(patch, "not tried", reason=why)
            for patch in self._plan.patches
        ]

    @property
    def has_begun(self) -> bool:
        """Whether the program has run."""
        return bool(self._seconds)

    def run(self) -> None:
        """Try the patches.

        Raises:
            FixError: the project cannot be copied, the program fails as it is, or it would write
                into the project itself.
        """
        patches, trials = self._plan.patches, self._trials
        if not patches:
            return
        if not trials.cwd.resolve().is_relative_to(self._plan.root.resolve()):
            raise FixError(
                f"the program ran in {trials.cwd}, outside of the project {self._plan.root}",
                "name a project around it with --root",
            )
        with workspace(self._plan.root, trials.include) as copies:
            self._runner = Runner(copies, trials.command, trials.cwd.resolve(), trials.stop_after)
            self._runner.refuse_paths()
            trials.tell(self._extent(len(patches)))
            self._first_runs()
            self._settle([], patches)

    def _extent(self, patches: int) -> str:
        """What it takes, before it begins."""
        few, most = self._expected, _TWICE * self._trials.pairs * _TWICE * patches
        each = self._trials.whole_s
        lasts = [f" ({duration(each * runs)})" if each else "" for runs in (few, most)]
        them = "1 patch" if patches == 1 else f"{patches} patches, tried together first"
        limit = f"; --budget ends it after {duration(self._trials.budget_s)}" * bool(self._until)
        return f"{them}: {few} runs{lasts[0]}, {most} at most{lasts[1]}{limit}"

    def _first_runs(self) -> None:
        """Run the program twice as it is, which shows what differs from run to run."""
        first, again = self._run([]), self._run([])
        if first.status is None or first.status != again.status or first.loop_s is None:
            hint = first.fault or again.fault or "its output says why"
            if first.status is None:
                hint = "--budget is shorter than one run"
            elif not self._trials.include:
                hint += "\nfiles that git ignores are not copied; --include PATH copies one"
            raise FixError(f"the program cannot be run again in a copy: {ending(first)}", hint)
        if self._trials.recorded_s:
            self._pace = min(first.loop_s, again.loop_s or first.loop_s) / self._trials.recorded_s

    def _settle(self, kept: list[Patch], patches: list[Patch]) -> list[Patch]:
        """Find which patches hold on top of others that do; return all that are kept."""
        proof = self._proof(kept, patches)
        if proof.is_kept or len(patches) == 1:
            for patch in patches:
                self._settled[id(patch)] = self._of(patch, patches, proof, kept)
            return [*kept, *patches] if proof.is_kept else kept
        if proof.outcome == "not tried":
            return kept
        safe = [patch for patch in patches if patch.effect == "safe"]
        part = safe if 0 < len(safe) < len(patches) else patches[: len(patches) // 2]
        for some in (part, [patch for patch in patches if patch not in part]):
            self._expected += self._trials.pairs
            kept = self._settle(kept, some)
        return kept

    def _of(self, patch: Patch, together: list[Patch], proof: Proof, kept: list[Patch]) -> Proof:
        """The proof of patches that were tried together as that of one of them."""
        others = tuple(each for each in together if each is not patch)
        own = replace(proof, patch=patch, others=others)
        runs = [self._runs[_key(each)] for each in (kept, [*kept, *together])] if others else []
        if others and not is_cured(patch, runs[0][-1], runs[1][-1]):
            why = "its finding is still there, though the patches together help"
            return replace(own, outcome="helps less than predicted", reason=why)
        return own

    def _proof(self, kept: list[Patch], patches: list[Patch]) -> Proof:
        """Try patches on top of others: pairs of runs, in turn which of the two comes first."""
        savings = [predicted(patch, self._pace) for patch in patches]
        seconds = sum(each or 0.0 for each, _ in savings) or None
        blank = Proof(
            patches[0],
            "not tried",
            predicted_s=seconds,
            bound=any(bound for _, bound in savings),
            others=tuple(patches[1:]),
        )
        before = self._runs.setdefault(_key(kept), [])
        after = self._runs.setdefault(_key([*kept, *patches]), [])
        proof, count = blank, 0
        while count < self._trials.pairs or self._may_be_shown(proof, count):
            sides = [(before, kept), (after, [*kept, *patches])]
            for runs, those in sides if count % _TWICE == 0 else reversed(sides):
                if len(runs) <= count and not self._is_over():
                    self._run(those)
            if min(len(before), len(after)) <= count or self._is_cut(before[count], after[count]):
                break
            count += 1
            pairs = [*zip(before[:count], after[:count], strict=True)]
            proof = judged(blank, pairs, self._trials.rtol, before[count:])
            if proof.outcome in ("fails", "changes the results"):
                break
        return proof if count else replace(blank, reason="the time of --budget is over")

    def _may_be_shown(self, proof: Proof, count: int) -> bool:
        """Whether more pairs, at most as many again, may show a gain that these only suggest."""
        suggested = proof.times is not None and proof.times.value > 1.0
        few = count < _TWICE * self._trials.pairs
        return few and suggested and proof.outcome == "does not help"

    def _is_cut(self, *runs: Run) -> bool:
        """Whether --budget, rather than a patch, is why a run has no end."""
        return self._is_over() and any(run.status is None for run in runs)

    def _is_over(self) -> bool:
        longest = max(self._seconds, default=0.0)
        return bool(self._until) and time.monotonic() + longest > self._until

    def _run(self, patches: list[Patch]) -> Run:
        """Run the program with patches, and add it to the runs with these."""
        began = time.monotonic()
        self._expected = max(self._expected, len(self._seconds) + 1)
        limits = [max(1.0, self._until - began)] if self._until else []
        limits += [_PATIENCE_S + _PATIENCE * max(self._seconds)] if patches else []
        limit_s = min(limits, default=None)
        run = self._runner.run(patches, limit_s, lambda: self._trials.show(self._progress(began)))
        self._seconds.append(time.monotonic() - began)
        self._runs.setdefault(_key(patches), []).append(run)
        return run

    def _progress(self, began: float) -> str:
        """How far it is."""
        done, spent = len(self._seconds), time.monotonic() - began
        each = sum(self._seconds) / done if done else self._trials.whole_s
        text = f"run {done + 1} of {self._expected}"
        if not each:
            return text
        left = each * (self._expected - done - 1) + max(0.0, each - spent)
        if self._until:
            left = min(left, self._until - time.monotonic())
        return f"{text}, about {duration(max(1.0, round(left)))} left"


def _key(patches: Sequence[Patch]) -> tuple[int, ...]:
    """By which the runs with these patches are found."""
    return tuple(sorted(id(patch) for patch in patches))
