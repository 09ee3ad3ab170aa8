"""Compares texts that two runs of a program wrote: words exactly, numbers within a tolerance.

What differs between runs of the unchanged program as well is not compared: single numbers, lines,
or the whole text.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

_NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?![\w])|\b(?:nan|inf)\b")
#: A number with a unit of time or of a rate of time: it differs from run to run.
_TIME = re.compile(
    r"(?i)\d[\d.,]*\s*(?:[mµun]?s|sec(?:ond)?s?|min(?:ute)?s?|it/s|s/it|steps?/s(?:ec)?|tokens?/s|"
    r"samples?/s|images?/s)\b|\b\d\d:\d\d(?::\d\d)?\b"
)
#: A line of code, as warnings name it: a patch moves it.
_PLACE = re.compile(r"(\.py:|\.py\", line )\d+")
_MOST = 10  # differences that are shown
_TINY = 1e-6  # numbers this close to zero are equal


@dataclass(frozen=True, slots=True)
class Compared:
    """What of two texts was compared.

    Attributes:
        differs: the lines that differ, as ``- was`` and ``+ is``.
        says: whether anything was compared that could show another result: a number that is the
            same in each run, or words where there are no numbers.
        varies: whether something was left out, as it differs from run to run.
    """

    differs: tuple[str, ...] = ()
    says: bool = False
    varies: bool = False


def compared(before: Sequence[str], after: str, rtol: float) -> Compared:
    """A text against that of runs of the unchanged program.

    Args:
        before: one for each of these runs.
        rtol: relative tolerance of numbers. Times and rates are left out.
    """
    runs = [_lines(text) for text in before]
    if len({len(lines) for lines in runs}) > 1:
        return Compared(varies=True)
    found, stable, numbers, varies, words = [], 0, 0, False, False
    for *was, now in zip_longest(*runs, _lines(after)):
        if was[0] is None or now is None:
            found += [f"- {was[0]}"] * (now is None) + [f"+ {now}"] * (was[0] is None)
            continue
        if any(_words(line) != _words(was[0]) for line in was):
            varies = True
            continue
        same = _steady(was, rtol)
        stable, numbers = stable + sum(same), numbers + len(same)
        varies |= not all(same)
        words |= bool(was[0].strip()) and not same
        if not _alike(was[0], now, rtol, same):
            found += [f"- {was[0]}", f"+ {now}"]
    says = bool(stable) or (words and not numbers and not varies)
    return Compared(tuple(found), says, varies)


def shortened(lines: Sequence[str]) -> tuple[str, ...]:
    """As many differences as are shown."""
    more = len(lines) - _MOST
    return tuple(lines) if more <= 0 else (*lines[:_MOST], f"… and {more} more lines")


def leaves_out(before: Sequence[str], after: str, rtol: float) -> int:
    """How many lines of the earlier output the later one leaves out, if it has the others alone, in
    their order; otherwise 0.
    """
    steady = len({len(_lines(text)) for text in before}) == 1
    runs = [*zip(*map(_lines, before), strict=True)] if steady else []
    rest, now = iter(runs), _lines(after)
    fits = all(any(_alike(was[0], line, rtol, _steady(was, rtol)) for was in rest) for line in now)
    return max(0, len(runs) - len(now)) if fits else 0


def _lines(text: str) -> list[str]:
    """The lines as a terminal shows them in the end: of a bar, its last state."""
    lines = text.removesuffix("\n").split("\n") if text else []
    return [line.rstrip("\r").rpartition("\r")[2] for line in lines]


def _plain(line: str) -> str:
    return _PLACE.sub(r"\1", _TIME.sub("", line)).rstrip()


def _words(line: str) -> str:
    return _NUMBER.sub("#", _plain(line))


def _numbers(line: str) -> list[float]:
    return [float(text) for text in _NUMBER.findall(_plain(line))]


def _steady(lines: Sequence[str], rtol: float) -> list[bool]:
    """For each number of a line, whether it is the same in each run."""
    if len(lines) == 1:
        return [True] * len(_numbers(lines[0]))
    if len({_words(line) for line in lines}) > 1:
        return []
    every = zip(*map(_numbers, lines), strict=True)
    return [all(_close(each[0], other, rtol) for other in each[1:]) for each in every]


def _alike(was: str, now: str, rtol: float, steady: Sequence[bool]) -> bool:
    """Whether the words of two lines are the same, and those numbers that are ``steady``."""
    if _words(was) != _words(now):
        return False
    pairs = zip(_numbers(was), _numbers(now), steady, strict=True)
    return all(_close(a, b, rtol) for a, b, same in pairs if same)


def _close(a: float, b: float, rtol: float) -> bool:
    return math.isclose(a, b, rel_tol=rtol, abs_tol=_TINY) or (math.isnan(a) and math.isnan(b))
