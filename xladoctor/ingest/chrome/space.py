"""A Chrome trace in the form of an XSpace: processes as planes, threads and streams as lines.

Kineto numbers a device's process after the device, and its threads after the streams. Exports for
viewers name processes and threads after the planes and lines that they were made from.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import msgspec
import numpy as np

from xladoctor.frontends.vocabulary import events as named
from xladoctor.ingest.chrome import scan
from xladoctor.ingest.xplane import wire
from xladoctor.ingest.xplane.events import Events, Stats
from xladoctor.ingest.xplane.nesting import nest
from xladoctor.ingest.xplane.space import Space

_ROWS = 1 << 16  # stats that are read at a time
_TEXTS = 1 << 12
#: By how much primes are below 2 ** 55.
_BELOW = (55, 67, 99, 127, 147, 169, 171, 199, 207, 267, 279, 321, 339, 355, 381, 411, 487, 511)
#: The argument shared by a call of the host and the work that it led to on a device.
_JOINED = "correlation"
#: The argument shared by an operator and its gradient.
_SEQUENCE = "Sequence number"
#: The argument of a kernel that was launched in a recorded graph; 0 for others.
_IN_GRAPH = "graph node id"
_SENT = "Memcpy HtoD"
#: Calls in which the host waits for all work of a stream or a device.
_WAITS = re.compile(r"\w+Synchronize")


@dataclass(slots=True)
class _Texts:
    """Distinct texts, by their place in the file.

    Attributes:
        slots: a hash table of their numbers, with the rest of the hash; -1 for a free slot.
        places: begin and end of each, from row 1 on; row 0 holds the count, and the prime of the
            hash, drawn by lot so that no file can be made whose texts are all hashed alike.
    """

    slots: wire.Array
    places: wire.Array

    @classmethod
    def empty(cls, room: int) -> _Texts:
        places = np.zeros((room, 2), np.int64)
        places[0] = 1, (1 << 55) - random.choice(_BELOW)  # noqa: S311
        return cls(np.full((2 * room, 2), -1, np.int64), places)

    @property
    def table(self) -> tuple[wire.Array, wire.Array]:
        """The table in the form that :mod:`.scan` takes."""
        return self.slots, self.places

    def grow(self) -> None:
        """Make room for more texts."""
        room = 4 * len(self.places)
        places, slots = np.zeros((room, 2), np.int64), np.full((2 * room, 2), -1, np.int64)
        places[: len(self.places)] = self.places
        scan.rehash(self.slots, slots)
        self.places, self.slots = places, slots


@dataclass(slots=True)
class ChromeSpace(Space):
    """A trace; ``damage`` is counted as in :func:`.scan.events`.

    Attributes:
        texts: all names, categories and values.
        columns: name, start_ps, duration_ps and args of each event, and whether it is the host's.
        of_planes: whether the processes have the names of an XSpace's planes.
    """

    texts: _Texts = field(default_factory=lambda: _Texts.empty(_TEXTS))
    columns: dict[str, wire.Array] = field(default_factory=dict)
    of_planes: bool = False
    _joined: tuple[wire.Ints, wire.Ints] | None = None
    _names: dict[str, int] = field(default_factory=dict)
    _codes: list[int] = field(default_factory=lambda: [-1])  # by place in the table, so far

    def decode(
        self, wanted: Iterable[str] | None = None, advance: Callable[[int], None] | None = None
    ) -> Events:
        """All events as columns, with their ``wanted`` arguments (None for all)."""
        keys = None if wanted is None else {*wanted, _JOINED, _SEQUENCE, _IN_GRAPH}
        stats = self.stats(self.columns["args"], keys)
        names, codes = self.names()
        value = stats.value.copy()
        texts, real = stats.kind == wire.REF, stats.kind == scan.REAL
        value[texts] = codes[value[texts]]
        value[real] = self._reals(value[real])
        kind = np.where(real, np.uint8(wire.DOUBLE), stats.kind)
        self._read_quoted(codes[stats.name], kind, value)
        stats = Stats(stats.event, codes[stats.name], kind, value)
        events = Events(
            names,
            codes[self.columns["name"]],
            self.columns["start_ps"],
            self.columns["duration_ps"],
            [stats],
            self.buffer,
        )
        if wanted is not None:
            self._name_copies(events)
            self._add_steps(events)
            self._add_flows(events)
        if advance:
            advance(self.size)
        return events

    def _read_quoted(self, name: wire.Array, kind: wire.Array, value: wire.Ints) -> None:
        """Convert the numbers that join events, if they are written as texts."""
        joining = [self._names[key] for key in (_JOINED, _SEQUENCE) if key in self._names]
        texts = list(self._names)
        for row in np.flatnonzero(np.isin(name, joining) & (kind == wire.REF)).tolist():
            if re.fullmatch(r"\d{1,18}", texts[int(value[row])]):
                kind[row], value[row] = wire.INT64, int(texts[int(value[row])])

    def damage_note(self) -> str | None:
        """A note on damage; None if everything could be read as it is."""
        count, first, quotes, quote = self.damage.tolist()
        notes = []
        if count:
            notes.append(self._damaged(first, count))
        if quotes:
            notes.append(
                f"{quotes} quotes inside texts are not escaped, the first at byte {quote};"
                " they are taken as a part of the text"
            )
        return f"{self.path}: {'; '.join(notes)}" if notes else None

    def stats(self, args: wire.Ints, wanted: set[str] | None) -> Stats:
        """The arguments at these positions; ``event`` is the index of the position.

        Names and texts are numbers in the table; the value of a real number is its position.
        """
        keys = "".join(f"\0{key}" for key in sorted(wanted or ())).encode()
        rows, parts, at = Stats.empty(_ROWS), [Stats.empty(0)], 0
        damage = np.array([0, -1, 0, -1], np.int64)  # not used: counted with the events already
        while at < len(args) and (keys or wanted is None):
            count, behind = scan.stats(
                self.buffer,
                args,
                at,
                np.frombuffer(keys, np.uint8),
                self.texts.table,
                rows.columns,
                damage,
            )
            if behind == at:
                self.texts.grow()
            at = behind
            parts.append(Stats(*(column[:count].copy() for column in rows.columns)))
        return Stats.joined(parts)

    def names(self) -> tuple[list[str], wire.Array]:
        """All texts, and the index of the text for each place in the table; -1 for place 0."""
        count = int(self.texts.places[0, 0])
        for begin, end in self.texts.places[len(self._codes) : count].tolist():
            text = _plain(self.buffer[begin:end].tobytes())
            self._codes.append(self._names.setdefault(text, len(self._names)))
        return list(self._names), np.array(self._codes, np.int32)

    def _reals(self, places: wire.Ints) -> wire.Ints:
        texts = (self.buffer[at : at + 40].tobytes() for at in places.tolist())
        found = (re.match(rb"-?\d+(\.\d+)?([eE][-+]?\d+)?", text) for text in texts)
        return np.array([float(match[0]) if match else np.nan for match in found]).view(np.int64)

    def _name_copies(self, events: Events) -> None:
        """Add the copy's name to the names of the host's calls that request copies.

        Whether a call waits depends on the source and the kind of memory it copies to. A wait that
        follows in the same operator is part of sending.
        """
        copies = [index for index, name in enumerate(events.names) if name.startswith("Memcpy ")]
        host, device = self.joined(events)
        copying = np.isin(events.name[device], copies)
        calls, works = host[copying], device[copying]
        waits = self._waits_after(events, calls)
        for call, copy, wait in zip(calls.tolist(), works.tolist(), waits.tolist(), strict=True):
            made = events.names[int(events.name[copy])]
            for call_or_wait in (call, wait) if made.startswith(_SENT) and wait >= 0 else (call,):
                name = events.names[int(events.name[call_or_wait])]
                events.name[call_or_wait] = events.add_name(f"{name}: {made}")

    def _waits_after(self, events: Events, calls: wire.Ints) -> wire.Ints:
        """For each call, the next wait in the operator that encloses both; -1 for none.

        A label of the program does not count: a wait within it may be for anything.
        """
        found = np.full(len(calls), -1, np.int64)
        label = np.isin(events.names, list(self.labels or ()))
        waits = [index for index, name in enumerate(events.names) if _WAITS.fullmatch(name)]
        for line in self.lines if waits else ():
            own = np.flatnonzero((calls >= line.first) & (calls < line.events.stop - 1))
            if not len(own):
                continue
            _, _, parent = nest(events.start_ps[line.events], events.duration_ps[line.events])
            at = calls[own] - line.first
            waiting = np.isin(events.name[line.events][at + 1], waits)
            same = (parent[at] >= 0) & (parent[at] == parent[at + 1])
            same &= ~label[events.name[line.events][parent[at]]]
            found[own[waiting & same]] = line.first + at[waiting & same] + 1
        return found

    def joined(self, events: Events) -> tuple[wire.Ints, wire.Ints]:
        """For all work of devices whose call is in the trace: the call's number, and the work's.

        A call that launches a recorded graph occurs many times.
        """
        if self._joined is None:
            rows = events.rows_of(_JOINED)
            rows = rows.select((rows.kind == wire.INT64) & (rows.value > 0))
            of_host = self.columns["host"][rows.event]
            calls, works = rows.select(of_host), rows.select(~of_host)
            numbers, first = np.unique(calls.value, return_index=True)
            at = np.searchsorted(numbers, works.value)
            found = np.append(numbers, -1)[at] == works.value
            self._joined = (
                calls.event[first][at[found]].astype(np.int64),
                works.event[found].astype(np.int64),
            )
        return self._joined

    def in_graphs(self, events: Events) -> wire.Ints:
        """Kernels with the number of a recorded graph, which newer profilers record."""
        rows = events.rows_of(_IN_GRAPH)
        return rows.select((rows.kind == wire.INT64) & (rows.value > 0)).event.astype(np.int64)

    def numbered(self, events: Events) -> tuple[wire.Ints, wire.Ints]:
        """Operators numbered in the order of the forward pass, and their numbers."""
        rows = events.rows_of(_SEQUENCE)
        rows = rows.select((rows.kind == wire.INT64) & (rows.value >= 0))
        return rows.event.astype(np.int64), rows.value

    def _add_flows(self, events: Events) -> None:
        """Number the flows from calls to work as in an XSpace: ``_p`` produces, ``_c`` consumes."""
        rows = events.rows_of(_JOINED)
        name = np.where(
            self.columns["host"][rows.event], events.add_name("_p"), events.add_name("_c")
        ).astype(np.int32)
        events.parts.append(Stats(rows.event, name, rows.kind, rows.value))

    def _add_steps(self, events: Events) -> None:
        """Number steps whose numbers are in their names, or in a text."""
        stats = events.parts[0]
        given = (stats.name == events.index("step_num")) & (stats.kind == wire.REF)
        for row in np.flatnonzero(given).tolist():
            text = events.names[int(stats.value[row])]
            numbered = text.isdecimal() and len(text) < 19
            stats.kind[row], stats.value[row] = wire.INT64, int(text) if numbered else 0
        beginnings = named("step")
        numbers = {
            index: int(found[1])
            for index, name in enumerate(events.names)
            if name.startswith(beginnings) and (found := re.search(r"(\d{1,18})$", name))
        }
        which = np.flatnonzero(np.isin(events.name, list(numbers)) & self.columns["host"])
        if len(which):
            number = np.array([numbers[code] for code in events.name[which].tolist()], np.int64)
            step = np.full(len(which), events.add_name("step_num"), np.int32)
            kind = np.full(len(which), wire.INT64, np.uint8)
            events.parts.append(Stats(which.astype(np.int32), step, kind, number))


def _plain(text: bytes) -> str:
    if b"\\" in text:
        try:
            return msgspec.json.decode(b'"' + text + b'"', type=str)
        except (msgspec.DecodeError, UnicodeDecodeError):
            pass  # a quote that is not escaped, or damage
    return text.decode(errors="replace")
