"""Gives a loader more workers, if those that it has cannot keep up."""

from __future__ import annotations

import libcst as cst

from xladoctor.fixes.case import Case
from xladoctor.fixes.interface import Change, Refused
from xladoctor.fixes.loaders import loader_in
from xladoctor.fixes.source import argument

_WORKERS = 8


def fix(case: Case) -> Change:
    """For the loader that feeds the loop, if it is given a smaller number of workers by name."""
    source = case.source
    call = loader_in(source, case.place("made", "guilty").line)
    given = argument(call, "num_workers")
    if not isinstance(given, cst.Integer):
        raise Refused("`num_workers` is not given as a number in this call")
    if not 0 < given.evaluated_value < _WORKERS:
        raise Refused(f"the loader has {given.evaluated_value} workers")
    return Change(
        f"let {_WORKERS} workers prepare the batches",
        (source.replace(given, str(_WORKERS)),),
        behaviour="random numbers of samples come from more generators, one for each worker",
        relies_on=(
            "workers read or wait more than they compute, or there are processors for them",
        ),
    )
