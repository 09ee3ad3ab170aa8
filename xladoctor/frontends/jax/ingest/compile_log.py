"""Reads JAX's log of its compilations, between a program's other output.

``JAX_LOG_COMPILES=1`` logs what is compiled, for which arguments, and how long each phase takes.
``JAX_EXPLAIN_CACHE_MISSES=1`` logs the calling line, and what differs from the most similar earlier
call; without the former, each explanation counts as a compilation of unknown duration. Neither logs
how often a function was called. Wording: ``jax/_src/dispatch.py``, ``interpreters/pxla.py``,
``interpreters/partial_eval.py`` (``explain``; in ``pjit.py`` until 0.8).
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from xladoctor.frontends.jax.ingest.alignment import first_of
from xladoctor.ingest.compilations import cause_of
from xladoctor.ingest.compiler_log import (
    CompilerLog,
    compilation,
    key_change,
    note_few,
)
from xladoctor.ingest.frames import NOWHERE, CallSite, Folders, Frame
from xladoctor.ingest.gathered import Gathered
from xladoctor.ingest.interface import Columns, ProcessRows
from xladoctor.quantities import nanoseconds
from xladoctor.recording.bootstrap._xladoctor.jax.assignments import Place
from xladoctor.recording.bootstrap._xladoctor.jax.keys import Change
from xladoctor.recording.bootstrap._xladoctor.jax.static import without_addresses

FRONTEND = "jax"
_MISS = re.compile(r"\A(?>.*?TRACING CACHE MISS at )(.+?):(\d{1,9})(?::\d+)? \((.{1,200}?)\)")
_COMPILING = re.compile(
    r"\A(?>.*?Compiling )(?:jit\()?(.{1,200}?)\)? (?:for )?with global shapes and types "
    r"[\[(](.*?)[\])]\."
)
_FINISHED = re.compile(
    r"\A(?>.*?Finished (?=tracing|jaxpr|XLA))"
    r"(tracing(?: \+ transforming)?|jaxpr to MLIR module conversion|XLA compilation of)"
    r" (?:jit\()?(.{1,200}?)\)?(?: for \w{1,100})? in (\d{1,9}(?:\.\d+)?(?:e-?\d+)?) sec"
)
_HIT = re.compile(r"compilation cache hit for '(?:jit_)?(.{1,200}?)'")
_ARGUMENT = re.compile(r"ShapedArray\((\w+)\[([^\[\]]*)\]([^()]*)\)")
#: Lines of an explanation: the function, that another one was seen, and what differs.
_FUNCTION = re.compile(r"(?:for )?(\S.{0,199}?)(?: id=\d+)?(?: defined at (.+?)(?::(\d{1,9}))?)?$")
_ANEW = "but seen another function defined on the same line"
_NOW = re.compile(
    r"\* at (?:input path )?(?>(.{1,300}?), now )(?>(.+?) and before )(.+?)(?:, so .*)?$"
)
_SEEN = re.compile(
    r"\* at (?:input path )?(?>(.{1,300}?), seen )(?>(.+?),? but now given )(.+?)(?:, so .*)?$"
)
_SETTING = re.compile(r"\* (\w+) differs: now (.+?) and before (.+)$")
_VALUES = re.compile(r"now (.{1,300}?) and before (.{1,300})$")  # static arguments, until 0.9
_STATIC = re.compile(r"\A(?>.*?Static\(val=)(.*)\)$")
_LINK = re.compile(r"https?://\S*$")  # to the page on weak types, with no space before it
_TREE, _CONTEXT = "different input pytree", re.compile(r"racing context(?! key)")
#: Starts of an explanation's lines, to find them behind a prefix.
_DETAIL = re.compile(
    r"(?:never seen function|(?<!\S)\S{1,200} id=\d+(?: defined at |$)"
    r"|for \S.{0,400}? defined at |but seen another|being re-defined"
    r"|all previously seen|(?:Several|Closest) previous|closest seen"
    r"|different input|(?:\* )?key with different|[Tt]racing context"
    r"|\* (?:at )?\S.{0,400}?(?:, now |seen |differs: ))"
    r".*|now .{1,400}? and before .+"
)
_TYPE = re.compile(r"(~?\w+)\[([^\]]*)\]")
_MOST_LINES = 200  # lines of an explanation
_KEPT = 64  # earlier compilations of a function to compare with
_FOLDERS = Folders.elsewhere(FRONTEND)


@dataclass(slots=True)
class _Miss:
    """An explanation: the line of the call, and what is new."""

    site: Frame
    lines: list[str] = field(default_factory=list)

    @property
    def function(self) -> str:
        """The name of the called function, as the compiler has it."""
        match = self._named()
        return match[1].rpartition(".")[2] if match else ""

    def _named(self) -> re.Match[str] | None:
        named = (line for line in self.lines if not line.startswith("never seen function"))
        return _FUNCTION.match(next(named, ""))

    def changes(self) -> list[Change]:
        """The differences from the most similar call; empty if the function was new."""
        if any(line.startswith(_ANEW) for line in self.lines):
            return [] if self.is_an_operation else [self._anew()]
        if values := [match for line in self.lines if (match := _VALUES.match(line))]:
            found = [_of_values("", match[2], match[1]) for match in values]
            return [min(found, key=lambda change: change.what)]
        tree = any(_TREE in line for line in self.lines)
        changes = [change for line in self.lines if (change := _change(line, tree))]
        if not changes and any(map(_CONTEXT.search, self.lines)):
            return [Change("configuration", "", "", "")]
        return changes

    @property
    def is_an_operation(self) -> bool:
        """Whether it is an operation of JAX, which makes a function for each set of parameters."""
        defined = self._named()
        return bool(defined and defined[2] and _FOLDERS.is_machinery(defined[2]))

    def _anew(self) -> Change:
        defined = self._named()
        place = None
        if defined and defined[3] and (defined[2], int(defined[3])) != self.site[:2]:
            place = Place(defined[2], int(defined[3]), self.function)
        return Change("function", "", "", self.function, place)


def _change(line: str, tree: bool) -> Change | None:
    if match := _SETTING.match(line):
        return Change("configuration", match[1], match[3], match[2])
    if match := _NOW.match(line):
        argument, now, was = match.groups()
    elif match := _SEEN.match(line):
        argument, was, now = match.groups()
    else:
        return None
    was, now = _LINK.sub("", was), _LINK.sub("", now)
    values = _STATIC.search(was), _STATIC.search(now)
    if values[0] and values[1]:
        return _of_values(argument, values[0][1], values[1][1])
    return Change("structure" if tree else _what(was, now), argument, was, now)


def _of_values(argument: str, was: str, now: str) -> Change:
    """A change of a static value; if only an address differs, the object was created again."""
    if was != now and without_addresses(was) == without_addresses(now):
        return Change("function", argument, "", without_addresses(now))
    return Change("static", argument, was, now)


def _what(was: str, now: str) -> str:
    """What differs between the types of two arrays, as JAX writes them."""
    before, after = _TYPE.match(was), _TYPE.match(now)
    if before is None or after is None:
        return "static"
    if before[1] != after[1]:
        return "type"
    if before[2] != after[2]:
        return "shape"
    return "weak_type" if "weak_type" in now else "sharding"


@dataclass(slots=True)
class _Compiled:
    """One compilation."""

    name: str
    arguments: tuple[str, ...]
    duration_ns: int | None
    cached: bool
    site: CallSite
    ordinal: int
    against: int | None
    changes: list[Change]


class CompileLog(CompilerLog):
    """Collects the compilations in the lines of one process."""

    NAME = "JAX's log of compilations"
    LACKING = "JAX's log of compilations is cut off: no compilation is complete"
    MARKS = ("Finished ", "Compiling ", "TRACING CACHE MISS at ", "compilation cache hit for ")

    def __init__(self) -> None:
        self.compilations: list[_Compiled] = []
        self._open: _Miss | None = None  # the explanation whose lines follow
        self._missed: dict[str, _Miss] = {}  # by function, until it is compiled
        self._explained: list[_Miss] = []  # all explanations, while no compilation is logged
        self._silent = True
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._arguments: dict[str, tuple[str, ...]] = {}
        self._cached: set[str] = set()
        self._of: dict[str, list[int]] = {}
        self._at: Counter[tuple[CallSite, str]] = Counter()

    @property
    def compiled(self) -> int | None:
        """The number of compilations."""
        return len(self.compilations)

    @property
    def has_records(self) -> bool:
        """Whether the log has a compilation."""
        return bool(self.compilations or (self._silent and (self._explained or self._open)))

    def take(self, line: str) -> bool:
        """Take a line; False if it is not part of the log.

        An explanation is open until the next record, as other output may come between its lines.
        """
        if self._open and self.mark(line) is None:
            text = line.strip() if line[:1].isspace() else _detail(line)
            if text and len(self._open.lines) < _MOST_LINES:
                self._open.lines.append(text)
            return bool(text)
        self._close()
        self._silent = self._silent and _MISS.search(line) is not None
        if match := _MISS.search(line):
            self._open = _Miss(Frame(match[1], int(match[2]), match[3]))
        elif match := _COMPILING.search(line):
            self._arguments[match[1]] = tuple(_typed(match[2]))
        elif match := _HIT.search(line):
            self._cached.add(match[1])
        elif match := _FINISHED.search(line):
            self._seconds[match[2]] += float(match[3])
            if match[1].startswith("XLA"):
                self._ended(match[2])
        else:
            return False
        return True

    def _close(self) -> None:
        """Finish the open explanation."""
        if self._open:
            self._missed[self._open.function] = self._open
            if self._silent:
                self._explained.append(self._open)
        self._open = None

    def _finish(self) -> None:
        """If no compilations are logged, count one for each explanation."""
        self._close()
        for miss in self._explained if self._silent else ():
            if miss.lines and not miss.is_an_operation:
                self._missed[miss.function] = miss
                self._ended(miss.function)
        self._explained.clear()

    def _ended(self, name: str) -> None:
        miss, arguments = self._missed.pop(name, None), self._arguments.pop(name, ())
        site = _FOLDERS.locate([miss.site]) if miss else NOWHERE
        earlier = self._of.setdefault(name, [])
        against, changes = self._compared(arguments, earlier)
        seconds = self._seconds.pop(name, None)
        if miss and (explained := miss.changes()):
            if earlier:
                against = earlier[-1] if against is None else against
            changes = explained
        elif miss is None and against is not None and not changes:
            changes = [Change("same_types", "", "", "")]
        earlier.append(len(self.compilations))
        del earlier[:-_KEPT]
        took = None if seconds is None else nanoseconds(seconds)
        cached, ordinal = name in self._cached, self._at[site, name]
        made = _Compiled(name, arguments, took, cached, site, ordinal, against, changes)
        self.compilations.append(made)
        self._cached.discard(name)
        self._at[site, name] += 1

    def _compared(
        self, arguments: tuple[str, ...], earlier: Iterable[int]
    ) -> tuple[int | None, list[Change]]:
        """The most similar earlier compilation (the newest of several), and the differences."""
        best: tuple[int | None, list[Change]] = (None, [])
        for number in earlier:
            before = self.compilations[number].arguments
            changes = list(_differing(before, arguments))
            if best[0] is None or len(changes) <= len(best[1]):
                best = number, changes
        return best

    def add(self, made: Gathered, rows: ProcessRows) -> str | None:
        """Fill the process's tables of compilations and of what was new in them.

        If a timeline has compilations that can be matched, they get the line and cause.
        """
        self._finish()
        rows.table("compilation")
        if timed := list(made.of("compilation", "via", "duration_ns")):
            first = first_of(
                [(function, took or 0) for function, took in timed],
                [(each.name, each.duration_ns or 0) for each in self.compilations],
            )
            if first is None:
                rows.notes.append(
                    "JAX's log of compilations is left out: it does not"
                    " say which of them are the timeline's; analyzed alone, it shows lines and"
                    " causes"
                )
            else:
                self._place(first, made.table("compilation"), rows)
            return None
        for number, each in enumerate(self.compilations):
            columns = {"cached": each.cached or None, "duration_ns": each.duration_ns}
            row = compilation(number, each.name, each.ordinal, each.site, **columns)
            made.add_row("compilation", row)
        self._add_changes(dict(enumerate(range(len(self.compilations)))), rows)
        note_few(len(self.compilations), rows)
        return FRONTEND

    def _place(self, first: int, table: Columns, rows: ProcessRows) -> None:
        """Give a timeline's compilations the lines of their records, from this one on in the log.

        A function compiled before the timeline was also called before it: its warm-up is over.
        """
        before = Counter(each.name for each in self.compilations[:first])
        for row, made in enumerate(self.compilations[first:][: len(table["index"])]):
            if made.site is not NOWHERE:
                for name in made.site.columns().keys() - {"via"}:
                    table[name][row] = getattr(made.site, name)
            table["cause"][row] = cause_of(made.name)
            table["ordinal"][row] = (table["ordinal"][row] or 0) + before[made.name]
        self._add_changes(dict(enumerate(table["index"], first)), rows)

    def _add_changes(self, indices: Mapping[int, int], rows: ProcessRows) -> None:
        """Fill ``key_change`` of these compilations, by their numbers in the log."""
        rows.table("key_change")
        for number, index in indices.items():
            made = self.compilations[number]
            against = None if made.against is None else indices.get(made.against)
            for nth, change in enumerate(made.changes):
                site = CallSite(*change.place) if change.place else NOWHERE
                rows.add("key_change", **key_change(index, against, change, site, "made", nth))


def _detail(line: str) -> str:
    """The text of an explanation's line without a prefix, such as a job's."""
    match = _DETAIL.search(line)
    return match[0].strip() if match else ""


def _typed(text: str) -> Iterator[str]:
    """The types of arguments, such as ``float32[3,4]``; weak ones have a mark."""
    for dtype, shape, rest in _ARGUMENT.findall(text):
        yield f"{dtype}[{shape}]" + ("{weak_type=True}" if "weak_type=True" in rest else "")


def _differing(before: tuple[str, ...], after: tuple[str, ...]) -> Iterator[Change]:
    if len(before) != len(after):
        yield Change("structure", "", f"{len(before)} leaves", f"{len(after)} leaves")
        return
    for number, (was, now) in enumerate(zip(before, after, strict=True), 1):
        if was != now:
            same = was.partition("{")[0] == now.partition("{")[0]
            yield Change("weak_type" if same else _what(was, now), f"argument {number}", was, now)
