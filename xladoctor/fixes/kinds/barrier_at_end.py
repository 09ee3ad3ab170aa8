"""A barrier as the last statement of the loop's body, so that each turn is a graph of its own."""

from __future__ import annotations

import libcst as cst

from xladoctor.fixes.case import Case
from xladoctor.fixes.interface import Change, Edit, Refused
from xladoctor.fixes.source import LOOPS, SCOPES, Source

#: Calls that end a step.
BARRIERS = frozenset(
    (
        "torch_xla.sync",
        "torch_xla.core.xla_model.mark_step",
        "torch_xla.core.xla_model.optimizer_step",
    )
)


def fix(case: Case) -> Change:
    """For the loop that the finding names."""
    source = case.source
    loop = source.loop(_line_of_loop(case))
    return Change(
        f"end each turn of the loop in line {source.begin(loop).line} with a barrier",
        barrier_at_end(source, loop),
        relies_on=("the loop's turns are the steps of the program",),
    )


def barrier_at_end(source: Source, loop: cst.For | cst.While) -> tuple[Edit, ...]:
    """A barrier at the end of a loop's body.

    Raises:
        Refused: some turns would not come to it, or the loop has one.
    """
    _refuse(source, loop)
    name, imported = source.import_of("torch_xla")
    return source.append_to(loop.body, f"{name}.sync()"), *imported


def _line_of_loop(case: Case) -> int:
    loop = case.cause.get("loop")
    if loop and loop.get("line"):
        return int(loop["line"])
    return case.place("loop").line


def _refuse(source: Source, loop: cst.For | cst.While) -> None:
    """Refuse loops of which some turns would not come to the end of the body."""
    for each in source.all((cst.Continue, cst.Break, cst.Return), loop.body):
        kind = type(each).__name__.lower()
        own = next(above for above in source.around(each) if isinstance(above, (*LOOPS, *SCOPES)))
        if own is loop and kind == "continue":
            raise Refused(
                f"the loop has a `continue` in line {source.begin(each).line}, which would pass"
                " by a barrier at its end",
                "add torch_xla.sync() in front of it too, if that turn computes something",
            )
    if source.calls_of(BARRIERS, loop.body):
        raise Refused("the loop calls a barrier already")
    last = loop.body.body[-1]
    if isinstance(last, cst.SimpleStatementLine) and isinstance(
        last.body[-1], (cst.Break, cst.Return, cst.Raise)
    ):
        raise Refused(f"the body of the loop ends with `{source.code(last).strip()}`")
