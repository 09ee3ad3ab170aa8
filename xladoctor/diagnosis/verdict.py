"""The verdict: what limits the loop, and what fixing its findings would bring, in a sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from xladoctor.diagnosis.interface import (
    Finding,
    Saving,
    SavingBasis,
    TimeSpent,
    Verdict,
)
from xladoctor.diagnosis.rule import BoundBy, Rule
from xladoctor.quantities import duration, percent

#: What the loop can be at: what that is bound by, in words, and the parts of the time that it is.
_PARTS: dict[str, tuple[BoundBy, str]] = {
    "warmup_compile_s": ("compilation", "compiling graphs in warm-up"),
    "compile_s": ("compilation", "compiling graphs"),
    "read_s": ("host_sync", "waiting for values read from the device"),
    "input_s": ("input", "waiting for input"),
    "tracing_s": ("tracing", "recording operations in Python (tracing)"),
    "python_s": ("tracing", "other Python"),
    "dispatch_s": ("dispatch", "launching graphs (dispatch)"),
    "device_s": ("device", "waiting for the device"),
    "unrecorded_s": ("unknown", "nothing that is recorded"),
}
_AVOIDABLE = {"compilation", "host_sync", "input", "tracing", "dispatch"}
_MUCH = 0.2  # of the whole: more of what can be avoided is not nothing
_LITTLE = 0.02
_IDLE = 0.5  # of the waits for the device: with more, the host does not wait for its work
#: What can limit a step, in words.
LIMITS = {
    "compilation": "compiling", "host_sync": "reads from the device", "input": "input",
    "upload": "uploads", "checkpoint": "saving checkpoints", "dispatch": "dispatch",
    "tracing": "tracing on the host", "host": "other Python on the host", "device": "the device",
}  # fmt: skip
_UNKNOWN = "This evidence has no times of steps, so what limits the program is not known"
_REPORTED = "{}, but no times of steps"
_NOTHING, _NO_CURE = "nothing to fix", "no rule knows a cure"
_NONE_JUDGED = "no rule could be evaluated"
_WITHIN = "no launch repeats, and what goes on within one cannot be seen from outside"
_MANY = 10
_HUNDREDS = 100  # times as fast, beyond which what is left is too little to tell how many
_MOST = 1000.0
_NO_GAIN = 1.02
_NO_GAIN_OF = ", which would save next to nothing"


def verdict(  # noqa: PLR0913  # what a sentence on the whole run rests on
    time: TimeSpent,
    findings: Sequence[Finding],
    pack: Mapping[str, Rule],
    judged: tuple[int, int] | None = None,
    limit: str | None = None,
    busy: float | None = None,
    so_far: str = "",
    unjudged: str = "",
    dispatch: str | None = None,
    *,
    off: int = 0,
    once: bool = False,
    steps: int | None = None,
    reported: str = "",
) -> Verdict:
    """What limits the loop, in a sentence that a newcomer understands.

    Args:
        pack: the rules of the findings, by id.
        judged: how many rules could be evaluated, of how many; None where that says nothing. If
            none could, nothing is known to be right.
        limit: what a step is limited by once all findings are fixed.
        busy: share of the steady steps in which a device worked, if that is their limit.
        dispatch: what the host does that launches, where it launches no graphs.
        so_far: how far nothing was found, where that is not the whole program; see :mod:`.reach`.
        unjudged: what to say instead of that, where rules that matter could not be evaluated.
        off: how many rules are switched off, so that their defects would not be seen.
        once: no launch repeats, so that all work of the device lies within single ones.
        steps: of the loop, by which the average step becomes the time of all of them.
        reported: what evidence without steps has in their place; see :func:`facts.reported`.
    """
    serious = [finding for finding in findings if finding.severity != "info"]
    speedup, basis = _speedup(time, serious, steps)
    bound_by, text, share = _by_time(time, findings, pack, None if once else busy, dispatch)
    if bound_by == "unknown" and reported:
        text = _REPORTED.format(reported)
    within = once and bound_by in ("device", "host_sync") and share > _MUCH
    if ruled := _by_rule(serious, pack):
        bound_by, text = ruled
    worth = [finding for finding in serious if not finding.saving.is_next_to_nothing]
    if worth:
        plural = "s" if len(worth) > 1 else ""
        todo = f"{len(worth)} finding{plural} to fix{_gain(serious, speedup, basis, limit)}"
    elif serious:
        plural = "s" if len(serious) > 1 else ""
        todo = f"{len(serious)} finding{plural}{_NO_GAIN_OF}{_limited(limit)}"
    elif within:
        bound_by, todo = "device", _WITHIN
    else:
        avoidable = bound_by in _AVOIDABLE or (bound_by == "device" and _idle(time) > _IDLE)
        lossy = avoidable and share > _MUCH
        todo = _nothing(findings, judged is None or judged[0] > 0, lossy)
        if unjudged and todo in (_NOTHING, _NO_CURE, _NONE_JUDGED):
            todo = unjudged
        elif todo == _NOTHING:
            todo = _as_far_as_known(findings, judged) if bound_by == "unknown" else todo + so_far
        if off:
            todo += f", with {off} rule{'s' * (off > 1)} switched off"
    return Verdict(bound_by, f"{text}; {todo}.", speedup, basis, limit if speedup else None)


def _nothing(findings: Sequence[Finding], judged: bool, lossy: bool) -> str:
    """What to say where no finding has to be fixed: that nothing is lost only if that is known."""
    if not judged:
        return _NONE_JUDGED
    savings = [finding.saving for finding in findings]
    best = max(savings, key=lambda saving: saving.share or 0.0, default=None)
    if best is not None and (best.share or 0.0) >= _LITTLE:
        most = "at most " if best.basis == "bound" else ""
        return f"nothing has to be fixed, but a fix below saves {most}{percent(best.share or 0.0)}"
    return _NO_CURE if lossy else _NOTHING


def _as_far_as_known(findings: Sequence[Finding], judged: tuple[int, int] | None) -> str:
    """What to say where no finding has to be fixed as far as is known, without times."""
    costly = sum(bool(finding.cost.seconds) and finding.cost.share is None for finding in findings)
    if costly:
        return f"{costly} finding{'s' * (costly > 1)} below may matter"
    if judged is None:
        return f"{_NOTHING} in what it shows"
    return f"{judged[0]} of {judged[1]} rules could be evaluated and found nothing"


def _by_rule(serious: Sequence[Finding], pack: Mapping[str, Rule]) -> tuple[BoundBy, str] | None:
    """What the rule of the first finding that knows it says, whatever the times are."""
    verdicts = (pack[finding.rule].verdict for finding in serious)
    return next(((known.bound_by, known.text) for known in verdicts if known), None)


def _by_time(
    time: TimeSpent,
    findings: Sequence[Finding],
    pack: Mapping[str, Rule],
    busy: float | None,
    dispatch: str | None,
) -> tuple[BoundBy, str, float]:
    """The largest part of the time, in words, and its share of the whole."""
    if time.parts is None or not time.whole_s:
        return "unknown", _UNKNOWN, 0.0
    spent = _spent(time, [finding for finding in findings if pack[finding.rule].waits])
    largest = max(spent, key=lambda part: spent[part])
    bound_by, doing = _PARTS[largest]
    if bound_by == "dispatch" and dispatch:
        doing = f"{dispatch} (dispatch)"
    if largest == "python_s" and not time.parts.tracing_s:
        doing = "Python"  # nothing tells recording operations apart
    base = f"{time.base}'s {duration(time.whole_s)}"
    if bound_by == "device" and (idle := _idle(time)) > _IDLE:
        doing += f", which was idle for {percent(idle)} of that"
    share = spent[largest] / time.whole_s
    text = f"{percent(share)} of the {base} went to {doing}"
    if largest == "unrecorded_s":
        text = f"For {percent(share)} of the {base} it is not recorded what the host did"
    if time.parts.startup_s >= _MUCH * time.whole_s:
        text += f", {percent(time.parts.startup_s / time.whole_s)} to start-up"
    if busy is None or bound_by in ("device", "compilation"):
        return bound_by, text, share
    return "device", f"The device was busy {percent(busy)} of the steady steps; {text}", share


def _idle(time: TimeSpent) -> float:
    """The share of the waits for the device in which it had nothing to do; 0 if not known."""
    waited = time.parts.read_s + time.parts.barrier_s if time.parts else 0.0
    return 1.0 - time.device_s / waited if waited and time.device_s is not None else 0.0


def _spent(time: TimeSpent, waits: Sequence[Finding]) -> dict[str, float]:
    """Seconds by part. Time blocked in reads belongs to the device, except for what fixing the
    reads gives back.
    """
    parts = time.parts
    spent = {part: float(getattr(parts, part, 0.0)) for part in _PARTS}
    spent["device_s"] = parts.barrier_s if parts else 0.0
    given = [wait.saving.remaining_s for wait in waits]
    if given and None not in given:
        reading = min(spent["read_s"], sum(seconds or 0.0 for seconds in given))
    else:
        reading = max(0.0, spent["read_s"] - (time.device_s or 0.0))
    spent["device_s"] += spent["read_s"] - reading
    spent["read_s"] = reading
    return spent


def _speedup(
    time: TimeSpent, findings: Sequence[Finding], steps: int | None
) -> tuple[float | None, SavingBasis]:
    """How many times as fast the loop is without its warm-up's compiling, if all are fixed: its
    average step, where the findings tell of that.
    """
    savings = [finding.saving for finding in findings if finding.saving.seconds is not None]
    if not time.loop_s or not savings:
        return None, "none"
    given = [s for s in savings if s.remaining_s is not None]
    if not given and len(savings) == 1 and savings[0].basis == "estimate":
        given = [replace(savings[0], remaining_s=savings[0].seconds)]
    seconds = sum((s.remaining_s if given else s.seconds) or 0.0 for s in given or savings)
    whole = time.loop_s if any(_of_warmup(s) for s in savings) else time.steady_s
    if whole == time.steady_s and steps and given and all(s.now_ms for s in given):
        whole = max(s.now_ms or 0.0 for s in given) / 1e3 * steps
        seconds = sum((s.remaining_s or 0.0) * _recurring(s, steps) for s in given)
    left = max(whole - seconds, whole / _MOST)
    return round(whole / left, 3), "estimate" if given else "bound"


def _recurring(saving: Saving, steps: int) -> float:
    """The part of what it saves that lies in the average step, 0 to 1."""
    if not saving.seconds or saving.now_ms is None or saving.after_ms is None:
        return 1.0
    return min(1.0, (saving.now_ms - saving.after_ms) / 1e3 * steps / saving.seconds)


def _of_warmup(saving: Saving) -> bool:
    """Whether it saves compiling in warm-up, and so more than what lies after that."""
    if any(claim.do == "constant_cost" for claim in saving.assumes):
        return True
    return bool(saving.seconds) and saving.now_ms is not None and saving.after_ms == saving.now_ms


def _gain(
    serious: Sequence[Finding], speedup: float | None, basis: SavingBasis, limit: str | None
) -> str:
    """What fixing all of them brings; it may be more where some have no estimate."""
    savings = [finding.saving for finding in serious]
    more = any(s.basis in ("none", "bound") for s in savings) or (
        len(savings) > 1 and any(s.remaining_s is None for s in savings)
    )
    if speedup is None or basis == "bound" or (more and speedup < _NO_GAIN):
        return ""
    if speedup < _NO_GAIN:
        return f"{_NO_GAIN_OF}{_limited(limit)}"
    then = f", then limited by {LIMITS[limit]}" if limit else ""
    whole = any(_of_warmup(finding.saving) for finding in serious)
    when = "" if whole else " after warm-up"
    return f" for a loop {_times(speedup)} as fast{' or more' if more else ''}{when}{then}"


def _limited(limit: str | None) -> str:
    """Why a fix saves nothing."""
    return f": steps are limited by {LIMITS[limit]}" if limit else ""


def _times(factor: float) -> str:
    if factor > _HUNDREDS:
        return f"over {_HUNDREDS} times"
    return f"{factor:.0f} times" if factor >= _MANY else f"{float(f'{factor:.3g}'):g} times"
