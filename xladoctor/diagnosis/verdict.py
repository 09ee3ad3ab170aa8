"""The verdict: what limits the loop, and what fixing its findings would bring, in a sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xladoctor.diagnosis.interface import Finding, SavingBasis, TimeSpent, Verdict
from xladoctor.diagnosis.rule import BoundBy, Rule
from xladoctor.quantities import duration, percent

_PARTS: dict[str, tuple[BoundBy, str]] = {
    "compile_s": ("compilation", "compiling graphs"),
    "blocked_s": ("host_sync", "waiting for values read from the device"),
    "input_s": ("input", "waiting for input"),
    "tracing_s": ("tracing", "in Python between barriers"),
    "device_s": ("device", "waiting for the device"),
}
#: What can limit a step, in words.
LIMITS = {
    "compilation": "compiling", "host_sync": "synchronization", "input": "input",
    "upload": "uploads", "checkpoint": "saving checkpoints", "dispatch": "launching graphs",
    "tracing": "tracing on the host", "host": "other Python on the host", "device": "the device",
}  # fmt: skip
_UNKNOWN = "No step log in this evidence, so what limits the program is not known"
_MANY = 10
_MOST = 1000.0
_NO_GAIN = 1.02


def verdict(
    time: TimeSpent,
    findings: Sequence[Finding],
    pack: Mapping[str, Rule],
    judged: bool = True,
    limit: str | None = None,
    busy: float | None = None,
) -> Verdict:
    """What limits the loop, in a sentence that a newcomer understands.

    Args:
        pack: the rules of the findings, by id.
        judged: whether any rule could be evaluated; if none could, nothing is known to be right.
        limit: what a step is limited by once all findings are fixed.
        busy: share of the steady steps in which a device worked, if that is their limit.
    """
    serious = [finding for finding in findings if finding.severity != "info"]
    speedup, basis = _speedup(time, serious)
    bound_by, text = _by_rule(serious, pack) or _by_time(time, findings, pack, busy)
    if serious:
        plural = "s" if len(serious) > 1 else ""
        todo = f"{len(serious)} finding{plural} to fix{_gain(serious, speedup, basis, limit)}"
    else:
        todo = "nothing to fix" if judged else "no rule could be evaluated"
    return Verdict(bound_by, f"{text}; {todo}.", speedup, basis, limit if speedup else None)


def _by_rule(serious: Sequence[Finding], pack: Mapping[str, Rule]) -> tuple[BoundBy, str] | None:
    """What the rule of the first finding that knows it says, whatever the times are."""
    verdicts = (pack[finding.rule].verdict for finding in serious)
    return next(((known.bound_by, known.text) for known in verdicts if known), None)


def _by_time(
    time: TimeSpent, findings: Sequence[Finding], pack: Mapping[str, Rule], busy: float | None
) -> tuple[BoundBy, str]:
    """The largest part of the loop's time, or the device where the host runs ahead of it."""
    if time.parts is None or not time.loop_s:
        return "unknown", _UNKNOWN
    spent = _spent(time, [finding for finding in findings if pack[finding.rule].waits])
    largest = max(spent, key=lambda part: spent[part])
    bound_by, doing = _PARTS[largest]
    warmup = time.warmup_compile_s
    apart = f" (after {duration(warmup)} of compiling in warm-up)" if warmup else ""
    share, loop = percent(spent[largest] / time.steady_s), duration(time.steady_s)
    text = f"{share} of the loop's {loop}{apart} was spent {doing}"
    if busy is None or bound_by == "device":
        return bound_by, text
    return "device", f"The device was busy {percent(busy)} of the time; meanwhile {text}"


def _spent(time: TimeSpent, waits: Sequence[Finding]) -> dict[str, float]:
    """Seconds by part, without the compiling of warm-up.

    Time blocked in reads belongs to the device, except for what fixing the reads gives back.
    """
    spent = {part: float(getattr(time.parts, part)) for part in _PARTS}
    spent["compile_s"] -= time.warmup_compile_s or 0.0
    given = [wait.saving.remaining_s for wait in waits]
    if given and None not in given:
        reading = min(spent["blocked_s"], sum(seconds or 0.0 for seconds in given))
        spent["device_s"] += spent["blocked_s"] - reading
        spent["blocked_s"] = reading
    return spent


def _speedup(time: TimeSpent, findings: Sequence[Finding]) -> tuple[float | None, SavingBasis]:
    """How many times as fast the loop is without its warm-up's compiling, if all are fixed."""
    savings = [finding.saving for finding in findings if finding.saving.seconds is not None]
    if not time.loop_s or not savings:
        return None, "none"
    given = [s.remaining_s for s in savings if s.remaining_s is not None]
    seconds = sum(given) if given else sum(s.seconds or 0.0 for s in savings)
    of_warmup = any(claim.do == "constant_cost" for s in savings for claim in s.assumes)
    whole = time.loop_s if of_warmup else time.steady_s
    left = max(whole - seconds, whole / _MOST)
    return round(whole / left, 3), "estimate" if given else "bound"


def _gain(
    serious: Sequence[Finding], speedup: float | None, basis: SavingBasis, limit: str | None
) -> str:
    """What fixing all of them brings; it may be more where what some of them bring is unknown."""
    more = any(finding.saving.basis == "none" for finding in serious)
    if speedup is None or basis == "bound" or (more and speedup < _NO_GAIN):
        return ""
    then = f", then limited by {LIMITS[limit]}" if limit else ""
    if speedup < _NO_GAIN:
        return f", which would save next to nothing{then}"
    return f" for a loop {_times(speedup)} as fast{' or more' if more else ''}{then}"


def _times(factor: float) -> str:
    return f"{factor:.0f} times" if factor >= _MANY else f"{float(f'{factor:.3g}'):g} times"
