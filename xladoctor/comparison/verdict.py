"""The verdict of a comparison: in a word, in a sentence, and as an exit status."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xladoctor.comparison.interface import (
    CountChange,
    Demand,
    Difference,
    FindingChange,
    State,
    StepTime,
    Verdict,
)
from xladoctor.diagnosis.finding import NotChecked
from xladoctor.diagnosis.interface import CountName
from xladoctor.quantities import duration, first_few

REGRESSION = 1
NOT_ENOUGH = 3
_COUNTED: tuple[State, ...] = ("new", "worse", "fixed", "better", "unknown")
_MORE: dict[CountName, tuple[str, str]] = {
    "compilations_after_warmup": ("compilation", " after warm-up"),
    "host_syncs_per_step": ("host read", " a step"),
    "fallbacks_per_step": ("operator", " on the CPU a step"),
    "barriers_per_step": ("barrier", " a step"),
}


@dataclass(frozen=True, slots=True)
class Grounds:
    """The facts that a verdict is based on.

    Attributes:
        gain: what a change in compiling did to the loop, in a phrase; or empty.
        judged: whether any rule that judges by counts was evaluated in both runs.
        broke_off: how B stopped short of A's number of steps, if it did.
    """

    differences: Sequence[Difference]
    findings: Sequence[FindingChange]
    not_judged: Sequence[NotChecked]
    counts: Sequence[CountChange]
    gain: str
    step: StepTime
    judged: bool
    broke_off: str | None
    demand: Demand


def verdict(grounds: Grounds) -> Verdict:
    """The verdict: worse if a finding is new or worse (or a step slower, if that was requested).

    Only findings that are judged by counts and are at least warnings, or that fail, decide. If none
    of these changed, B is better if information is gone or a count is lower, and none the other
    way. Times do not decide, as they differ between runs of the same program.
    """
    programs = [
        difference for difference in grounds.differences if difference.forbids == "everything"
    ]
    if any(not difference.accepted for difference in programs):
        named = f"{programs[0].a} and {programs[0].b}"
        return Verdict(
            "unclear",
            f"The runs are of different programs, {named}: nothing is judged."
            " --despite script judges them anyway.",
        )
    judged = grounds.step.verdict in ("slower", "faster", "no_difference")
    step = step_text(grounds.step) if judged or not grounds.gain else ""
    parts = [grounds.gain, _more_or_less(grounds.counts), step]
    tail = "".join(f"; {part}" for part in parts if part) + "."
    if not grounds.judged and not grounds.step.fails:
        return Verdict(
            "unclear",
            "Too little evidence: no rule that depends on counts could be judged in both"
            f" runs{tail}",
        )
    numbers = {state: _number(grounds, state) for state in _COUNTED}
    changes = ", ".join(_named(state, numbers[state]) for state in numbers if numbers[state])
    if numbers["new"] or numbers["worse"] or grounds.step.fails:
        return Verdict("worse", f"B is worse: {f'{changes}{tail}' if changes else tail[2:]}")
    number = len(grounds.not_judged)
    rules = (
        f"{number} rule{'s' * (number != 1)} judged in A could not be judged in B" if number else ""
    )
    if numbers["unknown"] or rules or grounds.broke_off:
        why = ", ".join(filter(None, (changes, rules, grounds.broke_off)))
        return Verdict("unclear", f"As far as is known, nothing is worse: {why}{tail}")
    if numbers["fixed"] or numbers["better"] or _is_better(grounds):
        better = changes or _healed(grounds)
        return Verdict("better", f"B is better: {f'{better}{tail}' if better else tail[2:]}")
    all_like = all(change.state in ("same", "unknown") for change in grounds.findings)
    what = "finding" if all_like else "warning or error of a rule that depends on counts"
    return Verdict("same", f"B is like A: no {what} is new, worse or gone{tail}")


def status(outcome: Verdict, grounds: Grounds) -> int:
    """1: something fails; 3: it is unclear, or a limited time is unknown; else 0."""
    if outcome.outcome == "unclear":
        return NOT_ENOUGH
    if grounds.step.fails or any(finding.fails for finding in grounds.findings):
        return REGRESSION
    limited = grounds.demand.max_slowdown is not None
    unknown = grounds.step.verdict in ("too_few", "not_judged", "unknown")
    return NOT_ENOUGH if limited and unknown else 0


def _number(grounds: Grounds, state: State) -> int:
    least = ("warning", "error", *(["info"] if grounds.demand.fail_on == "info" else []))
    return sum(
        change.state == state and change.judged_by == "counts" and change.severity in least
        for change in grounds.findings
    )


def _is_better(grounds: Grounds) -> bool:
    """Whether information or counts got better, and none of them worse."""
    by_counts = [change for change in grounds.findings if change.judged_by == "counts"]
    ways = {change.state for change in by_counts} | {
        count.direction for count in _changed(grounds.counts)
    }
    return bool(ways & {"fixed", "better"}) and not ways & {"new", "worse"}


def _healed(grounds: Grounds) -> str:
    """The rules whose findings are fixed, or else better, as part of a sentence."""
    for state in ("fixed", "better"):
        rules = sorted(
            {
                each.rule
                for each in grounds.findings
                if each.state == state and each.judged_by == "counts"
            }
        )
        if rules:
            return f"{first_few(rules)} {'is' if len(rules) == 1 else 'are'} {state}"
    return ""


def _named(state: str, number: int) -> str:
    noun = f"finding{'s' * (number != 1)}"
    if state in ("new", "fixed"):
        return f"{number} {state} {noun}"
    if state == "unknown":
        return f"{number} {noun} unknown in one of the runs"
    return f"{number} {noun} {state}"


def _more_or_less(counts: Sequence[CountChange]) -> str:
    """The first two counts that changed; those that got worse come first."""
    changed = sorted(_changed(counts), key=lambda count: count.direction == "better")
    return ", ".join(_difference(count) for count in changed[:2])


def _changed(counts: Sequence[CountChange]) -> list[CountChange]:
    return [
        count for count in counts if count.direction in ("worse", "better") and count.name in _MORE
    ]


def _difference(count: CountChange) -> str:
    difference = count.change or 0.0
    noun, unit = _MORE[count.name]
    amount = f"{abs(difference):.3g}"
    return f"{amount} {'more' if difference > 0 else 'fewer'} {noun}{'s' * (amount != '1')}{unit}"


def step_text(step: StepTime) -> str:
    """Such as ``the step takes 12.1 ms → 14 ms, +15.7% (95% interval +12.0 … +19.1%)``."""
    if step.a_ms is None or step.b_ms is None:
        return ""
    text = f"the step takes {duration(step.a_ms / 1e3)} → {duration(step.b_ms / 1e3)}"
    if step.verdict in ("slower", "faster") and step.interval:
        return f"{text}, {change_text(step)} in one run of each"
    return f"{text} ({step.statement})"


def change_text(step: StepTime) -> str:
    """Such as ``+15.7% (95% interval +12.0 … +19.1%)``; empty without an interval."""
    if step.interval is None:
        return ""
    change, low, high = (
        signed(v) for v in (step.interval.change, step.interval.low, step.interval.high)
    )
    return f"{change}% (95% interval {low} … {high}%)"


def signed(change: float) -> str:
    """A relative change in per cent, with its sign, to three digits."""
    percent = change * 100
    return f"{percent:+.0f}" if abs(percent) >= 100 else f"{percent:+.1f}"
