"""Reads the records that TorchTPU adds to the structured log in the folder of ``TORCH_TRACE``.

Of each launch outside of compiled functions there are three, as of torch_tpu 0.2.0: an event of
``chromium_event`` with the operator, the time, and whether its executable was in the cache, and two
artifacts. Of a new executable these have the text of the graph, with the lines of the program, and
its StableHLO; of one in the cache they are empty.

``dur`` is the time in which the host prepares a launch. Executables are compiled on threads of the
runtime; how long that takes is not in the log.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any, NamedTuple

from xladoctor.frontends.torch.ingest.structured_records import Record
from xladoctor.frontends.torch_tpu.ingest.turns import Turns, codes
from xladoctor.frontends.vocabulary import vocabulary
from xladoctor.ingest.compiled_calls import Calls, add_placed
from xladoctor.ingest.compiler_log import compilation
from xladoctor.ingest.frames import NOWHERE, CallSite, Folders
from xladoctor.ingest.gathered import Gathered
from xladoctor.ingest.interface import Ingested
from xladoctor.recording.bootstrap._xladoctor.torch_tpu.executables import (
    AUTOGRAD,
    COMPILED,
    MOST_SHAPES,
    OPTIMIZERS,
    PREFIX,
    Change,
    Executable,
    changed,
    executable,
)

FRONTEND = "torch_tpu"
_ARTIFACTS = "torchtpu_"
_GRAPH = "torchtpu_eager_aten_graph"
_MARK = f'"{PREFIX}'
_BEGIN = 200  # characters of an event that has the mark, if it is one of these
_MOST_NS = 2**62
_MOST_SITES = 256  # of an operator
_MOST_LINES = 2**31 - 1
_MOST_NAMES = 5  # of operators that failed


class _Event(NamedTuple):
    """The first record of a launch, whose graph is still to come."""

    name: str
    began_ns: int
    hit: bool
    failed: bool
    reason: str


class _Miss(NamedTuple):
    """A launch that needed a new executable.

    Attributes:
        launch: its place among the launches.
        name: of the operator.
        began_ns: when it was asked for; None if unknown.
    """

    launch: int
    name: str
    found: Executable
    began_ns: int | None


class _Compilation:
    """Executables that one change has made necessary, or that are the first at a line."""

    def __init__(self, number: int, step: int, site: CallSite, miss: _Miss) -> None:
        self.number = number
        self.step = step  # an iteration of the loop
        self.site = site
        self.first = miss
        self.ordinal = 0
        self.against: _Compilation | None = None
        self.changes: tuple[Change, ...] = ()
        self.keys: set[tuple[str, CallSite, tuple[str, ...]]] = set()


class EagerLaunches:
    """See :class:`~xladoctor.ingest.formats.LogReader`."""

    FRONTEND = FRONTEND

    def __init__(self, file: Path, process: int) -> None:
        self._file = file
        self._process = process
        self._folders = Folders(framework=vocabulary(FRONTEND).packages)
        self._event: _Event | None = None
        self._names: dict[str, int] = {}
        self._launches = codes()
        self._misses: list[_Miss] = []
        self._failed: list[str] = []
        self.begun = False

    def take(self, record: Record) -> bool:
        """Take a record; False if it is none of TorchTPU's. Raises as parsing does."""
        if "chromium_event" in record.fields:
            if _MARK not in record.payload[:_BEGIN]:
                return False
            self.begun = True
            self._no_graph()
            self._event = _event(json.loads(record.payload))
            return True
        if not record.artifact.startswith(_ARTIFACTS):
            return False
        self.begun = True
        if record.artifact == _GRAPH:
            self._graph(record.fields["artifact"], record.payload)
        return True

    def _no_graph(self) -> None:
        """Count a launch of which the log has no more than the event."""
        event, self._event = self._event, None
        if event is not None:
            self._launch(event, "")

    def _graph(self, artifact: dict[str, Any], text: str) -> None:
        event, self._event = self._event, None
        name = str(artifact["op_name"]).removeprefix(PREFIX)
        if event is not None and event.name != name:
            self._launch(event, "")
            event = None
        self._launch(
            _Event(
                name,
                event.began_ns if event else 0,
                artifact["cache_hit"] is True,
                artifact.get("compile_failed") is True,
                str(artifact.get("reason")),
            ),
            text,
        )

    def _launch(self, event: _Event, text: str) -> None:
        if event.reason == COMPILED:  # compiled functions are in other records
            return
        if event.failed:
            self._failed.append(event.name)
            return
        if not event.hit:
            found = executable(text, event.name)
            self._misses.append(
                _Miss(len(self._launches), event.name, found, event.began_ns or None)
            )
        self._launches.append(self._names.setdefault(event.name, len(self._names)))

    # -- after the last record -----------------------------------------------------------------

    def finish(self, first: int, calls: Calls, ingested: Ingested) -> None:
        """Fill the tables.

        Args:
            first: the number of the first compilation, after those of functions.
            calls: calls and steps in a timeline of the process.
        """
        self._no_graph()
        if self._failed:
            self._note_failed(ingested)
        if not self._launches:
            return
        sites = self._sites()
        made, turns = self._compilations(first, sites)
        rows = Gathered()
        for table in ("compilation", "key_change", "launch"):
            rows.table(table)
        for each in made:
            self._add_compilation(each, turns, calls, rows)
        for site, count in self._counted(sites).items():
            rows.add(
                "launch",
                process=self._process,
                count=count,
                work=0.0,
                steps=0,
                operations=True,
                parts=None,
                **site.columns(),
            )
        add_placed(rows, ingested)
        self._note(len(turns), ingested)

    def _sites(self) -> list[CallSite]:
        """The line of each executable: of torch's own code that of the next operator with one; the
        backward pass and torch's optimizers have none.
        """
        sites: list[CallSite] = []
        waiting: list[int] = []
        latest = NOWHERE
        for miss in self._misses:
            place = miss.found.place
            if place is not None and not self._folders.is_machinery(place[0]):
                latest = CallSite(place[0], min(place[1], _MOST_LINES), place[2])
                for earlier in waiting:
                    sites[earlier] = latest
                waiting.clear()
                sites.append(latest)
            elif place is None or AUTOGRAD in place[0] or OPTIMIZERS in place[0]:
                waiting.clear()
                sites.append(NOWHERE)
            else:
                waiting.append(len(sites))
                sites.append(latest)
        return sites

    def _compilations(self, first: int, sites: list[CallSite]) -> tuple[list[_Compilation], Turns]:
        """Put together what one change has made necessary in a turn, and what is new at a line."""
        turns = Turns(self._launches)
        made: list[_Compilation] = []
        known: defaultdict[tuple[str, CallSite], dict[tuple[str, ...], _Compilation]]
        known = defaultdict(dict)
        groups: dict[tuple[int, CallSite | None], _Compilation] = {}
        for miss, site in zip(self._misses, sites, strict=True):
            turn = turns.of(miss.launch)
            of_operator = known[miss.name, site]
            against, changes = changed(miss.found, of_operator, turn)
            place = turn, (None if changes else site)
            key = miss.name, site, miss.found.shapes  # the same again is another change
            group = groups.get(place)
            if group is None or (changes and key in group.keys):
                group = groups[place] = _Compilation(first + len(made), turn, site, miss)
                group.against, group.changes = against, changes
                group.ordinal = turn if of_operator else 0
                made.append(group)
            group.keys.add(key)
            if len(of_operator) < MOST_SHAPES:
                of_operator[miss.found.shapes] = group
        return made, turns

    def _add_compilation(
        self, each: _Compilation, turns: Turns, calls: Calls, rows: Gathered
    ) -> None:
        row = compilation(
            self._process,
            each.number,
            each.first.found.operator,
            each.ordinal,
            each.site,
            launches=len(turns) or None,
            callbacks=0,
        )
        asked = {"end_ns": each.first.began_ns, "compile_id": "", "ordinal": 1}
        placed = calls.place(asked)
        rows.add("compilation", **row | {name: placed.get(name) for name in ("step", "thread")})
        if each.against is None:
            return
        for nth, (what, argument, was, now) in enumerate(each.changes):
            rows.add(
                "key_change",
                process=self._process,
                index=each.number,
                nth=nth,
                against=each.against.number,
                what=what,
                argument=argument,
                was=was or None,
                now=now or None,
                hint=None,
                role=None,
                **NOWHERE.columns(),
            )

    def _counted(self, sites: list[CallSite]) -> Counter[CallSite]:
        """Launches by line. Those of the cache have none: an operator's lines take turns."""
        new = {miss.launch: site for miss, site in zip(self._misses, sites, strict=True)}
        of: defaultdict[int, list[CallSite]] = defaultdict(list)
        counts: Counter[CallSite] = Counter()
        taken: Counter[int] = Counter()
        for at, operator in enumerate(self._launches):
            site = new.get(at)
            if site is not None:
                if len(of[operator]) < _MOST_SITES:
                    of[operator].append(site)
            elif own := of[operator]:
                site = own[taken[operator] % len(own)]
                taken[operator] += 1
            counts[site or NOWHERE] += 1
        return counts

    def _note(self, turns: int, ingested: Ingested) -> None:
        launches, new = len(self._launches), len(self._misses)
        text = (
            f"{self._file}: {launches:,} launches of operators outside of compiled functions,"
            f" {new:,} of them with a new executable. The log has neither steps nor how long"
            " executables were compiled"
        )
        if turns:
            text += f"; by the operators that recur, {turns:,} iterations of a loop"
        ingested.notes.append(text)

    def _note_failed(self, ingested: Ingested) -> None:
        count = len(self._failed)
        names = ", ".join(list(dict.fromkeys(self._failed))[:_MOST_NAMES])
        ingested.notes.append(
            f"{self._file}: {count:,} launch{'es' * (count != 1)} of operators failed, as they"
            f" could not be compiled: {names}"
        )


def _event(fields: dict[str, Any]) -> _Event:
    told = fields["args"]
    return _Event(
        str(fields["name"]).removeprefix(PREFIX),
        max(0, min(int(fields["ts"]) * 1000, _MOST_NS)),
        told["cache_hit"] is True,
        told.get("compile_failed") is True,
        str(told.get("reason")),
    )
