"""Writes the verdict: what limits the loop, and what fixing its findings would gain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from xladoctor.diagnosis.basis import LITTLE, Basis, worth_fixing
from xladoctor.diagnosis.finding import Finding, Saving, SavingBasis
from xladoctor.diagnosis.interface import TimeSpent, Verdict
from xladoctor.diagnosis.rule import BoundBy, Rule
from xladoctor.diagnosis.speedup import saved_s, speedup_of, step_times
from xladoctor.quantities import duration, percent

#: Parts of the time -> what the loop is bound by, and what it does then, in words.
_PARTS: dict[str, tuple[BoundBy, str]] = {
    "warmup_compile_s": ("compilation", "compiling graphs in warm-up"),
    "compile_s": ("compilation", "compiling graphs"),
    "read_s": ("host_sync", "waiting for values read from the device"),
    "input_s": ("input", "waiting for input"),
    "upload_s": ("upload", "sending data to the device"),
    "save_s": ("checkpoint", "saving checkpoints"),
    "tracing_s": ("tracing", "recording operations in Python (tracing)"),
    "python_s": ("tracing", "other Python"),
    "collective_s": ("collectives", "collectives, waiting for other processes"),
    "dispatch_s": ("dispatch", "launching graphs (dispatch)"),
    "device_s": ("device", "waiting for the device"),
    "unrecorded_s": ("unknown", "unrecorded work"),
}
_AVOIDABLE = {"compilation", "host_sync", "input", "upload", "checkpoint", "tracing", "dispatch"}
_MUCH = 0.2  # share of the loop; more avoidable time is not "nothing to fix"
_MOSTLY = 0.5
_NEARLY_ALL = 0.9  # of the loop, as a bound, says nothing
_IDLE = 0.5  # share of the waits in which the device is idle, above which they are avoidable
#: What can limit a step, in words.
LIMITS = {
    "compilation": "compiling",
    "host_sync": "reads from the device",
    "input": "input",
    "upload": "uploads",
    "checkpoint": "saving checkpoints",
    "dispatch": "dispatch",
    "tracing": "tracing on the host",
    "host": "other Python on the host",
    "device": "the device",
    "collectives": "waiting for other processes in collectives",
}
_UNKNOWN = "This evidence has no times of steps, so it is not known what limits the program"
_REPORTED = "{}, but no times of steps"
NOTHING = "nothing to fix"
_NO_FIX = "no rule has a fix for it"
_NONE_JUDGED = "no rule could be evaluated"
_WITHIN = "nothing runs twice, and the evidence does not show what happens inside a run"
_WARMING_UP = "; let it run longer"
_NO_GAIN = 1.02
_ALIKE = 0.05  # times that differ by less are as good as equal
_NO_GAIN_OF = ", which would save next to nothing"


@dataclass(frozen=True, slots=True)
class _Limit:
    """What limits the program: in words, and as a share of the whole."""

    bound_by: BoundBy
    text: str
    share: float


def verdict(basis: Basis) -> Verdict:
    """The verdict: what limits the loop, in a sentence that a newcomer understands."""
    speedup, kind = (None, "none") if basis.warming_up else speedup_of(basis)
    limit = _by_time(basis)
    if limit.bound_by == "unknown" and basis.reported:
        limit = replace(limit, text=_REPORTED.format(basis.reported))
    within = (
        basis.once and limit.bound_by in ("device", "host_sync", "upload") and limit.share > _MUCH
    )
    if ruled := _by_rule(basis.to_fix, basis.pack):
        limit = ruled
    if basis.to_fix:
        todo = _to_fix(basis, speedup, kind)
    elif within:
        limit, todo = replace(limit, bound_by="device"), _WITHIN
    else:
        limit, todo = _nothing(basis, limit)
    first = "".join(f"{text[0].upper()}{text[1:]}. " for text in basis.first)
    text = f"{first}{limit.text}; {todo}."
    return Verdict(limit.bound_by, text, speedup, kind, basis.limit if speedup else None)


def _to_fix(basis: Basis, speedup: float | None, kind: SavingBasis) -> str:
    """A sentence on how many findings to fix and the gain, and on what may save more."""
    worth = worth_fixing(basis.to_fix)
    if worth and basis.warming_up:
        todo = f"{_counted(worth)} to fix{_WARMING_UP}"
    elif worth:
        gain = _gain(basis, speedup, kind)
        if over := _once(worth):
            todo = f"fix {_counted(worth)} to save {over}"
        elif gain and (speedup or 0.0) >= _NO_GAIN:
            todo = f"fix {_counted(worth)}{gain}"
        else:
            todo = f"{_counted(worth)} to fix{gain or _most(basis, worth)}"
        if not gain:
            speedup = None
    else:
        todo = f"{_counted(basis.to_fix)}{_NO_GAIN_OF}{_limited(basis.limit)}"
    return todo + _more(basis, speedup)


def _once(worth: Sequence[Finding]) -> str:
    """What the fixes save of this run, if a longer one loses no more; else empty."""
    savings = [finding.saving for finding in worth]
    if any(saving.next_1000_s != 0.0 or saving.seconds is None for saving in savings):
        return ""
    exact = all(saving.basis == "estimate" for saving in savings)
    seconds = sum((s.seconds if s.remaining_s is None else s.remaining_s) or 0.0 for s in savings)
    most = "" if exact else "at most "
    return f"{most}{duration(seconds)} of this run; a longer run loses no more"


def _more(basis: Basis, speedup: float | None) -> str:
    """A sentence on the finding that may save most, if the gain does not include it."""
    if not basis.of_this_run:
        return ""
    best = max(basis.of_this_run, key=lambda finding: finding.saving.seconds or 0.0)
    share, info = basis.share_of_loop(best.saving), best.severity == "info"
    included = not info and (speedup is None or share <= 1.0 - 1.0 / speedup)
    if included or share < LITTLE or not (info or best.saving.basis == "bound"):
        return ""
    as_what = ", for information," if info else ""
    return f"; {best.rule}{as_what} may save more: {_of_loop(best.saving, share)}"


def _counted(findings: Sequence[Finding]) -> str:
    return f"{len(findings)} finding{'s' * (len(findings) != 1)}"


def _of_loop(saving: Saving, share: float) -> str:
    if saving.basis != "bound":
        return f"{percent(share)} of the loop"
    if share >= _NEARLY_ALL and saving.seconds is not None:
        return f"at most {duration(saving.seconds)}"
    return f"at most {percent(share)} of the loop"


def _nothing(basis: Basis, limit: _Limit) -> tuple[_Limit, str]:
    """The text if there is nothing to fix; it says that nothing is lost only if that is known.

    Losses are judged by the steady loop: start-up is most of a short run, but not of a long one.
    """
    savings = [finding.saving for finding in basis.of_this_run]
    best = max(savings, key=basis.share_of_loop, default=None)
    saved = basis.share_of_loop(best) if best else 0.0
    lost = _uncured(basis, limit)
    if basis.judged is not None and not basis.judged[0]:
        todo = _NONE_JUDGED
    elif lost and lost.share > saved:
        limit = lost
        todo = _spared_later(basis, lost) or "; ".join(
            filter(None, (_NO_FIX * (saved < LITTLE), _hottest(basis, lost)))
        )
        if best and saved >= LITTLE:
            todo += f"{'; ' * bool(todo)}{_optional(best, saved)}"
    elif best and saved >= LITTLE:
        todo = _optional(best, saved)
    else:
        todo = NOTHING
    if basis.unjudged and saved < LITTLE:
        todo = basis.unjudged
    elif todo == NOTHING:
        todo = _as_far_as_known(basis) if limit.bound_by == "unknown" else todo + basis.so_far
    if basis.off:
        todo += f", with {basis.off} rule{'s' * (basis.off > 1)} switched off"
    return limit, todo


def _optional(best: Saving, share: float) -> str:
    return f"an optional fix saves {_of_loop(best, share)}"


def _as_far_as_known(basis: Basis) -> str:
    """The text if there is nothing to fix as far as is known, without times."""
    findings, judged = basis.findings, basis.judged
    costly = sum(bool(finding.cost.seconds) and finding.cost.share is None for finding in findings)
    if costly:
        return f"{costly} finding{'s' * (costly > 1)} below may matter"
    if findings:
        return f"{_counted(findings)} below, for information"
    if judged is None:
        return f"{NOTHING} in what it shows"
    return f"{judged[0]} of {judged[1]} rules could be evaluated and found nothing"


def _uncured(basis: Basis, limit: _Limit) -> _Limit | None:
    """Avoidable time that is a large share of the whole, or else of the loop after warm-up."""
    time = basis.time
    if _avoidable(limit.bound_by, time) and limit.share > _MUCH:
        return limit
    if time.parts is None or not basis.is_steady or basis.busy is not None or basis.without_steps:
        return None
    spent = _spent(basis)
    del spent["warmup_compile_s"]
    if time.explained is not None:  # time that findings explain has a fix
        left = {f"{row.part}_s": row.seconds for row in time.unexplained}
        spent |= {part: left.get(part, 0.0) for part in spent if part != "device_s"}
    largest = max(spent, key=lambda part: spent[part])
    bound_by, doing = _doing(largest, basis)
    share = spent[largest] / time.steady_s
    if not _avoidable(bound_by, time) or share <= _MUCH:
        return None
    whole = f"{percent(share)} of the loop's {duration(time.steady_s)} after warm-up"
    return _Limit(bound_by, f"{whole} went to {doing}", share)


def _avoidable(bound_by: BoundBy, time: TimeSpent) -> bool:
    return bound_by in _AVOIDABLE or (bound_by == "device" and _idle(time) > _IDLE)


def _spared_later(basis: Basis, lost: _Limit) -> str:
    """How later runs can avoid compiling that this one needs; empty if they cannot."""
    if lost.bound_by != "compilation":
        return ""
    rules = (each.rule for each in basis.findings if basis.pack[each.rule].spares_later_runs)
    return next((f"later runs can avoid this ({rule})" for rule in rules), "")


def _hottest(basis: Basis, lost: _Limit) -> str:
    """The line that takes most of the time that no rule explains, and its share of that part."""
    rows = (row for row in basis.time.unexplained if row.lines)
    of_part = [row for row in rows if _PARTS.get(f"{row.part}_s", ("",))[0] == lost.bound_by]
    if not of_part:
        return ""
    line = of_part[0].lines[0]
    part_s = getattr(basis.time.parts, f"{of_part[0].part}_s", 0.0) or of_part[0].seconds
    share = min(1.0, line.seconds / part_s)
    return f"{'most' if share > _MOSTLY else percent(share)} of it is at {line.file}:{line.line}"


def _by_rule(to_fix: Sequence[Finding], pack: Mapping[str, Rule]) -> _Limit | None:
    """The limit that the first finding's rule with a verdict states, whatever the times are."""
    verdicts = (pack[finding.rule].verdict for finding in to_fix)
    return next((_Limit(said.bound_by, said.text, 1.0) for said in verdicts if said), None)


def _by_time(basis: Basis) -> _Limit:
    """The largest part of the time, in words, and its share of the whole."""
    time = basis.time
    if time.parts is None or not time.whole_s:
        return _Limit("unknown", _UNKNOWN, 0.0)
    spent = _spent(basis)
    largest = max(spent, key=lambda part: spent[part])
    bound_by, doing = _doing(largest, basis)
    share = spent[largest] / time.whole_s
    base = f"{time.base}'s {duration(time.whole_s)}"
    text = f"{percent(share)} of the {base} went to {doing}"
    if largest == "unrecorded_s":
        text = f"For {percent(share)} of the {base} there is no record of what the host did"
    startup = time.parts.startup_s / time.whole_s
    loop_s = None if basis.without_steps else time.loop_s
    if startup > max(share, _MUCH) and loop_s and largest != "unrecorded_s":
        of_loop = percent(spent[largest] / loop_s)
        text = f"{of_loop} of the loop's {duration(loop_s)} went to {doing}"
    else:
        after = time.parts.after_s / time.whole_s
        text += f", {percent(startup)} to start-up" * (startup >= _MUCH)
        said = any("after the loop" in sentence for sentence in basis.first)
        text += f", {percent(after)} to what came after the loop" * (after >= _MUCH and not said)
    busy = None if basis.once else basis.busy
    if busy is None or bound_by in ("device", "compilation"):
        return _Limit(bound_by, text, share)
    return _Limit(
        "device", f"The device was busy {percent(busy)} of the steady steps; {text}", share
    )


def _doing(part: str, basis: Basis) -> tuple[BoundBy, str]:
    """What a program is bound by if its time goes to a part, and what it does then."""
    bound_by, doing = _PARTS[part]
    if bound_by == "dispatch" and basis.dispatch:
        doing = basis.dispatch
    if part == "python_s" and basis.time.parts and not basis.time.parts.tracing_s:
        doing = "Python"  # recording operations cannot be distinguished
    if bound_by == "device" and basis.waiting > _MOSTLY:
        doing = "collectives, waiting for other processes"
    elif bound_by == "device" and (idle := _idle(basis.time)) > _IDLE:
        doing += f", which was idle for {percent(idle)} of that"
    return bound_by, doing


def _idle(time: TimeSpent) -> float:
    """The share of the waits for the device in which it was idle; 0 if unknown."""
    waited = time.parts.read_s + time.parts.barrier_s if time.parts else 0.0
    return 1.0 - time.device_s / waited if waited and time.device_s is not None else 0.0


def _spent(basis: Basis) -> dict[str, float]:
    """Seconds by part. Time blocked in reads belongs to the device, except for what fixing the
    reads gives back.
    """
    time, parts = basis.time, basis.time.parts
    spent = {part: float(getattr(parts, part, 0.0)) for part in _PARTS}
    spent["device_s"] = parts.barrier_s if parts else 0.0
    waits = [finding for finding in basis.findings if basis.pack[finding.rule].waits]
    given = [wait.saving.remaining_s for wait in waits]
    if given and None not in given:
        reading = min(spent["read_s"], sum(seconds or 0.0 for seconds in given))
    elif basis.waiting > _MOSTLY:
        reading = 0.0
    else:
        reading = max(0.0, spent["read_s"] - (time.device_s or 0.0))
    spent["device_s"] += spent["read_s"] - reading
    spent["read_s"] = reading
    return spent


def _gain(basis: Basis, speedup: float | None, kind: SavingBasis) -> str:
    """The gain of fixing all findings; it may be more if some have no estimate."""
    savings = [finding.saving for finding in basis.to_fix]
    more = any(s.basis in ("none", "bound") for s in savings) or (
        len(savings) > 1 and any(s.remaining_s is None for s in savings)
    )
    if speedup is None or kind == "bound" or (more and speedup < _NO_GAIN):
        return ""
    if speedup < _NO_GAIN:
        return f"{_NO_GAIN_OF}{_limited(basis.limit)}"
    loop_s, most = basis.time.loop_s or 0.0, "at most " * more
    saved, step = saved_s(basis), step_times(basis)
    now, after = duration(loop_s), duration(max(0.0, loop_s - saved))
    if step is None and now == after:
        return f", which saves {duration(saved)}"
    if step and saved < LITTLE * loop_s:
        gained = f"which saves {duration(saved)} of this one"
        return f" for longer runs: a step after warm-up takes {most}{_instead(*step)}, {gained}"
    text = f": the loop takes {most}{after} instead of {now}"
    if step and abs(loop_s - saved - loop_s / speedup) > _ALIKE * loop_s / speedup:
        text += f", a step after warm-up {most}{_instead(*step)}"
    return text + ", most of it compiling" * (basis.limit == "compilation")


def _instead(now_ms: float, after_ms: float) -> str:
    return f"{duration(after_ms / 1e3)} instead of {duration(now_ms / 1e3)}"


def _most(basis: Basis, worth: Sequence[Finding]) -> str:
    """The largest bound, if there is no estimate for all."""
    bounds = [finding for finding in worth if finding.saving.basis == "bound"]
    best = max(bounds, key=lambda finding: basis.share_of_loop(finding.saving), default=None)
    share = basis.share_of_loop(best.saving) if best else 0.0
    outside = max(
        (each.saving.share or 0.0 for each in worth if each.saving.outside_loop), default=0.0
    )
    if outside >= max(share, LITTLE):
        return f", which saves {percent(outside)} of the run" if len(worth) == 1 else ""
    if best is None or share < LITTLE:
        return ""
    which = "which" if len(worth) == 1 else f"of which {best.rule}"
    return f", {which} saves {_of_loop(best.saving, share)}"


def _limited(limit: str | None) -> str:
    """Why a fix saves nothing."""
    return f": steps are limited by {LIMITS[limit]}" if limit else ""
