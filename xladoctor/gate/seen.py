"""How much of a program a run shows: what it does not show must not pass for being in order."""

from __future__ import annotations

from xladoctor.diagnosis.interface import Diagnosis
from xladoctor.gate.interface import Missing

_LEAST = 2  # steps at rest: a single one may still be the last to compile
_OF_THE_WHOLE_RUN = "XD7"  # and what follows: settings, capture


def unseen(diagnosis: Diagnosis) -> list[Missing]:
    """What was not seen of the program, whatever the rules: its loop, or what the capture lost."""
    return [*_loop(diagnosis), *(Missing("capture", text) for text in diagnosis.run.incomplete)]


def _loop(diagnosis: Diagnosis) -> list[Missing]:
    """A loop that was not seen at rest has nothing that could be wrong with it."""
    steps = diagnosis.steps
    if steps is not None:
        at_rest = steps.count - steps.warmup
        if at_rest >= _LEAST:
            return []
        warmup = "all of them" if not at_rest else f"{steps.warmup} of them"
        return [Missing("steps", f"{steps.count} step{'s' * (steps.count != 1)} only, {warmup}"
                        " warm-up: what the loop does at rest was not seen")]  # fmt: skip
    if diagnosis.run.kind != "run" or in_loop(diagnosis):
        return []
    return [Missing("steps", "no barrier (torch_xla.sync), nor anything else that comes again and"
                    " again: no loop was seen")]  # fmt: skip


def in_loop(diagnosis: Diagnosis) -> bool:
    """Whether something was found that happens in a loop (suppressed or not)."""
    rules = [*(one.rule for one in diagnosis.findings), *(one.rule for one in diagnosis.ignored)]
    return any(rule < _OF_THE_WHOLE_RUN for rule in rules)
