"""A Perfetto trace (``perfetto/trace/perfetto_trace.proto``), written as a stream.

Each process of the program is a process in the trace. Its host threads are threads, and the lines
of a device are tracks below the device's. A track cannot show slices that overlap without nesting,
so these go to more tracks with the same name.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np

from xladoctor.ingest.compressed import PACKED
from xladoctor.ingest.timeline.clock import kind_of
from xladoctor.ingest.xplane import wire
from xladoctor.ingest.xplane.nesting import ordered
from xladoctor.protobuf import described
from xladoctor.view import encode
from xladoctor.view.interface import Slices, Track, ViewError
from xladoctor.view.timelines import AnnotatedTimeline
from xladoctor.whole_files import replacing

_message = described(
    {
        "Trace": "packet 1 TracePacket*",
        "TracePacket": "clock_snapshot 6 ClockSnapshot, timestamp 8 uint64, sequence 10 uint32,"
        " track_event 11 TrackEvent, interned_data 12 InternedData, sequence_flags 13 uint32,"
        " track_descriptor 60 TrackDescriptor",
        "ClockSnapshot": "clocks 1 Clock*",
        "Clock": "clock_id 1 uint32, timestamp 2 uint64",
        "InternedData": "event_names 2 EventName*",
        "EventName": "iid 1 uint64, name 2 string",
        "TrackEvent": "type 9 int32, track_uuid 11 uint64, counter_value 30 int64",
        "TrackDescriptor": "uuid 1 uint64, name 2 string, process 3 Process, thread 4 Thread,"
        " parent_uuid 5 uint64, counter 8 Counter, child_ordering 11 int32,"
        " sibling_order_rank 12 int32",
        "Process": "pid 1 int32, process_name 6 string",
        "Thread": "pid 1 int32, tid 2 int32, thread_name 5 string",
        "Counter": "unit 3 int32",
    }
)
_CLEARED, _COUNTER, _NANOSECONDS, _EXPLICIT = 1, 4, 1, 3
_REALTIME, _BOOTTIME = 1, 6  # clocks; packets are on the second unless they say otherwise
_WALL_NS = 1 << 59  # an instant beyond it is of a wall clock
_NAMES = 10_000  # in a packet
_BUFFER = 1 << 24
_MOST_TRACKS = 64  # for slices that overlap on a line
_MOST_PID = 1 << 31


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """The file to write to, packed if its name ends with ``.gz``. Raises ViewError."""
    try:
        with replacing(path) as file:
            if path.name.endswith(PACKED):
                with gzip.GzipFile("", "wb", 1, file, 0) as packed:
                    yield cast(BinaryIO, packed)
            else:
                yield file
    except OSError as error:
        raise ViewError(f"cannot write {path}: {error.strerror}") from error


class PerfettoTrace:
    """Writes timelines one after the other.

    Attributes:
        slices: how many were written.
        shortened: how many slices were ended with the one that they begin in, because too much
            overlaps on their line.
    """

    def __init__(self, file: BinaryIO) -> None:
        self.slices = self.shortened = 0
        self._file = file
        self._buffer = np.empty(_BUFFER, np.uint8)
        self._uuid = 0
        self._tid = 0
        self._sequence = 0
        self._pids: set[int] = set()

    def add(self, shown: AnnotatedTimeline, steps: Slices, rows: Iterable[Track]) -> None:
        """Add a timeline, its steps and other rows."""
        pid = self._free_pid(shown)
        host = next(iter(shown.timeline.space.hostnames), "")
        name = " ".join(filter(None, (host, f"process {shown.pid or shown.process}")))
        process = self.add_track(process={"pid": pid, "process_name": name})
        if shown.timeline.begin > _WALL_NS and not self._sequence:
            clocks = [
                {"clock_id": clock, "timestamp": shown.timeline.begin}
                for clock in (_BOOTTIME, _REALTIME)
            ]
            self._write(clock_snapshot={"clocks": clocks})
        self._add_rows(process, steps, rows)
        self._begin_sequence(shown.timeline.events.names)
        for plane in shown.timeline.space.planes:
            parent = process
            if plane.lines and kind_of(plane.name) != "host":
                parent = self.add_track(name=plane.name, parent_uuid=process)
            for line in plane.lines:
                if parent == process:
                    self._tid += 1
                    thread = {"pid": pid, "tid": self._tid, "thread_name": line.name}
                    track = self.add_track(thread=thread)
                else:
                    track = self.add_track(name=line.name, parent_uuid=parent)
                self._add_slices(track, line.name, shown.of_line(line))

    def _add_rows(self, process: int, steps: Slices, rows: Iterable[Track]) -> None:
        group = self.add_track(name="xladoctor", parent_uuid=process, child_ordering=_EXPLICIT)
        for rank, row in enumerate((Track("steps", steps), *rows), 2):
            self.add_row(
                self.add_track(name=row.name, parent_uuid=group, sibling_order_rank=rank), row
            )
        counter = self.add_track(
            name="step time",
            parent_uuid=group,
            sibling_order_rank=1,
            counter={"unit": _NANOSECONDS},
        )
        for begin, duration in zip(
            (steps.begin_ps // 1000).tolist(), (steps.duration_ps // 1000).tolist(), strict=True
        ):
            self._write(
                timestamp=max(0, steps.origin_ns + begin),
                sequence=self._sequence,
                track_event={"type": _COUNTER, "track_uuid": counter, "counter_value": duration},
            )

    def add_row(self, track: int, row: Track) -> None:
        """Add a row of slices to a track."""
        self._begin_sequence(row.slices.names)
        self._add_slices(track, row.name, row.slices)

    def _free_pid(self, shown: AnnotatedTimeline) -> int:
        """The timeline's pid, or a free number if another host's process has the same."""
        pid = shown.pid if shown.pid and shown.pid < _MOST_PID else shown.process + 1
        while pid in self._pids:
            pid += 1
        self._pids.add(pid)
        return pid

    def add_track(self, **descriptor: object) -> int:
        """Add a track, and return its number in the trace."""
        self._uuid += 1
        self._write(track_descriptor={"uuid": self._uuid, **descriptor})
        return self._uuid

    def _begin_sequence(self, names: list[str]) -> None:
        """Use these names for the slices that follow."""
        self._sequence += 1
        flags = _CLEARED
        for first in range(0, max(len(names), 1), _NAMES):
            part = enumerate(names[first : first + _NAMES], first + 1)
            entries = [{"iid": number, "name": name} for number, name in part]
            self._write(
                sequence=self._sequence,
                sequence_flags=flags,
                interned_data={"event_names": entries},
            )
            flags = 0

    def _write(self, **packet: object) -> None:
        self._file.write(_message("Trace")(packet=[packet]).SerializeToString())

    def _add_slices(self, track: int, name: str, given: Slices) -> None:
        """Add slices to a track, and slices that overlap to tracks below it."""
        order = ordered(given.begin_ps, given.duration_ps)
        names, begin, duration = (
            np.ascontiguousarray(column if order is None else column[order])
            for column in (given.name, given.begin_ps, given.duration_ps)
        )
        self.slices += len(given)
        below = track
        for number in range(1, _MOST_TRACKS + 1):
            last = number == _MOST_TRACKS
            ends, fits = np.empty(len(names), np.int64), np.empty(len(names), bool)
            over = encode.fitting(begin, duration, ends, last, fits)
            chosen = Slices([], names[fits], begin[fits], duration[fits], given.origin_ns)
            self._write_slices(below, chosen, ends)
            if last:
                self.shortened += over
            if last or not over:
                return
            names, begin, duration = names[~fits], begin[~fits], duration[~fits]
            below = self.add_track(name=name, parent_uuid=track)

    def _write_slices(self, track: int, given: Slices, ends: wire.Ints) -> None:
        """Write slices that nest; ``ends`` has room for as many."""
        at = height = 0
        while at < len(given) or height:
            at, height, used = encode.packets(
                given.name,
                given.begin_ps,
                given.duration_ps,
                given.origin_ns,
                self._sequence,
                track,
                ends,
                at,
                height,
                self._buffer,
            )
            self._file.write(self._buffer[:used].data)
