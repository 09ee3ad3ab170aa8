"""Judges a patch by pairs of runs: one without it, one with it."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import replace

from xladoctor.fixes.interface import Patch
from xladoctor.fixes.proof.interface import Interval, Proof, Run
from xladoctor.fixes.proof.output import leaves_out
from xladoctor.fixes.proof.results import PRINTED, results

#: Student's t at 97.5 % by degrees of freedom, from 1 on.
_T = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)
_NORMAL = 1.96
_FEW = 4  # names of results in a sentence
_PART = 0.5  # of the predicted saving, from which on a patch holds
_WIDELY = 2  # times as fast in each run, where a few runs have no interval to speak of
_SLOWER = 0.95  # times as fast: what is slower in a few runs by no more than that may be chance
#: Counts of what keeps the device waiting.
_COSTLY = ("compilations_after_warmup", "host_syncs_per_step", "fallbacks_per_step")
#: Counts that depend on the machine.
_UNEVEN = ("step_ms", "peak_memory", "live_growth_per_step")


def judged(
    blank: Proof, pairs: Sequence[tuple[Run, Run]], rtol: float, more: Sequence[Run] = ()
) -> Proof:
    """What pairs of runs show.

    Args:
        blank: the proof without an outcome.
        rtol: relative tolerance of the numbers in the program's results.
        more: further runs without a patch.
    """
    before, after = pairs[-1]
    if after.status != before.status or after.loop_s is None:
        lines = tuple(after.fault.splitlines())
        return replace(blank, outcome="fails", reason=ending(after), differs=lines)
    whole = [(one.loop_s, two.loop_s) for one, two in pairs if one.loop_s and two.loop_s]
    steady = [(one.steady_s, two.steady_s) for one, two in pairs if one.steady_s and two.steady_s]
    if not whole:
        return replace(
            blank, outcome="not comparable", reason="runs without it end in several ways"
        )
    seconds, faster = whole, times(whole)
    if len(steady) == len(whole) and _is_plainer(times(steady), faster):
        seconds, faster = steady, times(steady)
    proof = replace(
        blank,
        before_s=statistics.median(one for one, _ in seconds),
        after_s=statistics.median(two for _, two in seconds),
        times=faster,
        after_warmup=seconds is steady,
        counts=_changed_counts(before, after),
        new=tuple(sorted(after.findings - before.findings)),
    )
    proof = _by_results(proof, pairs, rtol, more)
    if proof.outcome == "changes the results":
        return proof
    is_gone = all(is_cured(patch, before, after) for patch in (proof.patch, *proof.others))
    if not proof.predicted_s and is_gone and faster.high >= 1.0:
        return _if_comparable(replace(proof, outcome="verified"))
    widely = all(one > _WIDELY * max(two for _, two in seconds) for one, _ in seconds)
    return _if_comparable(_by_times(proof, faster, widely=widely, is_gone=is_gone))


def is_cured(patch: Patch, before: Run, after: Run) -> bool:
    """Whether the patched program has fewer findings of the patch's rule."""
    rule = patch.finding.rule
    return after.rules.count(rule) < before.rules.count(rule)


def _if_comparable(proof: Proof) -> Proof:
    """The proof, unless there was no result to compare."""
    if not proof.is_kept or proof.same or proof.differs:
        return proof
    why = "it leaves no result that is the same in each run: set a seed, or have it write results"
    return replace(proof, outcome="not comparable", reason=why, note="")


def _is_plainer(steady: Interval, whole: Interval) -> bool:
    """Whether the time after warm-up shows a gain that the compiling of warm-up, which differs from
    run to run, hides in the whole loop; and the whole loop does not speak against it.
    """
    return whole.low <= 1.0 < steady.low and whole.high > 1.0


def _by_results(
    proof: Proof, pairs: Sequence[tuple[Run, Run]], rtol: float, more: Sequence[Run]
) -> Proof:
    """The proof with what the results show: other results are its outcome."""
    before = [*(run for run, _ in pairs), *more]
    found = [results(before, after, rtol) for _, after in pairs]
    last = next((each for each in found if each.other), found[-1])
    proof = replace(proof, same=last.same)
    if last.varies:
        proof = _noted(proof, f"what differs in each run was not compared: {_few(last.varies)}")
    if not last.other:
        return proof
    behaviours = [patch.change.behaviour.rstrip(".") for patch in (proof.patch, *proof.others)]
    if not all(behaviours):
        why = f"the patch changes the results: {_few(last.other)}"
        return replace(proof, outcome="changes the results", reason=why, differs=last.differs)
    behaviour = "; ".join(dict.fromkeys(behaviours))
    lines = leaves_out([run.printed for run in before], pairs[-1][1].printed, rtol)
    if lines and last.other == (PRINTED,):
        return _noted(proof, f"it prints the same without {lines} lines: {behaviour}")
    said = f"the results differ, as expected: {behaviour}"
    return _noted(replace(proof, differs=last.differs), said)


def _few(names: Sequence[str]) -> str:
    return ", ".join(names[:_FEW]) + ", …" * (len(names) > _FEW)


def _by_times(proof: Proof, faster: Interval, *, widely: bool, is_gone: bool) -> Proof:
    if faster.low <= 1.0 and not widely:
        if _is_plausible(proof, faster) and (is_gone or _has_fewer(proof)):
            shown = "finding gone" if is_gone else "counts lower"
            said = f"{shown}; speed-up not proven, runs vary more"
            return replace(_noted(proof, said), outcome="verified")
        known = "" if proof.counts else "; nor do the counts differ"
        why = f"the loop is {faster.value:.2f} times as fast, which may be chance{known}"
        if faster.high < 1.0:
            why = f"the loop takes {1 / faster.value:.3g} times as long with it"
        return replace(proof, outcome="does not help", reason=why)
    saved = (proof.before_s or 0.0) - (proof.after_s or 0.0)
    if proof.predicted_s and not proof.bound and saved < _PART * proof.predicted_s:
        why = f"it saves {saved:.3g} s where {proof.predicted_s:.3g} s were predicted"
        return replace(proof, outcome="helps less than predicted", reason=why)
    return replace(proof, outcome="verified")


def _has_fewer(proof: Proof) -> bool:
    """Whether what keeps the device waiting happens less often."""
    changes = [now - was for name, was, now in proof.counts if name in _COSTLY]
    return bool(changes) and max(changes) <= 0


def _is_plausible(proof: Proof, faster: Interval) -> bool:
    """Whether the times do not speak against the saving that was predicted: it is small beside the
    spread of the runs.
    """
    if not proof.predicted_s or faster.value < _SLOWER:
        return False
    rest = (proof.before_s or 0.0) - proof.predicted_s
    return rest > 0 and (proof.before_s or 0.0) / rest <= faster.high


def _noted(proof: Proof, sentence: str) -> Proof:
    return replace(proof, note="; ".join(filter(None, (proof.note, sentence))))


def _changed_counts(before: Run, after: Run) -> tuple[tuple[str, float, float], ...]:
    now = dict(after.counts)
    return tuple(
        (name, was, now[name])
        for name, was in before.counts
        if name in now and name not in _UNEVEN and now[name] != was
    )


def predicted(patch: Patch, pace: float = 1.0) -> tuple[float | None, bool]:
    """The seconds of the run that the report says a patch saves, and whether that is "at most".

    Args:
        pace: how long the loop takes now, as a share of what it took when it was recorded, perhaps
            on a busier machine.
    """
    saving = patch.finding.saving
    seconds = None if saving.seconds is None else saving.seconds * pace
    return seconds, saving.basis == "bound"


def ending(run: Run) -> str:
    """How a run ended, as a clause."""
    if run.status is None:
        return "it took too long"
    return f"it ended with status {run.status}" if run.status else "it left no report"


def times(pairs: Sequence[tuple[float, float]]) -> Interval:
    """The geometric mean of before / after over pairs of seconds, with its 95 % interval.

    Ratios of times are nearer to a normal distribution by their logarithms. Of one pair nothing is
    known of the spread: the interval is then from 0 to infinity.
    """
    logs = [math.log(before / after) for before, after in pairs]
    middle = statistics.fmean(logs)
    if len(logs) < 2:
        return Interval(math.exp(middle), 0.0, math.inf)
    degrees = len(logs) - 1
    t = _T[degrees - 1] if degrees <= len(_T) else _NORMAL
    half = t * statistics.stdev(logs) / math.sqrt(len(logs))
    return Interval(math.exp(middle), math.exp(middle - half), math.exp(middle + half))
