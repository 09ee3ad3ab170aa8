"""Reads XLA's alarm about modules that take long to compile, or constants that take long to fold.

Wording: ``xla/service/slow_operation_alarm.cc``, ``compiler.cc`` and ``hlo_constant_folding.cc``::

    2031-05-06 07:08:09.01: E external/xla/xla/service/slow_operation_alarm.cc:73]
    [Compiling module jit_step] Very slow compile? If you want to file a bug, run with …
    2031-05-06 07:09:09.01: E …/slow_operation_alarm.cc:140] The operation took 2m59.5s
    … Constant folding an instruction is taking > 4s:

      %gather.4 = s32[2,1]{1,0} gather(…), metadata={op_name="jit(score)/gather" stack_frame_id=8}

Until 2022 the module was on a line of its own below: ``Compiling module jit_step.5``.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from xladoctor.ingest.compiler_log import CompilerLog, compilation
from xladoctor.ingest.frames import NOWHERE, CallSite
from xladoctor.ingest.gathered import Gathered
from xladoctor.ingest.interface import ProcessRows
from xladoctor.ingest.warning_log import LoggedWarning, add_warning
from xladoctor.quantities import duration, nanoseconds

FRONTEND = "jax"
_SLOW = "Very slow compile?"
_UNOPTIMIZED = "XLA was built without compiler optimizations"
_TOOK = re.compile(
    r"The operation took (?:(\d{1,9})h)?(?:(\d{1,9})m)?(?:(\d{1,9}(?:\.\d{1,12})?)s)?"
)
_SOURCE = re.compile(r'source_file="([^"]+)" source_line=(\d{1,9})')
_FOLDED = re.compile(
    r"^\s*(?:ROOT )?%?[\w.-]{1,200} = (\w{1,20}\[[\d,]{0,200}\])\S* ([\w-]{1,60})\("
)
_FUNCTION = re.compile(r'op_name="jit\((.{1,200}?)\)(?:/|")')
_ALARM_S = 120.0  # seconds after which it goes off for a module
_MOST_LINES = 12  # lines from an alarm to the instruction


@dataclass(slots=True)
class _Slow:
    """A slow module, or a slow instruction being folded, and the least time that it took.

    Attributes:
        module: the module; None of an instruction.
        ended: whether that is the whole time.
        shape: type and shape of the instruction.
        op: its operation.
        compiled: the function that it is of.
    """

    module: str | None
    seconds: float
    ended: bool = False
    site: CallSite = NOWHERE
    shape: str | None = None
    op: str | None = None
    compiled: str | None = None


class SlowAlarm(CompilerLog):
    """Collects the modules whose compilation set off the alarm."""

    NAME = "XLA's alarm of slow compilation"
    MARKS = (
        "slow_operation_alarm.cc:",
        _SLOW,
        _UNOPTIMIZED,
        "Constant folding an instruction",
        "The operation took ",
    )

    def __init__(self) -> None:
        self._slow: list[_Slow] = []
        self._open: list[_Slow] = []  # those whose end is not logged yet
        self._unoptimized = False
        self._below = 0  # further lines that may have the instruction
        self._took: float | None = None  # the time of the module that the alarm then repeats

    @property
    def LACKING(self) -> str:  # type: ignore[override]  # noqa: N802 - as in the base class
        """What is missing: an alarm without what it is about is no basis for findings."""
        if self._unoptimized:
            return (
                "XLA says that it was built without compiler optimizations, so compiling"
                " takes many times as long: install a release of jaxlib, or build it with -c opt"
            )
        return "XLA's alarm of a slow operation, which it does not name"

    @property
    def inside(self) -> bool:
        """Whether the instruction is still to come."""
        return self._below > 0

    @property
    def has_records(self) -> bool:
        """Whether a module or a constant set off the alarm."""
        return bool(self._slow)

    def take(self, line: str) -> bool:
        """Take a line; False if it is not part of the log."""
        self._unoptimized = self._unoptimized or _UNOPTIMIZED in line
        return super().take(line)

    def _module(self, match: re.Match[str]) -> None:
        self._begin(_Slow(match[1], _ALARM_S))

    def _folding(self, match: re.Match[str]) -> None:
        self._begin(_Slow(None, float(match[1])))
        self._below = _MOST_LINES

    def _ended(self, match: re.Match[str]) -> None:
        if any(match.groups()):
            self._end()
            hours, minutes, seconds = (float(part or 0) for part in match.groups())
            self._took = 3600 * hours + 60 * minutes + seconds

    def _unnamed(self, _: re.Match[str]) -> None:
        self._below = 1  # the next line names the module

    FORMS = (
        (re.compile(r"(?:^|\[)Compiling module ([\w.<>-]{1,200})"), _module),
        (re.compile(r"Constant folding an instruction is taking > (\d{1,9})s"), _folding),
        (_TOOK, _ended),
        (re.compile(re.escape(_SLOW)), _unnamed),
    )

    def _further(self, line: str) -> bool:
        if not self._below:
            return self.MARKS[0] in line
        self._below -= 1
        slow = self._slow[-1]
        if slow.module is None and (folded := _FOLDED.match(line)):
            slow.shape, slow.op = folded.groups()
            function = _FUNCTION.search(line)
            slow.compiled = function and function[1]
            self._below = 0
        if match := _SOURCE.search(line):
            slow.site = CallSite(match[1], int(match[2]))
            self._below = 0
        return True

    def _begin(self, slow: _Slow) -> None:
        begun = self._took is not None and next(
            (each for each in self._open if each.module == slow.module), None
        )
        if not begun:  # a new one, or one whose beginning was cut off
            self._slow.append(slow)
        if self._took is None:
            self._open.append(slow)
        else:
            self._end(begun or slow)

    def _end(self, slow: _Slow | None = None) -> None:
        """Note how long a module took; without a name it is the one that began last."""
        took, self._took = self._took, None
        slow = slow or (self._open[-1] if self._open else None)
        if took is not None and slow is not None:
            slow.seconds, slow.ended = took, True
            self._open = [each for each in self._open if each is not slow]

    def add(self, made: Gathered, rows: ProcessRows) -> str | None:
        """Fill ``logged_constant``; and ``compilation``, unless another log has the process's."""
        self._end()
        for each in self._slow:
            if each.module is None:
                self._add_folded(each, rows)
        modules = [(each, each.module) for each in self._slow if each.module]
        if not modules and self._slow:
            return FRONTEND
        rows.table("compilation")
        if made.has("compilation"):
            return None
        earlier: Counter[str] = Counter()
        for number, (each, module) in enumerate(modules):
            name = re.sub(r"^jit_|\.\d+$", "", module)
            took = nanoseconds(each.seconds) if each.ended else None
            row = compilation(number, name, earlier[name], NOWHERE, duration_ns=took)
            made.add_row("compilation", row)
            if not each.ended:
                least = f"compiling {name} took at least {duration(each.seconds)}"
                add_warning(LoggedWarning("slow compilation", least), rows)
            earlier[name] += 1
        return FRONTEND

    def _add_folded(self, slow: _Slow, rows: ProcessRows) -> None:
        rows.add(
            "logged_constant",
            what="folded",
            compiled=slow.compiled,
            op=slow.op,
            shape=slow.shape,
            bytes=None,
            duration_ns=nanoseconds(slow.seconds),
            ended=slow.ended,
            **slow.site.columns(),
        )
