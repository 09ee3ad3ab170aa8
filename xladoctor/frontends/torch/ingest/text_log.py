"""Reads Dynamo's text log of its compilations, between a program's other output.

``TORCH_LOGS=recompiles`` logs each function that is compiled again and the guards that failed;
``TORCH_LOGS=graph_breaks`` logs where a function is split. That a function reached the recompile
limit, and that ``Tensor.item()`` splits one, are warnings, logged without any setting. None of them
shows how often a function was called, nor by which line. A record has several lines. Each begins
with a head in the style of glog (of Python's logging until torch 2.2), which people often cut off
when they paste.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

from xladoctor.facts.graphs import UNNAMED
from xladoctor.frontends.torch.ingest.failed_guards import FailedGuards, condition, used_at
from xladoctor.frontends.torch.ingest.text_records import (
    ABORTED,
    FOLDERS,
    FRONTEND,
    WRAPPER,
    Break,
    FunctionDefinition,
    Limit,
    Record,
    after,
    broken,
    limited,
    opened,
    recompiled,
    taken_apart,
)
from xladoctor.ingest.compiler_log import (
    CompilerLog,
    compilation,
    key_change,
    note_few,
)
from xladoctor.ingest.frames import NOWHERE, CallSite, Frame
from xladoctor.ingest.gathered import Gathered
from xladoctor.ingest.interface import ProcessRows
from xladoctor.recording.bootstrap._xladoctor.pytorch import breaks, guards

#: Compilations before the first that a function's log names: no more rows for what a number says.
#: By default torch stops at 8.
_MOST_EARLIER = 16


@dataclass(slots=True)
class _Function:
    """A function that is compiled.

    Attributes:
        defined: where it is defined; None if that was cut off.
        numbers: the numbers of its compilations; the first is not logged.
    """

    defined: FunctionDefinition | None
    numbers: dict[str, None] = field(default_factory=dict)
    failed: FailedGuards = field(default_factory=FailedGuards)
    limit: Limit | None = None

    @property
    def name(self) -> str:
        """Its readable name."""
        if self.defined is None or self.is_wrapper:
            return UNNAMED
        return str(breaks.function_name(self.defined.name))

    @property
    def is_wrapper(self) -> bool:
        """Whether it is Dynamo's own, around a function of the program, which is an argument."""
        return bool(self.defined and WRAPPER.search(self.defined.file))

    @property
    def frame(self) -> str:
        """The frame's id, which its numbers begin with; empty if unknown."""
        return next(iter(self.numbers), "").partition("/")[0]

    @property
    def site(self) -> CallSite:
        """The line that defines the function, since calls are not logged."""
        if self.defined is None:
            return NOWHERE
        site = FOLDERS.locate([Frame(self.defined.file, self.defined.line or 0, self.name)])
        return site if self.defined.line else replace(site, line=None)

    def compiled(self, number: str, reasons: list[str]) -> None:
        """Record that the function was compiled, and before that for the versions that the reasons
        name, and as often as the number implies, even if that is not in the part that was pasted.
        """
        frame, last = number.partition("/")[0], _nth(number)
        named = (_nth(version) for version in map(guards.compared_with, reasons) if version)
        made = {0, *range(max(0, last - _MOST_EARLIER), last), *named}
        self.numbers |= dict.fromkeys(f"{frame}/{each}" for each in made if each < last)
        self.numbers[number] = None
        if reasons:
            self.failed.add(number, reasons)


def _nth(number: str) -> int:
    """Which version of its function a number such as 0/2 or 0/2_1 is."""
    return int(number.partition("_")[0].partition("/")[2])


class TextLog(CompilerLog):
    """Collects the compilations, breaks and limits in the lines of one process."""

    NAME = "PyTorch's log of compilations"
    LACKING = "no complete record of PyTorch's log of compilations in it"
    MARKS = (
        "__recompiles",
        "__graph_breaks",
        "torch._dynamo hit config.",
        "Recompiling function ",
        "Graph break in user code at ",
        "Graph break from `",
        "from user code at:",
        "FailOnRecompileLimitHit: ",
        "_limit reached",
    )

    def __init__(self) -> None:
        self._open: Record | None = None
        self._functions: dict[FunctionDefinition | str, _Function] = {}
        self._orphans: list[tuple[str, list[str]]] = []  # reasons whose function was cut off
        self._breaks: dict[tuple[str | None, int | None, str], Break] = {}

    @property
    def has_records(self) -> bool:
        """Whether the log has a compilation or a break."""
        self.finish()
        return bool(self._functions or self._orphans or self._breaks)

    def take(self, line: str) -> bool:
        """Take a line; False if it is not part of the log."""
        line = line.rstrip("\r\n")
        begun = taken_apart(line)
        if self._open and (text := self._open.further(begun)) is not None:
            self._open.add(text)
            return True
        self.finish()
        self._open = opened(begun)
        return self._open is not None or self._aborted(line)

    def finish(self) -> None:
        """Close the open record."""
        record, self._open = self._open, None
        if record is None:
            return
        if record.kind == "recompiles":
            self._recompiled(record)
        elif record.kind == "limit":
            self._limited(record)
        elif found := broken(record):
            self._breaks.setdefault((found.site.file, found.site.line, found.reason), found)

    def _function(self, defined: FunctionDefinition) -> _Function:
        return self._functions.setdefault(defined, _Function(defined))

    def _recompiled(self, record: Record) -> None:
        defined, reasons = recompiled(record)
        if not reasons and not (record.number and defined):
            return  # another program's line
        if defined is None:
            self._orphans.append((record.number, reasons))
            return
        function = self._function(defined)
        function.compiled(self._number(function, record.number, reasons), reasons)

    def _number(self, function: _Function, number: str, reasons: list[str]) -> str:
        """The number of a record's compilation, also if its head was cut off. Until torch 2.4
        guards do not name their version, but there is one of each.
        """
        if number := number or after(reasons):
            return number
        frame = next(at for at, each in enumerate(self._functions.values()) if each is function)
        if (number := f"{frame}/{max(1, len(reasons))}") not in function.failed:
            return number
        return f"{frame}/{max(1, len(function.numbers))}"

    def _adopt(self) -> None:
        """Assign orphaned reasons to the function of their frame, if other records name it."""
        orphans, self._orphans = self._orphans, []
        frames = {each.frame: each for each in self._functions.values() if each.frame}
        guarded = {
            guard: each for each in self._functions.values() for guard in each.failed.conditions
        }
        for number, reasons in orphans:
            frame = (number or after(reasons)).partition("/")[0]
            function = frames.get(frame) if frame else guarded.get(condition(reasons[-1]))
            if function is None:
                function = self._functions.setdefault(frame, _Function(None))
                frames.setdefault(frame, function)
            function.compiled(self._number(function, number, reasons), reasons)

    def _limited(self, record: Record) -> None:
        if not (found := limited(record)):
            return
        defined, limit = found
        function = self._function(defined)
        function.limit = limit
        number = record.number or f"{function.frame}/{limit.size}"
        if number in function.numbers:  # the limit kept it from being compiled again
            del function.numbers[number]
            function.failed.drop(number)

    def _aborted(self, line: str) -> bool:
        """Whether a line is the error of the limit logged last, or of one that was cut off."""
        if not (error := ABORTED.search(line)):
            return False
        limits = [function.limit for function in self._functions.values() if function.limit]
        if not limits:
            limits = [Limit(error["limit"] or "recompile_limit")]
            self._functions[""] = _Function(None, limit=limits[0])
        limits[-1].aborts = True
        return True

    def add(self, made: Gathered, rows: ProcessRows) -> str | None:
        """Fill the tables of a process. If other evidence has compilations of the process, perhaps
        by another compiler, only breaks and limits are added.
        """
        self.finish()
        self._adopt()
        counts = [*rows.of("metric", "name"), *rows.of("counter", "name")]
        counted = made.has("compilation") or bool(counts)
        if not counted and any(each.numbers for each in self._functions.values()):
            self._add_compilations(made, rows)
        if self._breaks:
            self._add_breaks(rows)
        for function in self._functions.values():
            if function.limit:
                self._add_limit(function, function.limit, rows)
        return None if counted else FRONTEND

    def _add_breaks(self, rows: ProcessRows) -> None:
        rows.table("graph_break")
        names = {each.frame: each.name for each in self._functions.values() if each.frame}
        detailed = {
            (file, line) for (file, line, _), each in self._breaks.items() if not each.brief
        }
        for (file, line, _), found in self._breaks.items():
            if found.intended or (found.brief and (file, line) in detailed):
                continue
            compiled = names.get(found.frame, found.function or UNNAMED)
            rows.add("graph_break", **found.row(compiled))

    def _add_limit(self, function: _Function, limit: Limit, rows: ProcessRows) -> None:
        used = used_at(limit.reason, self._files(function), FOLDERS)
        ordinal = max(len(function.numbers), limit.size or 0)
        change = function.failed.change(limit.reason)
        row = limit.row(function.name, ordinal, change, used, function.site)
        rows.add("compile_limit", **row, **function.site.columns())

    def _add_compilations(self, made: Gathered, rows: ProcessRows) -> None:
        rows.table("compilation", "key_change")
        first = 0  # a function's first number; several runs in one log reuse numbers
        for function in self._functions.values():
            numbers = sorted(function.numbers, key=_nth)
            at = {number: first + nth for nth, number in enumerate(numbers)}
            files, ordinal = self._files(function), 0
            for number, index in at.items():
                reason = function.failed.reason(number) if index > first else None
                change = function.failed.change(reason, number) if reason else None
                if change and change.what == "function" and function.is_wrapper:
                    reason, ordinal = None, 0  # another function, which the log does not name
                row = compilation(index, function.name, ordinal, function.site, compile_id=number)
                made.add_row("compilation", row)
                ordinal += 1
                if reason and change:
                    used = used_at(reason, files, FOLDERS)
                    against = at.get(guards.compared_with(reason) or "", index - 1)
                    hint = guards.hint(reason)
                    changed = key_change(index, against, change, used, "used", hint=hint)
                    rows.add("key_change", **changed)
            first += len(at)
        note_few(first, rows)

    def _files(self, function: _Function) -> list[str]:
        """Paths that a guard of the function may refer to, the likeliest first."""
        own = [function.site.file] if function.site.file else []
        return [*dict.fromkeys((*own, *self._all_files))]

    @cached_property
    def _all_files(self) -> list[str]:
        sites = [each.site for each in self._functions.values()]
        sites += [each.site for each in self._breaks.values()]
        return [*dict.fromkeys(site.file for site in sites if site.file)]
