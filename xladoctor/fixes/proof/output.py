"""Compares what two runs of a program print: words exactly, numbers within a tolerance."""

from __future__ import annotations

import math
import re
from itertools import zip_longest

_NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?![\w])|\b(?:nan|inf)\b")
#: A number with a unit of time or of a rate of time: it differs from run to run.
_TIME = re.compile(
    r"(?i)\d[\d.,]*\s*(?:[mµun]?s|sec(?:ond)?s?|min(?:ute)?s?|it/s|s/it|steps?/s(?:ec)?|tokens?/s|"
    r"samples?/s|images?/s)\b|\b\d\d:\d\d(?::\d\d)?\b"
)
_MOST = 10  # differences that are shown
_TINY = 1e-6  # numbers this close to zero are equal


def differences(before: str, after: str, rtol: float) -> list[str]:
    """The lines that differ, as ``- was`` and ``+ is``; empty if the outputs are the same.

    Args:
        rtol: relative tolerance of numbers, infinite to compare words alone. Times and rates are
            left out.
    """
    found: list[str] = []
    for was, now in zip_longest(before.splitlines(), after.splitlines()):
        if was is None or now is None or not _alike(was, now, rtol):
            found += [f"- {was}"] * (was is not None) + [f"+ {now}"] * (now is not None)
    more = len(found) - _MOST
    return found if more <= 0 else [*found[:_MOST], f"… and {more} more lines"]


def leaves_out(before: str, after: str, rtol: float) -> bool:
    """Whether the later output has lines of the earlier one alone, in their order, but not all."""
    rest = iter(before.splitlines())
    return all(any(_alike(was, now, rtol) for was in rest) for now in after.splitlines())


def _alike(was: str, now: str, rtol: float) -> bool:
    was, now = (_TIME.sub("", text).rstrip() for text in (was, now))
    if _NUMBER.sub("#", was) != _NUMBER.sub("#", now):
        return False
    pairs = zip(_NUMBER.findall(was), _NUMBER.findall(now), strict=True)
    return all(_close(float(a), float(b), rtol) for a, b in pairs)


def _close(a: float, b: float, rtol: float) -> bool:
    if math.isinf(rtol):
        return True
    return math.isclose(a, b, rel_tol=rtol, abs_tol=_TINY) or (math.isnan(a) and math.isnan(b))
