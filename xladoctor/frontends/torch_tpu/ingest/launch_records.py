"""Reads the launches of operators that TorchTPU adds to the log in the folder of ``TORCH_TRACE``.

For each launch outside of compiled functions it writes an event with the operator's name, whether
its executable was in the cache, and why it was launched; then, of a new executable, the text of its
graph, with shapes and lines. An executable is compiled on a thread of the runtime: the event's
duration is not that of compiling, which the log does not tell. Nor has it steps, or the lines of
launches whose executable was there.

TorchTPU keeps the latest 10,000 launches between two writings, which are 5 s apart, and drops
earlier ones without a word in the log.
"""

from __future__ import annotations

import json
from array import array
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from xladoctor.frontends.torch_tpu.ingest.iterations import Iterations
from xladoctor.ingest.compiled_calls import Calls
from xladoctor.ingest.compiler_log import compilation, key_change
from xladoctor.ingest.formats import UNREADABLE, LogRecord
from xladoctor.ingest.frames import NOWHERE, CallSite, Folders
from xladoctor.ingest.gathered import Gathered
from xladoctor.ingest.interface import Notes
from xladoctor.recording.bootstrap._xladoctor.torch_tpu.course import Course
from xladoctor.recording.bootstrap._xladoctor.torch_tpu.executables import (
    COMPILED,
    PREFIX,
    Place,
    executable,
    is_deferred,
    is_of_all_parameters,
)
from xladoctor.recording.bootstrap._xladoctor.torch_tpu.grouping import Grouping

FRONTEND = "torch_tpu"
TABLES = ("launch", "compilation", "key_change")
_OWN = "torchtpu_"
_GRAPH, _MODULE = "torchtpu_eager_aten_graph", "torchtpu_eager_stablehlo"
#: Artifacts of compiled functions, of which PyTorch's own records tell.
_OF_FUNCTIONS = frozenset(("torchtpu_fx_graph", "torchtpu_stablehlo_graph"))
_END = "return"  # the last line of a graph's text
_LONG = 90_000  # characters; of a longer text the end is not read
_BACKWARD = "_make_grads"  # autograd's function, in the name of the module that begins a pass
_MOST_US = 2**53


class LaunchRecords:
    """Collects the launches of a process."""

    def __init__(self) -> None:
        self._folders = Folders.elsewhere(FRONTEND)
        self._names: dict[str, int] = {}
        self._order = array("q")  # of each launch its operator, or of a new executable -1 - number
        self._new: list[dict[str, Any]] = []
        self._open: dict[str, Any] | None = None  # the launch whose graph comes next
        self._latest: dict[str, Any] | None = None  # the executable whose module comes next
        self._functions = 0  # launches of compiled functions
        self._failed: list[str] = []
        self._damaged = self._without_graph = 0
        self._unknown: Counter[str] = Counter()
        self.frontend: str | None = None

    # -- records -----------------------------------------------------------------------------

    def take(self, record: LogRecord) -> bool:
        """See :class:`xladoctor.ingest.formats.LogRecords`."""
        artifact = record.artifact
        if artifact.startswith(_OWN):
            self.frontend = FRONTEND
            self._artifact(artifact, record)
            return True
        if "chromium_event" in record.fields and PREFIX in record.payload:
            self.frontend = FRONTEND
            self._begin(lambda: json.loads(record.payload))
            return True
        return False

    def _artifact(self, artifact: str, record: LogRecord) -> None:
        if artifact == _GRAPH:
            self._graph(record)
        elif artifact == _MODULE:
            if self._latest is not None and _BACKWARD in record.payload.partition("\n")[0]:
                self._latest["backward"] = True
            self._latest = None
        elif artifact not in _OF_FUNCTIONS:
            self._unknown[artifact] += 1

    def _graph(self, record: LogRecord) -> None:
        fields = record.fields["artifact"]
        if self._open is None or self._open["name"] != fields.get("op_name"):
            # Its event is lost: the graph's own fields say the same.
            self._begin(lambda: {"name": fields["op_name"], "args": fields})
        if self._open is None:
            return
        text = record.payload
        if text.startswith(_END) or f"\n{_END}" in text or len(text) > _LONG:
            self._open["executable"] = executable(text, _operator(self._open))
        self._close()

    def _begin(self, event: Callable[[], dict[str, Any]]) -> None:
        """Open a launch, given as its event."""
        self._close()
        try:
            self._open = _launch(event())
        except UNREADABLE:
            self._damaged += 1

    def _close(self) -> None:
        """Count the open launch."""
        event, self._open, self._latest = self._open, None, None
        if event is None:
            return
        name = _operator(event)
        if event["compile_failed"]:
            self._failed.append(name)
        elif event["reason"] == COMPILED:
            self._functions += 1
        elif not event["cache_hit"] and event["executable"] is not None:
            self._order.append(-1 - len(self._new))
            self._new.append(event)
            self._latest = event
        else:
            self._without_graph += not event["cache_hit"]
            self._order.append(self._names.setdefault(name, len(self._names)))

    # -- tables ------------------------------------------------------------------------------

    def finish(self, file: Path, first: int, calls: Calls, rows: Gathered, noted: Notes) -> None:
        """See :class:`xladoctor.ingest.formats.LogRecords`."""
        self._close()
        self._note(file, noted)
        if not self._order and not self._functions:
            return
        grouping = Grouping(self._is_named, self._site_of, _ignore)
        batches = [*self._batches(grouping)]
        launched, passes = self._count(grouping, batches)
        for batch, backward in batches:
            grouping.backward = backward
            grouping.add(batch, 0, last=True)
        for number, group in enumerate(grouping.pending, first):
            group.number = number
            site = group.site or NOWHERE
            placed = calls.place({"end_ns": group.began_ns or None, "compile_id": "", "ordinal": 1})
            launches = grouping.cycles.count or passes[site]
            row = compilation(number, group.operator, group.ordinal, site, launches=launches)
            rows.add("compilation", **{**row, **placed})
            for nth, change in enumerate(group.changes if group.against else ()):
                against = group.against.number if group.against else None
                rows.add_row("key_change", key_change(number, against, change, nth=nth))
        counts = [(site, count, True) for site, count in launched.items()]
        if self._functions:
            counts.append((NOWHERE, self._functions, False))
        for site, count, operations in counts:
            columns = {"count": count, "work": None, "steps": 0, "operations": operations}
            rows.add("launch", **columns, parts=None, **site.columns())

    def _batches(self, grouping: Grouping) -> list[tuple[list[dict[str, Any]], CallSite | None]]:
        """New executables with the site of the latest backward pass; each such pass begins one."""
        batches: list[tuple[list[dict[str, Any]], CallSite | None]] = [([], None)]
        for event in self._new:
            place = event["executable"].place
            if event["backward"] and place is not None and self._is_named(place[0]):
                batches.append(([], self._site_of(place, via="backward")))
            batches[-1][0].append(event)
        return batches

    def _count(
        self,
        grouping: Grouping,
        batches: list[tuple[list[dict[str, Any]], CallSite | None]],
    ) -> tuple[Counter[CallSite], Counter[CallSite]]:
        """Launches at each line, and how often the program came there; numbers their steps.

        Without an optimizer, steps are the iterations of a loop; in a log that shows none, a line's
        steps are counted by how often it follows another, or if it never does, by its operators.
        """
        sites: list[CallSite] = []
        for batch, backward in batches:
            grouping.backward = backward
            sites += [site or NOWHERE for site in grouping.sites(batch)[0]]
        names = [*self._names]
        course = Course()
        launched: Counter[CallSite] = Counter()
        passes: Counter[CallSite] = Counter()
        operators: Counter[tuple[str, CallSite]] = Counter()
        before: CallSite | None = None
        for at, number in enumerate(self._order):
            event = self._new[-1 - number] if number < 0 else None
            name = _operator(event) if event else names[number]
            if event is None:
                site = course.next_site(name) or NOWHERE
            else:
                site = sites[-1 - number]
                whole = is_of_all_parameters(event["executable"])
                course.note(name, site, whole)
                course.go(site, whole)
            launched[site] += 1
            passes[site] += site != before
            before = site
            operators[name, site] += 1
            found = event["executable"] if event else None
            step = grouping.cycles.step_of(name, found, event is not None and is_deferred(event))
            if event is not None:
                of_site = site, passes[site] - 1, operators[name, site] - 1
                event |= {"step": step, "at": at, "pass": of_site}
        if not grouping.cycles.ended:
            self._number(passes, operators)
        return launched, passes

    def _number(self, passes: Counter[CallSite], operators: Counter[tuple[str, CallSite]]) -> None:
        """Number the steps of executables without an optimizer; corrects ``passes``."""
        iterations = Iterations([self._operator(number) for number in self._order])
        alone = {site for site, count in passes.items() if count == 1}
        for event in self._new:
            site, of_line, of_operator = event["pass"]
            event["step"] = of_operator if site in alone else of_line
            if len(iterations):
                event["step"] = iterations.of(event["at"])
        for (_, site), count in operators.items():
            if site in alone:
                passes[site] = max(passes[site], count)
        if len(iterations):
            for site in passes:
                passes[site] = len(iterations)

    def _operator(self, number: int) -> int:
        """The number of a launch's operator."""
        if number >= 0:
            return number
        return self._names.setdefault(_operator(self._new[-1 - number]), len(self._names))

    def _is_named(self, file: str) -> bool:
        return self._folders.kind(file) != "machinery"

    def _site_of(self, place: Place, via: str = "") -> CallSite:
        return CallSite(*place, via=via)

    # -- notes -------------------------------------------------------------------------------

    def _note(self, file: Path, noted: Notes) -> None:
        if self._order:
            noted.notes.append(
                f"{file}: {len(self._order):,} launches of operators outside of compiled functions,"
                f" {len(self._new):,} of them with a new executable; the log gives"
                " neither steps nor compile times, and only the lines that compiled"
            )
        if self._failed:
            noted.notes.append(
                f"{file}: {len(self._failed)} executables could not be compiled, the first of"
                f" {self._failed[0]}"
            )
        for name, count in self._unknown.items():
            noted.notes.append(f"{file}: {count} records {name}, which are not read")
        if self._damaged:
            noted.lose(
                f"{file}: {self._damaged} launches are none that TorchTPU writes; skipped", *TABLES
            )
        if self._without_graph:
            noted.lose(
                f"{file}: {self._without_graph} new executables have no text of their graph;"
                " counted as launches only",
                "compilation",
                "key_change",
            )
        compiled = set(map(_operator, self._new))
        lost = [name for name in self._names if name not in compiled]
        if lost:
            names = ", ".join(lost[:3]) + (" and others" if len(lost) > 3 else "")
            noted.lose(
                f"{file}: what was compiled for {names} is missing: TorchTPU drops all but the"
                " latest 10,000 launches of each 5 s",
                *TABLES,
            )


def _operator(event: dict[str, Any]) -> str:
    """The name of the operator that a launch is of."""
    return str(event["name"].removeprefix(PREFIX))


def _ignore(site: CallSite) -> None:
    """Sites are collected with the launches."""


def _launch(event: dict[str, Any]) -> dict[str, Any]:
    """A launch, in the form of TorchTPU's buffer. Raises one of ``UNREADABLE`` for others."""
    args = event["args"]
    if not isinstance(args["cache_hit"], bool):
        raise TypeError(args["cache_hit"])
    return {
        "name": str(event["name"]),
        "cache_hit": args["cache_hit"],
        "compile_failed": args.get("compile_failed") is True,
        "reason": str(args.get("reason")),
        "ts_us": max(0, min(int(event.get("ts") or 0), _MOST_US)),
        "dur_us": 0,
        "executable": None,
        "step": None,
        "backward": False,
    }
