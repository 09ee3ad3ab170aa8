"""Findings about a text, for tests of kinds of fixes.

A text marks its lines by comments: ``#!`` is the finding's own line, ``#! made`` the line of
another role. ``#! barrier`` marks the barrier of the step, ``#! unbarred`` a loop that has none.
The comments are not part of what the kind sees.
"""

from __future__ import annotations

import re
from pathlib import Path
from textwrap import dedent
from typing import Any

from xladoctor.diagnosis.finding import NO_SAVING, Cost, Finding, Location
from xladoctor.fixes import registry
from xladoctor.fixes.case import Case
from xladoctor.fixes.compose import applied
from xladoctor.fixes.interface import Change, Refused
from xladoctor.fixes.source import Source

FILE = Path("/project/train.py")
_FACTS = ("barrier", "unbarred")
_MARK = re.compile(r"[ ]*#! ?(\w*)$")


def case(text: str, frontend: str = "torch_xla", rule: str = "XD000", **cause: Any) -> Case:
    """A finding about a text, at its marked lines."""
    places, lines = [], []
    marked = dict[str, int]()
    for number, line in enumerate(dedent(text).strip("\n").splitlines(), 1):
        mark = _MARK.search(line)
        lines.append(line[: mark.start()] if mark else line)
        if mark and mark[1] in _FACTS:
            marked[mark[1]] = number
        elif mark:
            role: Any = mark[1] or "guilty"
            places.append(Location("train.py", number, "train", role, lines[-1]))
    places.sort(key=lambda place: place.role != "guilty")
    finding = Finding(
        rule=rule,
        name="odd-thing",
        severity="error",
        severity_by_counts="error",
        title="Odd thing",
        locations=places,
        count=1,
        per_step=1.0,
        processes=["0"],
        cost=Cost(None, None, "none"),
        saving=NO_SAVING,
        cause=cause,
        consequences=[],
        message="",
        why="",
        fix="",
        example="",
        fingerprint="0",
    )
    facts: dict[str, Any] = {"barrier_called": cause.pop("barrier_called", None)}
    if "barrier" in marked:
        facts |= {"barrier": marked["barrier"], "below_barrier": places[0].line > marked["barrier"]}
    if "unbarred" in marked:
        facts["unbarred"] = {"line": marked["unbarred"]}
    return Case(finding, Source(FILE, "\n".join(lines) + "\n"), frontend, (finding,), facts)


def change(by: str, text: str, frontend: str = "torch_xla", **cause: Any) -> Change:
    """What a kind of fix makes of a text."""
    return registry.kind(by)(case(text, frontend, **cause))


def fixed(by: str, text: str, frontend: str = "torch_xla", **cause: Any) -> str:
    """The text with the change made; it must compile."""
    given = case(text, frontend, **cause)
    after = applied(given.source.text, registry.kind(by)(given).edits)
    compile(after, "train.py", "exec", dont_inherit=True)
    return after


def refusal(by: str, text: str, frontend: str = "torch_xla", **cause: Any) -> str:
    """Why a kind of fix refuses a text, or that the text is none; it must refuse."""
    try:
        after = fixed(by, text, frontend, **cause)
    except Refused as refused:
        return refused.reason
    raise AssertionError(f"not refused:\n{after}")


def expected(text: str) -> str:
    """A text as ``fixed`` returns it."""
    return dedent(text).strip("\n") + "\n"
