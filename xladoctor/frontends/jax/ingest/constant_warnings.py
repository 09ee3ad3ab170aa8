"""Reads JAX's warnings of large arrays that a function closes over, which become constants.

Wording: ``check_jaxpr_constants`` and ``log_closed_over_constant`` in
``jax/_src/interpreters/mlir.py`` of JAX 0.10. The lines are there if
``JAX_CAPTURED_CONSTANTS_REPORT_FRAMES`` is set::

    UserWarning: A large amount of constants were captured during lowering (6.00MB total). If …
      Constant <class 'jaxlib._jax.ArrayImpl'>, float32[1000,1000], 4.00MB captured at:
        /app/train.py:10:12 (score)
    UserWarning: Closed-over constant <class '…'>: float32[5,2] in score at /app/train.py:8 used at:
        /app/train.py:10:12 (score)
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from xladoctor.ingest.compiler_log import CompilerLog
from xladoctor.ingest.fact_rows import as_hlo
from xladoctor.ingest.frames import NOWHERE, CallSite
from xladoctor.ingest.gathered import Gathered
from xladoctor.ingest.interface import ProcessRows

FRONTEND = "jax"
_UNITS = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_SIZE = r"(\d{1,9}(?:\.\d{1,9})?)([KMGT]?B)"
_FRAME = re.compile(r"\s+(\S.{0,999}?):(\d{1,9})(?::\d{1,9})? \((.{1,200})\)$")


@dataclass(slots=True)
class _Constant:
    shape: str | None
    size: int | None
    function: str | None = None
    site: CallSite = NOWHERE


class ConstantWarnings(CompilerLog):
    """Collects the arrays that the warnings of one process name, or else their sum."""

    NAME = "JAX's warnings of captured constants"
    LACKING = "JAX's warning of captured constants is cut off"
    MARKS = ("constants were captured during lowering", "captured at:", "Closed-over constant ")
    supplements = True

    def __init__(self) -> None:
        self._total: int | None = None
        self._constants: list[_Constant] = []
        self._open: _Constant | None = None  # its frame may follow

    @property
    def has_records(self) -> bool:
        """Whether there is any warning."""
        return bool(self._constants) or self._total is not None

    def _sum(self, match: re.Match[str]) -> None:
        self._total = max(self._total or 0, _bytes(*match.groups()))

    def _captured(self, match: re.Match[str]) -> None:
        self._take(_Constant(match[1], _bytes(match[2], match[3])))

    def _closed_over(self, match: re.Match[str]) -> None:
        site = CallSite(match[3], int(match[4])) if match[3] else NOWHERE
        self._take(_Constant(match[1], _size(match[1]), match[2], site))

    FORMS = (
        (re.compile(rf"constants were captured during lowering \({_SIZE} total\)"), _sum),
        (re.compile(rf"Constant <class '[^']*'>, (\S{{1,200}}), {_SIZE} captured at:"), _captured),
        (
            re.compile(
                r"Closed-over constant <class '[^']*'>: (\S{1,200}) in (\S{1,200})"
                r"(?: at (.{1,999}?):(\d{1,9}))?(?: used at:)?$"
            ),
            _closed_over,
        ),
    )

    def _take(self, constant: _Constant) -> None:
        self._constants.append(constant)
        self._open = constant

    def _further(self, line: str) -> bool:
        """Take the innermost frame; the others are of its callers."""
        frame = _FRAME.match(line.rstrip())
        if self._open is None or frame is None:
            self._open = None
            return False
        self._open.site = CallSite(frame[1], int(frame[2]), frame[3])
        self._open.function = self._open.function or frame[3]
        self._open = None
        return True

    def add(self, made: Gathered, rows: ProcessRows) -> str | None:
        """Fill ``logged_constant``: an array that several warnings name counts once."""
        named = {(each.shape, each.site): each for each in self._constants}
        for each in named.values() or [_Constant(None, self._total)]:
            rows.add(
                "logged_constant",
                what="captured",
                compiled=each.function,
                op=None,
                shape=each.shape and as_hlo(each.shape),
                bytes=each.size or self._total,
                duration_ns=None,
                ended=None,
                **each.site.columns(),
            )
        return FRONTEND


def _bytes(number: str, unit: str) -> int:
    return int(float(number) * _UNITS[unit])


def _size(array: str) -> int | None:
    """The bytes of an array by its type and shape: ``float32[5,2]``."""
    match = re.fullmatch(r"\w*?(\d{1,3})\[([\d,]{0,200})\]", array)
    if match is None:
        return None
    return math.prod(map(int, filter(None, match[2].split(",")))) * int(match[1]) // 8
