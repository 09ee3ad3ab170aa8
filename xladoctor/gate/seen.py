"""Lists what a run does not show of a program, which must not pass as healthy."""

from __future__ import annotations

from xladoctor.diagnosis.interface import Diagnosis
from xladoctor.frontends.vocabulary import vocabulary
from xladoctor.gate.interface import Missing

_LEAST = 2  # steady steps: a single step may still be the last to compile


def unseen(diagnosis: Diagnosis) -> list[Missing]:
    """What the run does not show, whatever the rules: the loop, or what the capture lost."""
    return [*_loop(diagnosis), *(Missing("capture", text) for text in diagnosis.run.incomplete)]


def _loop(diagnosis: Diagnosis) -> list[Missing]:
    """The steady state of the loop, if it is missing: without it, no defect can be found."""
    steps = diagnosis.steps
    if steps is not None:
        steady = steps.count - steps.warmup
        if steady >= _LEAST:
            return []
        warmup = "all of them" if not steady else f"{steps.warmup} of them"
        return [
            Missing(
                "steps",
                f"only {steps.count} step{'s' * (steps.count != 1)}, {warmup}"
                " warm-up: the steady state was not seen",
            )
        ]
    if diagnosis.run.kind != "run" or in_loop(diagnosis):
        return []
    barrier = vocabulary(diagnosis.run.frontend).words.get("barrier")
    ends = f"barrier ({barrier})" if barrier else "compiled function that is called again and again"
    return [Missing("steps", f"no {ends}, and nothing else that repeats: no loop was seen")]


def in_loop(diagnosis: Diagnosis) -> bool:
    """Whether any finding, ignored or not, is about a loop."""
    rules = [
        *(finding.rule for finding in diagnosis.findings),
        *(ignored.rule for ignored in diagnosis.ignored),
    ]
    return any(diagnosis.pack[rule].about != "run" for rule in rules)
