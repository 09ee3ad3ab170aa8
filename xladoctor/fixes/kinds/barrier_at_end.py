"""Adds a barrier at the end of the loop's body, so that each iteration is a separate graph."""

from __future__ import annotations

from pathlib import Path

from xladoctor.fixes.barriers import barrier_in, barrier_in_function, random_numbers
from xladoctor.fixes.case import Case
from xladoctor.fixes.interface import Change, Refused
from xladoctor.fixes.source import Loop


def fix(case: Case) -> Change:
    """For the loop that the finding names, or that is around the line which it names, and for loops
    in that one whose iterations read; or for the function that an optimizer calls several times.
    """
    source = case.source
    if case.cause.get("kind") in ("appended", "outgrown"):
        raise Refused("each iteration has a tensor of a different size, with or without a barrier")
    closure = next((each for each in case.finding.locations if each.role == "closure"), None)
    if closure is not None:
        _same_file(case, closure.file)
        return Change(
            f"end the function in line {closure.line}, which the optimizer calls, with a barrier",
            tuple(barrier_in_function(source, closure.line)),
            behaviour=random_numbers(source),
        )
    loop = _loop(case)
    inner = [source.loop(each["line"]) for each in case.cause.get("inner_loops") or ()]
    shown = [*(case.cause.get("shown") or ()), *(case.cause.get("read_below") or ())]
    edits = [edit for each in (*inner, loop) for edit in barrier_in(source, each, shown)]
    lines = sorted(source.begin(each).line for each in (loop, *inner))
    which = f"the loop{'s' * (len(lines) > 1)} in line {' and '.join(map(str, lines))}"
    return Change(
        f"end each iteration of {which} with a barrier",
        tuple(dict.fromkeys(edits)),
        behaviour=random_numbers(source),
        relies_on=("the loop's iterations are the steps of the program", *_shapes(case)),
    )


def _loop(case: Case) -> Loop:
    cause = case.cause
    if loop := cause.get("loop"):
        _same_file(case, loop["file"])
        return case.source.loop(int(loop["line"]))
    if turn := cause.get("turn"):
        _same_file(case, turn["file"])
        return case.source.loop_around(case.source.statement(int(turn["line"])))
    return case.source.loop(case.place("loop").line)


def _same_file(case: Case, file: str) -> None:
    if Path(file).name != case.source.path.name:
        raise Refused(f"the loop is in another file, {file}")


def _shapes(case: Case) -> list[str]:
    shapes = case.cause.get("shapes") or 1
    if shapes <= 1:
        return []
    return [f"each of the {shapes:.0f} shapes that are sent may compile a graph; else pad them"]
