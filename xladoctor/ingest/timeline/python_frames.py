"""Reads the Python functions that a profiler recorded as events of a thread.

XProf's Python tracers write ``$train.py:41 step``, with only the file's name, on the thread's own
line or in a plane of their own (``xla/python/profiler/internal/python_hooks.cc``). Kineto's Python
events are ``src/train.py(41): step``. The line is the function's first. C functions, and functions
that began before the profile, have no events.
"""

from __future__ import annotations

import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import PurePath
from types import MappingProxyType

import numpy as np

from xladoctor.frontends.vocabulary import own_files
from xladoctor.ingest.frames import NOWHERE, CallSite, Folders, Frame
from xladoctor.ingest.timeline.clock import Timeline
from xladoctor.ingest.timeline.intervals import Times
from xladoctor.ingest.xplane import wire
from xladoctor.ingest.xplane.nesting import in_order, innermost, nest
from xladoctor.ingest.xplane.space import Line

_FRAME = re.compile(
    r"\$(?P<file>[^<:]+\.py):(?P<line>\d{1,9}) (?P<function>.+)"
    r"|(?P<path>[^<(]+\.py)\((?P<at>\d{1,9})\): (?P<name>.+)"
)
_INSTANTS = 15  # instants of a span at which the thread's function is looked up
#: Functions without a file: built-in, frozen, from a string, calls of modules.
_WITHOUT_FILE = re.compile(r"\$|<built-in |nn\.Module: |<[^<>]+>\(\d{1,9}\): ")


@dataclass(frozen=True, slots=True)
class PythonFrames:
    """The functions of one thread, in order of time, the outer before the inner.

    Attributes:
        function: index in ``frames``.
        parent: number of the enclosing call; -1 for none.
    """

    begin: Times
    end: Times
    function: wire.Array
    parent: wire.Ints
    frames: list[Frame]

    @classmethod
    def of(
        cls, timeline: Timeline, main: Line | None, paths: Mapping[str, str] = MappingProxyType({})
    ) -> PythonFrames:
        """The functions of a thread, in whatever plane they are.

        Args:
            paths: paths of files by name, if they are known and the name is unique.
        """
        names = timeline.events.names
        parsed = {
            index: frame._replace(file=paths.get(frame.file, frame.file))
            for index, name in enumerate(names)
            if (frame := _parse(name))
        }
        code = np.full(len(names) + 1, -1, np.int64)
        code[list(parsed)] = np.arange(len(parsed))
        lines = [
            line for line in timeline.threads if parsed and main is not None and line.id == main.id
        ]
        which = [np.flatnonzero(code[timeline.events.name[line.events]] >= 0) for line in lines]
        parts = list(zip(lines, which, strict=True))
        begin, end = timeline.spans(parts)
        names_of = (timeline.events.name[line.events][numbers] for line, numbers in parts)
        function = np.concatenate([np.empty(0, np.int64), *(code[each] for each in names_of)])
        begin, end, function = in_order(begin, end, function)
        _, _, parent = nest(begin, end - begin)
        return cls(begin, end, function, parent, list(parsed.values()))

    def sites(self, instants: Times, via: list[str]) -> list[CallSite]:
        """The program's innermost function at each instant.

        Args:
            via: the name of each site without a frame.
        """
        known: dict[int, CallSite] = {-1: NOWHERE}
        sites = []
        calls = innermost(self.begin, self.end, self.parent, instants).tolist()
        for number, place in zip(calls, via, strict=True):
            if number not in known:
                known[number] = Folders().locate(self._stack(number))
            site = known[number]
            sites.append(site if site.file else replace(site, via=place))
        return sites

    def during(self, begin: Times, end: Times) -> list[CallSite]:
        """The innermost function, of the program or a library, that takes most of each span.

        All calls of a function count together: one that is called for each sample of a batch may
        take all of the time, although each call takes next to none.
        """
        known: dict[int, list[tuple[int, int]]] = {}
        sites = []
        parts = np.linspace(0, 1, _INSTANTS + 2)[1:-1]
        instants = begin[:, None] + ((end - begin)[:, None] * parts).astype(np.int64)
        calls = innermost(self.begin, self.end, self.parent, instants.ravel())
        for row in calls.reshape(-1, _INSTANTS).tolist():
            seen: Counter[int] = Counter()
            deepest: dict[int, tuple[int, int]] = {}  # by function: depth, and the call
            for number in row:
                for place, (function, call) in enumerate(self._chain(number, known)):
                    seen[function] += 1
                    deepest[function] = max(deepest.get(function, (-1, -1)), (place, call))
            mostly = [deepest[function] for function in seen if 2 * seen[function] > _INSTANTS]
            stack = self._stack(max(mostly)[1]) if mostly else []
            sites.append(Folders().locate(stack))
        return sites

    def _chain(self, number: int, known: dict[int, list[tuple[int, int]]]) -> list[tuple[int, int]]:
        """The functions around a call, outermost first, each once, with one of its calls."""
        if number not in known:
            chain: dict[int, int] = {}
            call = number
            while call >= 0:
                chain.setdefault(int(self.function[call]), call)
                call = int(self.parent[call])
            known[number] = list(chain.items())[::-1]
        return known[number]

    def _stack(self, number: int) -> list[Frame]:
        """The functions of the program and its libraries around a call, innermost first."""
        stack = []
        while number >= 0:
            frame = self.frames[int(self.function[number])]
            if not _is_machinery(frame.file):
                stack.append(frame)
            number = int(self.parent[number])
        return stack


def is_frame(name: str) -> bool:
    """Whether an event stands for a Python function, or for a C function that Python called."""
    return bool(_FRAME.fullmatch(name) or _WITHOUT_FILE.match(name))


def paths_by_name(files: Iterable[str | None]) -> dict[str, str]:
    """The paths of files by name, for names that are unique and not Python's or a framework's."""
    known: dict[str, set[str]] = defaultdict(set)
    for file in files:
        if file and not _is_machinery(PurePath(file).name):
            known[PurePath(file).name].add(file)
    return {name: next(iter(paths)) for name, paths in known.items() if len(paths) == 1}


def _parse(name: str) -> Frame | None:
    match = _FRAME.fullmatch(name)
    if match is None:
        return None
    file, line, function, path, at, other = match.groups()
    return Frame(file or path, int(line or at), function or other)


def _is_machinery(file: str) -> bool:
    """Whether a file is machinery: by its package, or if a tracer left out its folder, by name."""
    path = PurePath(file)
    if path.is_absolute():
        return Folders().is_machinery(file)
    if len(path.parts) > 1:
        return path.parts[0] in Folders().framework
    return path.stem in sys.stdlib_module_names or path.stem in own_files()
