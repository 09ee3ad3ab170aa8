"""Sets ``barrier=True`` for ``xm.optimizer_step``, which then ends the step."""

from __future__ import annotations

from xladoctor.fixes.barriers import OPTIMIZER_STEP, has_device_loader, random_numbers
from xladoctor.fixes.case import Case
from xladoctor.fixes.interface import Change, Refused


def fix(case: Case) -> Change:
    """For the call in the finding's line, the only one of its function."""
    source = case.source
    statement = source.statement(case.line)
    call = source.only_call(statement)
    if call is None or not source.qualified(call.func) & OPTIMIZER_STEP:
        raise Refused(f"line {case.line} does not call xm.optimizer_step and nothing else")
    if len(call.args) > 1 and not call.args[1].keyword:
        raise Refused("`barrier` is already given")
    for loop in source.loops_around(call)[:1]:
        if has_device_loader(source, loop):
            raise Refused("the loop's loader already ends each step with a barrier")
        if len(source.calls_of(OPTIMIZER_STEP, loop.body)) > 1:
            raise Refused("the loop has several updates, which one barrier should follow")
    return Change(
        "have the update end the step with a barrier",
        (source.add_argument(call, "barrier=True"),),
        behaviour=random_numbers(source),
        relies_on=("one update is one step of the program",),
    )
