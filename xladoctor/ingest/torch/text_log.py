"""What Dynamo logs of its compilations as text, between a program's other output.

``TORCH_LOGS=recompiles`` tells of each function that is compiled again and which guards failed,
``TORCH_LOGS=graph_breaks`` where a function is split; that a function reached the recompile limit
is a warning, which needs no setting. None tells how often a function was called, nor by which line.
A record has several lines; each begins with a head as of glog, or as of Python's logging until
torch 2.2, which people cut off when they paste. Wording: ``torch/_dynamo/guards.py``,
``symbolic_convert.py``, ``convert_frame.py``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from xladoctor.frontends.vocabulary import vocabulary
from xladoctor.ingest.compiler_log import CompilerLog, add_process, compilation
from xladoctor.ingest.frames import NOWHERE, CallSite, Folders, Frame
from xladoctor.ingest.interface import Ingested
from xladoctor.recording.bootstrap._xladoctor.torch import breaks, guards
from xladoctor.recording.bootstrap._xladoctor.torch.guards import Change

FRONTEND = "torch"
#: How records begin, whose marks people cut off, too.
_BEGINNINGS = {
    "Recompiling function ": "recompiles",
    "Graph break in user code at ": "graph_breaks",
}
_MARKED = re.compile(
    r"\[__(recompiles|graph_breaks)(?:_verbose)?\] ?(.*)"
    r"|\.__(recompiles|graph_breaks)(?:_verbose)?: \[\w+\] ?(.*)"
)
_HEAD = re.compile(r".*?\S+\.py:\d{1,9}\] (?:\[\d+/\d+(?:_\d+)?\] ?)?|.*?\[WARNING\] ")
_NUMBER = re.compile(r"\[(\d{1,9}/\d{1,9})(?:_\d+)?\]")
_RECOMPILING = re.compile(r"Recompiling function (\S+) in (.+?):(\d{1,9})$")
_TRIGGERED = re.compile(r"\s*triggered by the following guard failure(?:\(s\))?:\s*(.*)")
_REASON = re.compile(r"\s+- (.+)")
_LIMIT = re.compile(r"torch\._dynamo hit config\.(\w+_limit) \((\d{1,9})\)")
_LIMITED = re.compile(r"\s*function: '(.+?)' \((.+?):(\d{1,9})\)$")
_LAST = re.compile(
    r"\s*last reason: (.+)|"
    r"\s*reasons: +[\[(]+(['\"])(.+?)\2\s*(?:,.*)?[\])]+$"
)  # in torch 2.0, a list
#: Of a break: its place, or its reason, and what that place was traced from.
_BROKEN = re.compile(r"Graph break in user code at (.+?):(\d{1,9})$")
_BROKEN_FROM = re.compile(r"Graph break: (.*?) ?from user code at:$")
_WHY = re.compile(r"(?:Graph Break )?Reason: (.*)")
_TRACED = re.compile(r'\s*File "(.+?)", line (\d{1,9}), in (.+)')
_STACK, _TRACEBACK = "User code traceback:", "Traceback (most recent call last):"
_RAISED = re.compile(r"torch\._dynamo\.exc\.\w+: (.+)")
_LOCAL = re.compile(r"\bL\['([^']+)'\]")  # how arguments are called until torch 2.5
_MOST_LINES = 200  # of a record
_MOST_LINE = 2**31 - 1
_MOST_EARLIER = 1 << 10  # compilations of a function: torch's own limits are 8 and 256
_FOLDERS = Folders(framework=vocabulary(FRONTEND).packages)


@dataclass(slots=True)
class _Record:
    """A record: what it is of, and its lines.

    Attributes:
        kind: recompiles, graph_breaks or limit.
        number: of the compilation, as 0/1; empty if the head was cut off.
    """

    kind: str
    number: str
    lines: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Function:
    """A function that is compiled.

    Attributes:
        numbers: of its compilations, in order; the first is not logged.
        changes: for each compilation after the first, what was new and the number of the one that
            it was compared with.
    """

    name: str
    file: str
    line: int
    numbers: list[str] = field(default_factory=list)
    changes: dict[str, tuple[Change, str]] = field(default_factory=dict)
    limit: tuple[str, int, str] | None = None  # the setting, its value, the guard that failed

    @property
    def frame(self) -> str:
        """What its numbers begin with; empty if none is known."""
        return self.numbers[0].partition("/")[0] if self.numbers else ""

    @property
    def site(self) -> CallSite:
        """Where the function is defined: calls are not logged."""
        return _FOLDERS.locate([Frame(self.file, self.line, breaks.function_name(self.name))])


@dataclass(frozen=True, slots=True)
class _Break:
    """A place where a function is split."""

    number: str
    function: str | None
    site: CallSite
    reason: str
    hint: str


class TextLog(CompilerLog):
    """Has the compilations, breaks and limits that the lines of one process tell of."""

    NAME = "PyTorch's log of compilations"
    LACKING = "no complete record of PyTorch's log of compilations in it"
    MARKS = ("__recompiles", "__graph_breaks", "torch._dynamo hit config.", *_BEGINNINGS)

    def __init__(self) -> None:
        self._open: _Record | None = None
        self._functions: dict[tuple[str, str, int], _Function] = {}
        self._breaks: dict[tuple[CallSite, str], _Break] = {}
        self._intended = 0  # breaks that the framework's own code asks for

    @property
    def inside(self) -> bool:
        """Whether a record is open, whose further lines may have no mark."""
        return self._open is not None

    @property
    def tells(self) -> bool:
        """Whether it has a compilation or a break."""
        self.finish()
        return bool(self._functions or self._breaks or self._intended)

    def take(self, line: str) -> bool:
        """Take a line; False if it is not of the log."""
        line = line.rstrip("\r\n")
        marked, limit = _MARKED.search(line), _LIMIT.search(line)
        if limit:
            self._begin("limit", line[: limit.start()], line[limit.start() :])
        elif marked:
            kind, text = marked[1] or marked[3], marked[2] if marked[1] else marked[4]
            if text.startswith(("Recompiling function ", "Graph break")):
                self._begin(kind, line[: marked.start()], text)
            elif self._open and self._open.kind == kind:
                self._add(text)
        elif self._open and (text := self._continued(line)) is not None:
            self._add(text)
        elif kind := next((kind for begin, kind in _BEGINNINGS.items()
                           if line.startswith(begin)), None):  # fmt: skip
            self._begin(kind, "", line)
        else:
            self.finish()
            return False
        return True

    def _continued(self, line: str) -> str | None:
        """The text of a line without a mark, if it can be of the open record."""
        kind = self._open.kind if self._open else ""
        if kind == "limit":
            text = _HEAD.sub("", line, count=1)
            return text if _LIMITED.match(text) or _LAST.match(text) else None
        if kind == "recompiles":
            return line if _TRIGGERED.match(line) or _REASON.match(line) else None
        told = (not line.strip(), line[:1].isspace(), _WHY.match(line), _RAISED.match(line),
                line in (_STACK, _TRACEBACK))  # fmt: skip
        return line if any(told) else None

    def _begin(self, kind: str, head: str, text: str) -> None:
        self.finish()
        number = _NUMBER.search(head)
        self._open = _Record(kind, number[1] if number else "", [text])

    def _add(self, text: str) -> None:
        if self._open and len(self._open.lines) < _MOST_LINES:
            self._open.lines.append(text)

    def finish(self) -> None:
        """Close the record that is open."""
        record, self._open = self._open, None
        if record is None:
            return
        if record.kind == "recompiles":
            self._recompiled(record)
        elif record.kind == "limit":
            self._limited(record)
        else:
            self._broken(record)

    def _function(self, match: re.Match[str]) -> _Function:
        name, file, line = match[1], match[2], min(int(match[3]), _MOST_LINE)
        return self._functions.setdefault((name, file, line), _Function(name, file, line))

    def _recompiled(self, record: _Record) -> None:
        match = _RECOMPILING.match(record.lines[0])
        if match is None:
            return
        reasons = _reasons(record.lines[1:])
        if not reasons and not record.number:
            return  # some other program's line
        function = self._function(match)
        number = self._number(function, record.number, reasons)
        made = [f"{number.partition('/')[0]}/{nth}" for nth in range(_earlier(number))]
        function.numbers += [each for each in (*made, number) if each not in function.numbers]
        if reasons:
            reason = guards.nearest(reasons)
            change = guards.change(reason, guards.Frame({}, {}))
            before = function.numbers[function.numbers.index(number) - 1]
            function.changes[number] = change, guards.compared_with(reason) or before

    def _number(self, function: _Function, number: str, reasons: list[str]) -> str:
        """Of the compilation that a record tells of, whose head may be cut off. Until torch 2.4
        guards do not say whose they are.
        """
        if number:
            return number
        compared = (known for reason in reasons if (known := guards.compared_with(reason)))
        if newest := max(compared, key=_of_function, default=None):
            return f"{newest.partition('/')[0]}/{_of_function(newest) + 1}"
        frame = list(self._functions).index((function.name, function.file, function.line))
        return f"{frame}/{max(1, len(function.numbers))}"

    def _limited(self, record: _Record) -> None:
        limit = _LIMIT.search(record.lines[0])
        match = next(filter(None, map(_LIMITED.match, record.lines)), None)
        last = next(filter(None, map(_LAST.match, record.lines)), None)
        if limit is None or match is None:
            return
        function = self._function(match)
        reason = _LOCAL.sub(r"\1", last[1] or last[3]) if last else ""
        function.limit = limit[1], int(limit[2]), reason
        number = record.number or f"{function.frame}/{int(limit[2])}"
        if number in function.numbers:  # it was to be compiled again, and was not
            function.numbers.remove(number)
            function.changes.pop(number, None)

    def _broken(self, record: _Record) -> None:
        first, *rest = record.lines
        at, since = _BROKEN.match(first), _BROKEN_FROM.match(first)
        if not at and not since:
            return  # one that was told of before
        if not rest and not record.number:
            return  # some other program's line
        user = rest[: rest.index(_TRACEBACK)] if since and _TRACEBACK in rest else rest
        stack = [Frame(found[1], min(int(found[2]), _MOST_LINE), found[3].strip())
                 for line in user if (found := _TRACED.match(line))]  # fmt: skip
        text = _reason_of_break(rest) if at else (since[1] if since else "")
        if since and text in ("", "skip:"):
            raised = [found[1] for line in rest if (found := _RAISED.match(line))]
            text = raised[-1] if raised else "unknown"
        place = Frame(at[1], min(int(at[2]), _MOST_LINE), "?") if at else None
        innermost = place or (stack[-1] if stack else None)
        if innermost and breaks.asked_for(text) and _FOLDERS.is_machinery(innermost.file):
            self._intended += 1
            return
        if place and stack and (stack[-1].file, stack[-1].line) == (place.file, place.line):
            place = None  # the stack has its function
        frames = [*([place] if place else []), *reversed(stack)]
        site = _FOLDERS.locate(frames) if frames else NOWHERE
        why, hint = breaks.reason(text)
        function = stack[-1].function if stack and not place else None
        self._breaks.setdefault((site, why), _Break(record.number, function, site, why, hint))

    def add(self, process: int, ingested: Ingested) -> None:
        """Fill the tables of a process. Where other evidence has its compilations, which may be
        those of another compiler, only breaks and limits are added.
        """
        self.finish()
        known = {table for table in ("process", "compilation", "metric", "counter")
                 if process in ingested.tables.get(table, {}).get("process", ())}  # fmt: skip
        if not known:
            add_process(process, FRONTEND, ingested)
        if known <= {"process"}:
            self._add_compilations(process, ingested)
        names = {number.partition("/")[0]: function.name
                 for function in self._functions.values()
                 for number in function.numbers}  # fmt: skip
        ingested.table("graph_break")
        for found in self._breaks.values():
            frame = found.number.partition("/")[0] or None
            compiled = breaks.function_name(names.get(frame or "", found.function or "a function"))
            ingested.add("graph_break", process=process, compiled=compiled, reason=found.reason,
                         hint=found.hint or None, whole=False, count=None, per_call=None,
                         frame=frame, **found.site.columns())  # fmt: skip
        ingested.table("compile_limit")
        for function in self._functions.values():
            if function.limit:
                name, size, reason = function.limit
                change = guards.change(reason, guards.Frame({}, {}))
                ingested.add(
                    "compile_limit", process=process,
                    compiled=breaks.function_name(function.name), defined_file=function.file,
                    defined_line=function.line, name=name, size=size,
                    ordinal=max(len(function.numbers), size), launches=None, dynamic=None,
                    **change._asdict(), **function.site.columns(),
                )  # fmt: skip

    def _add_compilations(self, process: int, ingested: Ingested) -> None:
        ingested.table("compilation")
        ingested.table("key_change")
        first = 0  # of a function; numbers of several runs in one log are the same
        for function in self._functions.values():
            at = {number: first + nth for nth, number in enumerate(function.numbers)}
            for ordinal, (number, index) in enumerate(at.items()):
                name = breaks.function_name(function.name)
                ingested.add("compilation", **compilation(
                    process, index, name, ordinal, function.site, compile_id=number
                ))  # fmt: skip
                if number in function.changes:
                    change, against = function.changes[number]
                    ingested.add("key_change", process=process, index=index, nth=0,
                                 against=at.get(against, first), **change._asdict())  # fmt: skip
            first += len(at)


def _of_function(number: str) -> int:
    """Which compilation of its function it is."""
    return int(number.partition("/")[2].partition("_")[0])


def _earlier(number: str) -> int:
    """How many compilations of its function came before it: logged or not, and also in a log of
    which people paste a part.
    """
    return min(_of_function(number), _MOST_EARLIER)


def _reasons(lines: list[str]) -> list[str]:
    """The guards that failed."""
    found = [match for line in lines if (match := _TRIGGERED.match(line) or _REASON.match(line))]
    return [_LOCAL.sub(r"\1", match[1]).strip() for match in found if match[1].strip()]


def _reason_of_break(lines: list[str]) -> str:
    """What is between the place of a break and what it was traced from."""
    told = lines[: lines.index(_STACK)] if _STACK in lines else lines
    match = _WHY.match(told[0]) if told else None
    return "\n".join([match[1], *told[1:]]) if match else "unknown"
