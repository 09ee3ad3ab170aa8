"""Whether a patched program behaves as the original does."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np

from tests.differential.world import History, Outcome, run
from xladoctor.fixes.case import Case
from xladoctor.fixes.compose import applied
from xladoctor.fixes.interface import Change, Refused

Verdict = Literal["refused", "same", "as declared", "differs", "fails", "void"]
_NODES = 8
_REPORT_OF_CHECK = "Invalid nan value encountered in the output of a jax.jit function."
_NUMBER = re.compile(r"-?(?:\d+\.?\d*(?:e[-+]?\d+)?|inf|nan)")


@dataclass(frozen=True)
class Program:
    """A generated program, and the finding about it.

    Attributes:
        marked: its text, with the marks of the lines of the finding.
        made: the finding, unless its file is refused for any kind.
        count: batches that ``lab`` has for it.
        declared: what a patch may change, if what it says of its behaviour has the words:
            ``lines`` that are left out, ``numbers``, ``types``, ``shapes`` of one element,
            ``files`` or ``parts`` that differ, lines printed ``ahead`` by samples that are
            not used, and names of errors that are no longer raised.
    """

    marked: str
    made: Callable[[], Case] = field(repr=False)
    count: int
    declared: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def case(self) -> Case:
        """The finding.

        Raises:
            Refused: the file is refused for any kind.
        """
        return self.made()

    @property
    def text(self) -> str:
        """What is run."""
        return self.case.source.text


@dataclass(frozen=True)
class Judgement:
    """What became of a program.

    Attributes:
        reason: of a refusal; or what differs.
        patched: its text; empty if it was refused.
    """

    verdict: Verdict
    reason: str = ""
    patched: str = ""
    raised: bool = False


def judge(fix: Callable[[Case], Change], program: Program, real: bool = False) -> Judgement:
    """Patch a program, and run it before and after.

    Args:
        real: by the frameworks themselves, not by stubs of their calls.
    """
    try:
        case, change, patched = _patched(fix, program)
    except Refused as refused:
        return Judgement("refused", refused.reason)
    except Exception as error:
        return Judgement("fails", f"{type(error).__name__}: {error}")
    before, after = (
        run(text, case.frontend, program.count, real) for text in (program.text, patched)
    )
    raised = before.raised is not None
    if before.line == case.line:  # no run would have led to the finding
        return Judgement("void", "", patched, raised)
    reason = difference(before, after, frozenset())
    if not reason:
        return Judgement("same", "", patched, raised)
    declared = program.declared.items()
    allowed = frozenset(aspect for aspect, words in declared if words in change.behaviour)
    reason = difference(before, after, allowed)
    return Judgement("differs" if reason else "as declared", reason, patched, raised)


def _patched(fix: Callable[[Case], Change], program: Program) -> tuple[Case, Change, str]:
    """The finding of a program, the change for it, and the text after that."""
    change = fix(program.case)
    try:
        patched = applied(program.text, change.edits)
        compile(patched, "train.py", "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        raise Refused(f"does not compile: {error}") from error  # as in a plan
    return program.case, change, patched


def difference(before: Outcome, after: Outcome, allowed: frozenset[str]) -> str:
    """What differs between two runs, other than what may; empty if nothing does."""
    if before.raised != after.raised:
        if before.raised is None or before.raised[0] not in allowed:
            return f"raises {after.raised}, not {before.raised}"
        return _lost(before, after, "lines" in allowed)
    exact = "numbers" not in allowed
    states = (before.state, after.state)
    if "types" in allowed:
        states = _untyped(before.state), _untyped(after.state)
    checks = (
        _lines("prints", before.printed, after.printed, allowed),
        _files(before, after, allowed),
        "" if "parts" in allowed else _values("result", *states, allowed),
        "draws other random numbers" if exact and before.random != after.random else "",
        "changes an array before it is read" if after.races > before.races else "",
    )
    return next(filter(None, checks), "")


def _lost(before: Outcome, after: Outcome, unreported: bool) -> str:
    """What a program that went on has not written that the other wrote before it failed.

    Args:
        unreported: what JAX prints about its error is none of it.
    """
    printed = [
        line for line in before.printed if not (unreported and line.startswith(_REPORT_OF_CHECK))
    ]
    texts = [("printed", printed, after.printed)]
    texts += [(name, before.files[name], after.files.get(name, [])) for name in before.files]
    found = (_lines(what, one, other[: len(one)], frozenset()) for what, one, other in texts)
    return next(filter(None, found), "")


def _files(before: Outcome, after: Outcome, allowed: frozenset[str]) -> str:
    if "files" in allowed:
        return ""
    if before.files.keys() != after.files.keys():
        return f"writes {sorted(after.files)}, not {sorted(before.files)}"
    found = (
        _lines(f"{name} has", before.files[name], after.files[name], allowed)
        for name in before.files
    )
    return next(filter(None, found), "")


def _lines(what: str, before: list[str], after: list[str], allowed: frozenset[str]) -> str:
    typed = "types" not in allowed
    if "lines" in allowed:
        rest = iter(before)
        lost = [
            line for line in after if not any(_same_line(line, each, True, typed) for each in rest)
        ]
        return f"{what} {lost[0]!r}, which is new" if lost else ""
    if "ahead" in allowed and not Counter(before) - Counter(after):
        return ""
    if len(before) != len(after) and "numbers" not in allowed:
        return f"{what} {len(after)} lines, not {len(before)}: {after[-3:]}, not {before[-3:]}"
    for one, other in zip(before, after, strict=False):
        if not _same_line(one, other, "numbers" not in allowed, typed):
            return f"{what} {other!r}, not {one!r}"
    return ""


def _same_line(one: str, other: str, exact: bool, typed: bool = True) -> bool:
    if _NUMBER.sub("#", one) != _NUMBER.sub("#", other):
        return False
    pairs = zip(_NUMBER.findall(one), _NUMBER.findall(other), strict=True)
    return not exact or all(
        (not typed or a.lstrip("-").isdigit() == b.lstrip("-").isdigit())
        and _close(float(a), float(b))
        for a, b in pairs
    )


def _values(path: str, one: Any, other: Any, allowed: frozenset[str]) -> str:
    """Where two states differ."""
    if type(one) is type(other) and isinstance(one, (dict, tuple)):
        keys, others = (
            [*each] if isinstance(each, dict) else [*range(len(each))] for each in (one, other)
        )
        if keys != others:
            return f"{path} has {len(others)} parts, not {len(keys)}"
        found = (_values(f"{path}[{key}]", one[key], other[key], allowed) for key in keys)
        return next(filter(None, found), "")
    return "" if _alike(one, other, allowed) else f"{path} is {other!r:.80}, not {one!r:.80}"


def _untyped(value: Any) -> Any:
    """A state in which numbers and arrays of JAX and NumPy are of one type."""
    match value:
        case (str(), str(), np.ndarray() as array):
            return "array", array.astype(float)
        case dict():
            return {key: _untyped(each) for key, each in value.items()}
        case tuple():
            return tuple(map(_untyped, value))
        case int() | float() if not isinstance(value, History):
            return "array", np.asarray(value, float)
    return value


def _alike(one: Any, other: Any, allowed: frozenset[str]) -> bool:
    exact = "numbers" not in allowed
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray):
        if "shapes" in allowed and one.size == other.size == 1:
            one, other = one.reshape(()), other.reshape(())
        return one.shape == other.shape and (not exact or _close(one, other))
    if isinstance(one, History):  # that of a loop is longer with each iteration
        return bool(one) == bool(other) and other <= 2 * one + _NODES
    if isinstance(one, float):
        return not exact or _close(one, other)
    return bool(one == other) or (not exact and isinstance(one, int))


def _close(one: Any, other: Any) -> bool:
    """Whether numbers differ by rounding to 32 bits at most."""
    return bool(np.allclose(one, other, rtol=1e-4, atol=1e-5, equal_nan=True))
