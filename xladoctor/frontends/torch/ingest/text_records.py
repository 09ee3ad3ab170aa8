"""Parses the records of Dynamo's text log: how they begin, their lines, their contents.

Wording: ``torch/_dynamo/guards.py``, ``symbolic_convert.py``, ``variables/tensor.py`` and
``convert_frame.py`` of torch 2.0 to 2.13.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from xladoctor.ingest.frames import NOWHERE, TRACED, CallSite, Folders, Frame
from xladoctor.recording.bootstrap._xladoctor.pytorch import breaks, guards

FRONTEND = "torch"
FOLDERS = Folders.elsewhere(FRONTEND)
WRAPPER = re.compile(r"(?:^|[/\\])_dynamo[/\\]\w+\.py$")  # files that wrap what is compiled
#: The error at a limit if a function must not run eagerly; in older releases it names the limit.
ABORTED = re.compile(
    r"FailOnRecompileLimitHit: |torch\._dynamo\.exc\.\w+: (?P<limit>\w+_limit) reached"
)
_LIMIT = re.compile(r"torch\._dynamo hit config\.(\w+_limit) \((\d{1,9})\)")
_BROKEN = re.compile(r"Graph break (?:\(.{0,200}\) )?in user code at (.+?):(\d{1,9})$")
_BROKEN_FROM = re.compile(r"Graph break: (.*?) ?from user code at:$")
_READ = re.compile(r"Graph break from `Tensor.item\(\)`, consider setting:")
_OF_READS = re.compile(r"variables[/\\]tensor\.py:\d+\]")  # the file that logs reads
_CALL = "call of Tensor.item()"
_RECOMPILING = re.compile(
    r"Recompiling function (\S+) in (.+?)(?::(\d{1,9}))?(?=$|', [\"']triggered by | triggered by )"
)
#: Where to split a record that is in one line, as in torch 2.0 or in a web page's text.
_PARTED = re.compile(r"(?:', [\"']|\s)(?=triggered by the following )|\s(?=- \d+/\d+: )")
_MARKED = re.compile(
    r"(?:\[(?=__\w+\])|\.(?=__\w+: ))__(recompiles|graph_breaks)(?:_verbose)?"
    r"(?:\]|: \[\w+\]) ?(.*)"
)
#: What precedes the text of a record's first line: the log's head, or a console's prefix.
_HEAD = re.compile(r"|.*[\])|>:]\s+|.*\dZ?\s+")
_NUMBER = re.compile(r"\[(\d{1,9}/\d{1,9})(?:_\d+)?\]")
_TRIGGERED = re.compile(r"\s*triggered by the following guard failure(?:\(s\))?:\s*(.*)")
_REASON = re.compile(r"(?:\s+|(?=- \d+/\d+: ))- (.+)")
_CONTINUED = ("User stack trace:", "  ")  # further lines of a reason, since torch 2.13
_LIMITED = re.compile(r"\s*function: '(?>(.+?)' \()(.+?):(\d{1,9})\)$")
_LAST = re.compile(
    r"\s*last reason: (.+)|"
    r"\s*reasons: +[\[(]+(['\"])(.+?)\2\s*(?:,.*)?[\])]+$"
)  # a list in torch 2.0
_WHY = re.compile(r"(?:Graph Break )?Reason: (.*)")
_STACK, _TRACEBACK = "User code traceback:", "Traceback (most recent call last):"
#: Parts of a break's record other than its reason.
_BETWEEN = re.compile(f"\\s|$|{_STACK}$|{re.escape(_TRACEBACK)}$|or:$|to include these ")
_RAISED = re.compile(r"torch\._dynamo\.exc\.\w+: (.+)")
_SWITCH = re.compile(r"torch\._dynamo\.config\.\w+ = \w+")
_LOCAL = re.compile(r"\bL\[['\"]([^'\"]+)['\"]\]")  # how arguments are named until torch 2.5
_MOST_LINES = 200  # lines of a record
_LONGEST = 5_000  # characters of a line: patterns take quadratic time


class Form(NamedTuple):
    """How records of a kind begin, also where their mark is cut off, and their further lines."""

    begins: re.Pattern[str]
    further: tuple[re.Pattern[str], ...]


_OF_BREAKS = (_BETWEEN, _WHY, _RAISED)
#: By kind; ``reads``: a tensor's value is read, which splits the function, as a warning says.
_FORMS = {
    "limit": Form(_LIMIT, (_LIMITED, _LAST, re.compile("|".join(_CONTINUED)))),
    "recompiles": Form(_RECOMPILING, (_TRIGGERED, _REASON)),
    "reads": Form(_READ, _OF_BREAKS),
    "graph_breaks": Form(re.compile(f"{_BROKEN.pattern}|{_BROKEN_FROM.pattern}"), _OF_BREAKS),
}


class Line(NamedTuple):
    """A line of a console.

    Attributes:
        kind: the kind of its record; empty if it has no mark and begins none.
        head: what precedes the log's own text.
        begins: whether it begins a record.
    """

    kind: str
    head: str
    text: str
    begins: bool


def taken_apart(line: str) -> Line:
    """A line with its mark, and whether it begins a record, with or without a mark."""
    text = line = line[:_LONGEST]
    if marked := _MARKED.search(line):
        text = marked[2]
    begun = ((kind, match) for kind, form in _FORMS.items() if (match := form.begins.search(text)))
    kind, match = next(begun, ("", None))
    if marked:
        return Line(marked[1], line[: marked.start()], text, match is not None)
    if match and _HEAD.fullmatch(head := line[: match.start()]):
        return Line(kind, head, line[match.start() :], True)
    return Line("", "", line, False)


@dataclass(slots=True)
class Record:
    """A record: its kind and its lines.

    Attributes:
        head: the start of its first line, which the others repeat.
        lines: its lines without the head; the first is empty if it was cut off.
    """

    kind: str
    head: str
    lines: list[str] = field(default_factory=list)

    @property
    def number(self) -> str:
        """The number of its compilation, such as 0/1; empty if the head was cut off."""
        found = _NUMBER.search(self.head)
        return found[1] if found else ""

    def add(self, text: str) -> None:
        """Take a further line."""
        if len(self.lines) < _MOST_LINES:
            self.lines.append(text)

    def further(self, line: Line) -> str | None:
        """The text of a line that belongs to the record; None if it does not."""
        if line.begins:
            rest = self.kind == "reads" and _BROKEN_FROM.match(line.text)
            return line.text if rest else None
        if line.kind:
            return line.text if line.kind == self.kind else None
        text = self._without_head(line.text)
        return text if any(each.match(text) for each in _FORMS[self.kind].further) else None

    def _without_head(self, line: str) -> str:
        head = re.sub(r"\d+", r"\\d+", re.escape(self.head.rstrip()))
        match = re.match(head, line) if head else None
        return line[match.end() :].removeprefix(" ") if match else line


class FunctionDefinition(NamedTuple):
    """A function, and where it is defined; in torch 2.0 the line is not logged."""

    name: str
    file: str
    line: int | None


@dataclass(slots=True)
class Limit:
    """A limit of compilations that a function has reached.

    Attributes:
        name: the setting.
        size: its value; None if it is not logged.
        reason: the guard that failed last; empty if it is not logged.
        aborts: whether an error was raised.
    """

    name: str
    size: int | None = None
    reason: str = ""
    aborts: bool = False

    def row(
        self,
        compiled: str | None,
        ordinal: int,
        change: guards.Change,
        used: CallSite,
        defined: CallSite = NOWHERE,
        dynamic: bool | None = None,
    ) -> dict[str, Any]:
        """Its row of ``compile_limit``, except for the call site.

        Args:
            compiled: the function.
            ordinal: how often it was compiled.
            change: what was new, by the reason.
            used: the line that needs the guard.
            defined: the line that defines the function.
            dynamic: whether the settings make changed sizes dynamic.
        """
        return {
            "compiled": compiled,
            "defined_file": defined.file,
            "defined_line": defined.line,
            "name": self.name,
            "size": self.size,
            "ordinal": ordinal,
            "launches": None,
            "dynamic": dynamic,
            **change._asdict(),
            "hint": guards.hint(self.reason) or None,
            "aborts": self.aborts,
            "used_file": used.file,
            "used_line": used.line,
            "used_function": used.function,
        }


@dataclass(frozen=True, slots=True)
class Break:
    """A place where a function is split.

    Attributes:
        intended: whether the framework's own code requests it.
        brief: whether another record of the same place, if there is one, has more details.
    """

    number: str
    function: str | None
    site: CallSite
    reason: str
    hint: str
    intended: bool = False
    brief: bool = False

    @property
    def frame(self) -> str:
        """The number of the function's frame; empty if its record is cut off."""
        return self.number.partition("/")[0]

    def row(self, compiled: str | None, whole: bool = False) -> dict[str, Any]:
        """Its row of ``graph_break``; ``compiled`` is the function that is split, or if it is split
        as a ``whole``, not compiled.
        """
        return {
            "compiled": compiled,
            "reason": self.reason,
            "hint": self.hint or None,
            "whole": whole,
            "count": None,
            "per_call": None,
            "frame": self.frame or None,
            **self.site.columns(),
        }


def opened(line: Line) -> Record | None:
    """The record that a line begins, even if the lines before it were cut off."""
    if line.begins:
        parts = _PARTED.split(line.text) if line.kind == "recompiles" else [line.text]
        return Record(line.kind, line.head, parts)
    if line.kind == "recompiles" and _REASON.match(line.text):
        return Record(line.kind, line.head, ["", line.text])
    return None


def recompiled(record: Record) -> tuple[FunctionDefinition | None, list[str]]:
    """The function that was compiled again (None if cut off), and the guards that failed."""
    match = _RECOMPILING.search(record.lines[0])
    return match and _defined(match), _reasons(record.lines[1:])


def limited(record: Record) -> tuple[FunctionDefinition, Limit] | None:
    """The function in a record, and the limit that it has reached; None if they are cut off."""
    limit = _LIMIT.search(record.lines[0])
    match = next(filter(None, map(_LIMITED.match, record.lines)), None)
    last = next(filter(None, map(_LAST.match, record.lines)), None)
    if limit is None or match is None:
        return None
    stack = record.lines[record.lines.index(last[0]) + 1 :] if last else []
    reason = "\n".join([_LOCAL.sub(r"\1", last[1] or last[3]), *stack]) if last else ""
    return _defined(match), Limit(limit[1], int(limit[2]), reason)


def broken(record: Record) -> Break | None:
    """The break in a record; None if it is another program's line."""
    first, *rest = record.lines
    if not rest and not record.number:
        return None
    at, read = _BROKEN.match(first), _READ.match(first)
    of_reads = read or _OF_READS.search(record.head)
    since = next(filter(None, map(_BROKEN_FROM.match, record.lines)), None)
    user = rest[: rest.index(_TRACEBACK)] if since and _TRACEBACK in rest else rest
    stack = [
        Frame(found[1], int(found[2]), breaks.function_name(found[3].strip()))
        for line in user
        if (found := TRACED.match(line))
    ]
    place = Frame(at[1], int(at[2]), "?") if at else None
    innermost = place or (stack[-1] if stack else None)
    text = _reason_at(rest) if at else _CALL if of_reads else _reason_since(since, rest)
    asked_for = breaks.asked_for(text) and innermost and FOLDERS.is_machinery(innermost.file)
    if place and stack and (stack[-1].file, stack[-1].line) == (place.file, place.line):
        place = None  # the stack has its function
    frames = [*([place] if place else []), *reversed(stack)]
    site = FOLDERS.locate(frames) if frames else NOWHERE
    why, hint = breaks.reason(text)
    if of_reads and (switch := _SWITCH.search("\n".join(record.lines))):
        hint = switch[0]
    function = stack[-1].function if stack and not place else None
    brief = text in (_CALL, "unknown")
    return Break(record.number, function, site, why, hint, bool(asked_for), brief)


def after(reasons: Iterable[str]) -> str:
    """The number after those of the versions whose guards failed; empty if none has a number."""
    versions = filter(None, map(guards.compared_with, reasons))
    compared = [version.partition("_")[0].partition("/") for version in versions]
    if not compared:
        return ""
    frame, _, nth = max(compared, key=lambda version: int(version[2]))
    return f"{frame}/{int(nth) + 1}"


def _defined(match: re.Match[str]) -> FunctionDefinition:
    return FunctionDefinition(match[1], match[2], int(match[3]) if match[3] else None)


def _reasons(lines: list[str]) -> list[str]:
    """The guards that failed."""
    reasons: list[str] = []
    for line in lines:
        match = _TRIGGERED.match(line) or _REASON.match(line)
        if match is None or not match[1].strip():
            continue
        if reasons and match[1].startswith(_CONTINUED):
            reasons[-1] += f"\n{match[1]}"
        else:
            reason = match[1].removesuffix('")').removesuffix("')")
            reasons.append(_LOCAL.sub(r"\1", reason).strip())
    return reasons


def _reason_at(lines: list[str]) -> str:
    """The reason of a break: the lines between its place and the stack that led there."""
    reason = lines[: lines.index(_STACK)] if _STACK in lines else lines
    match = _WHY.match(reason[0]) if reason else None
    return "\n".join([match[1], *reason[1:]]) if match else "unknown"


def _reason_since(since: re.Match[str] | None, lines: list[str]) -> str:
    """The reason until torch 2.5: before the stack that led there, or the error at the end."""
    text = since[1] if since else ""
    raised = [found[1] for line in lines if (found := _RAISED.match(line))]
    return text if text not in ("", "skip:") else raised[-1] if raised else "unknown"
