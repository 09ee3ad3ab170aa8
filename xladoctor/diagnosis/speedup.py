"""How much faster the loop is once findings are fixed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xladoctor.diagnosis.basis import Basis, worth_fixing
from xladoctor.diagnosis.finding import Saving, SavingBasis

_MOST = 1000.0  # times as fast; more cannot be measured


def speedup_of(basis: Basis) -> tuple[float | None, SavingBasis]:
    """How many times as fast the loop is once all findings are fixed, without compiling in warm-up:
    by its average step, if findings have that.
    """
    time, savings = basis.time, _in_loop(basis)
    if not time.loop_s or not savings:
        return None, "none"
    given = _estimates(savings)
    if times := step_times(basis):
        whole, left = times
    else:
        whole = time.loop_s if any(map(_of_warmup, savings)) else time.steady_s
        left = whole - sum((s.remaining_s if given else s.seconds) or 0.0 for s in given or savings)
    return round(whole / max(left, whole / _MOST), 3), "estimate" if given else "bound"


def step_times(basis: Basis) -> tuple[float, float] | None:
    """Milliseconds of the average step after warm-up now, and once all findings are fixed; None if
    findings do not have that, or save compiling in warm-up.
    """
    steps, savings = basis.steps.count if basis.steps else 0, _in_loop(basis)
    given = _estimates(savings)
    if not steps or not given or not all(s.now_ms for s in given) or any(map(_of_warmup, savings)):
        return None
    now_ms = max(s.now_ms or 0.0 for s in given)
    if len(given) == 1 and given[0].after_ms is not None:
        return now_ms, given[0].after_ms
    seconds = sum((s.remaining_s or 0.0) * _recurring(s, steps) for s in given)
    return now_ms, max(now_ms - seconds / steps * 1e3, 0.0)


def _in_loop(basis: Basis) -> list[Saving]:
    """What fixes save in the loop, of those whose saving is known."""
    savings = (finding.saving for finding in worth_fixing(basis.to_fix) or basis.to_fix)
    return [each for each in savings if each.seconds is not None and not each.outside_loop]


def _estimates(savings: Sequence[Saving]) -> list[Saving]:
    """The savings that add up."""
    given = [saving for saving in savings if saving.remaining_s is not None]
    if not given and len(savings) == 1 and savings[0].basis == "estimate":
        given = [replace(savings[0], remaining_s=savings[0].seconds)]
    return given


def _recurring(saving: Saving, steps: int) -> float:
    """The share of a saving that is in the average step, 0 to 1."""
    if not saving.seconds or saving.now_ms is None or saving.after_ms is None:
        return 1.0
    return min(1.0, (saving.now_ms - saving.after_ms) / 1e3 * steps / saving.seconds)


def _of_warmup(saving: Saving) -> bool:
    """Whether it saves compiling in warm-up, and so more than what comes after that."""
    if any(claim.do == "constant_cost" for claim in saving.assumes):
        return True
    return bool(saving.seconds) and saving.now_ms is not None and saving.after_ms == saving.now_ms


def saved_s(basis: Basis) -> float:
    """What all fixes whose savings are estimates save of the loop, in seconds."""
    return sum(saving.remaining_s or 0.0 for saving in _estimates(_in_loop(basis)))
