"""Looks at what device memory the program holds, after 4, 8, 16, … steps.

What grows for as long as the loop runs grows twice as much from one look to the next as before;
what has a limit stops. All looks together take at most half a percent of the time since the
framework was imported, and a few milliseconds: a look that would take more is put off.
"""

from __future__ import annotations

import sys
from collections import Counter, deque
from typing import Any

from . import clock
from .call_site import CallSites
from .census import Census, Node, Path, Variable, variables
from .memory_facts import LiveMemory, MemoryHolder
from .recorder import Recorder
from .step import ThreadState
from .variable_use import Sources

_FIRST = 4  # steps until the first look
_SHARE = 200  # of the program's time, one part in so many
_AT_ONCE_NS = 10_000_000  # half a percent of what a program takes that does nothing but import
_LEAST_NS = 500_000  # what the first look is expected to take
_LINES = 64  # of a look: those with most bytes
_HOLDERS = 4  # of a look
_SEARCHED = 2  # the look at which variables are searched though nothing has grown
_LARGE = 0.1  # of the bytes in all variables: a copy that is worth a finding
_REFERENCES = 4  # to an array in one object: that, the census, a list, the count's argument
_NEVER = 2**63

_began_ns = clock.perf_counter_ns()


#: The number of arrays that a line made, and their bytes, if known.
Made = tuple[int, int | None]


class Arrays:
    """The arrays of a framework's devices. One that tells nothing of them has this class itself."""

    known = False

    def made(self, sites: CallSites) -> dict[int | None, Made]:
        """Arrays alive now, by the site of the line that made them; None for others."""
        return {}

    def is_one(self, value: Any) -> bool:
        """Whether an object is such an array; asked of any object of the program."""
        return False

    def site(self, array: Any, sites: CallSites) -> int | None:
        """The site of the line that made an array, if known."""
        return None

    def size(self, array: Any) -> int:
        """Bytes that an array takes on all devices together."""
        return 0

    def keeps_graph(self, array: Any) -> bool:
        """Whether an array keeps alive what computing its gradient needs."""
        return False


class MemoryLooks:
    """Looks at the memory of a process, on one of its threads, when a step is ``due``."""

    def __init__(self, arrays: Arrays, recorder: Recorder, sites: CallSites) -> None:
        self._arrays = arrays
        self._recorder = recorder
        self._sites = sites
        self._sources = Sources()
        self._spent_ns = 0
        self._expected_ns = _LEAST_NS
        self._thread: ThreadState | None = None
        #: Holders, and the files in which to look what the program does with them; unread copies
        #: have no path.
        self._found: list[tuple[Variable, Path, list[str], dict[str, Any]]] = []
        self.begin_anew(0)

    def begin_anew(self, step: int) -> None:
        """The program's loop begins at a step; what was before it was set-up."""
        self._base = step
        self._made: dict[int | None, Made] = {}
        self._looks = 0
        self._counts: dict[Path, float] | None = None
        self.due = step + _FIRST if self._arrays.known else _NEVER

    def look(self, state: ThreadState) -> None:
        """A step ended, and a look is due."""
        if self._thread not in (None, state):
            return
        self._thread = state
        begin, steps = clock.thread_time_ns(), state.index - self._base
        ran_ns = clock.perf_counter_ns() - _began_ns
        left = _AT_ONCE_NS + ran_ns // _SHARE - self._spent_ns
        if left < self._expected_ns:
            self.due = state.index + max(1, steps // 4)
            return
        self.due = self._base + 2 * steps
        self._look(state, begin + left)
        took = clock.thread_time_ns() - begin
        self._spent_ns += took
        self._expected_ns = 3 * took // 2  # the next has more to count

    def _look(self, state: ThreadState, until: int) -> None:
        before = self._made
        self._made = made = self._arrays.made(self._sites)
        most = sorted(made, key=lambda site: -(made[site][1] or made[site][0]))
        for site in most[:_LINES]:
            arrays, size = made[site]
            where: dict[str, Any] = {"thread": state.id, "step": state.index, "site": site}
            self._recorder.log_fact(LiveMemory(arrays=arrays, bytes=size, **where))
        grown = any(made[site][0] > was[0] for site, was in before.items() if site in made)
        self._looks += 1
        if grown or self._counts is not None or self._looks == _SEARCHED:
            self._search(state, until)

    def _search(self, state: ThreadState, until: int) -> None:
        """Find the variables that hold arrays, and compare them with those of the look before."""
        names = variables(sys._getframe(1), self._sites)
        census = Census(names, self._arrays.is_one, until)
        counts, self._counts = self._counts or {}, census.counts() if census.complete else None
        if not census.complete:
            return
        for node in census.grown(counts)[:_HOLDERS]:
            fields = self._fields(state, node, census.below(node), round(counts[node.path]))
            self._found.append((node.variable, node.path[2:], _files(node), fields))
        if self._looks == _SEARCHED:
            self._note_copies(state, census)

    def _fields(self, state: ThreadState, node: Node, arrays: list[Any], before: int) -> Any:
        count, size = round(node.arrays), sum(map(self._arrays.size, arrays))
        return {
            "thread": state.id,
            "step": state.index,
            "name": node.name,
            "owner": node.variable.stack[0][2],
            "kind": type(arrays[0] if node.value is None else node.value).__name__,
            "arrays": count,
            "before": before,
            "bytes": round(size * count / max(1, len(arrays))),
            "graphs": sum(map(self._arrays.keeps_graph, arrays)),
            "most": node.value.maxlen if type(node.value) is deque else None,
            "site": self._arrays.site(arrays[0], self._sites) if arrays else None,
        }

    def _note_copies(self, state: ThreadState, census: Census) -> None:
        """Note large variables, if another has arrays of the same shapes, made by other lines."""
        below = {node: arrays for node in census.roots if (arrays := census.below(node))}
        sizes = {node: sum(map(self._arrays.size, arrays)) for node, arrays in below.items()}
        for node, arrays in below.items():
            if sizes[node] < _LARGE * sum(sizes.values()) or _held_elsewhere(arrays, census):
                continue
            fields = self._fields(state, node, arrays, len(arrays))
            kinds = Counter((each.shape, each.dtype) for each in arrays)
            for other, others in below.items():
                made = self._arrays.site(others[0], self._sites)
                apart = other is not node and (made is None or made != fields["site"])
                if apart and not kinds - Counter((each.shape, each.dtype) for each in others):
                    fields |= {"twin": other.name, "unread": True}
                    self._found.append((node.variable, (), [], fields))
                    break

    def write(self) -> None:
        """Log the holders found since, and their use in the source, on the background thread."""
        found, self._found = self._found, []
        for variable, path, files, fields in found:
            if path:
                added, released = self._sources.use(variable, path, files)
            elif (added := self._sources.unread(variable)) is None:
                continue
            else:
                released = None
            site = None if added is None else self._sites.intern((*added, None, None, None, ""))
            self._recorder.log_fact(MemoryHolder(**fields, added=site, released=released))


def _held_elsewhere(arrays: list[Any], census: Census) -> bool:
    """Whether anything holds one of these arrays, except the object that the census found it in."""
    counts = (sys.getrefcount(arrays[at]) for at in range(len(arrays)))
    return not census.shared.isdisjoint(map(id, arrays)) or max(counts) > _REFERENCES


def _files(node: Node | None) -> list[str]:
    """The files of a variable, and of the classes whose attributes lead from it to an object."""
    files = [] if node is None else [node.variable.stack[0][0]]
    while node is not None:
        if node.of is not None and node.label.startswith("."):
            module = sys.modules.get(type(node.of.value).__module__)
            files.append(getattr(module, "__file__", None) or files[0])
        node = node.of
    return [*dict.fromkeys(files)]
