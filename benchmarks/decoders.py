"""One decoder of a timeline in a process of its own: `decoders.py NAME FILE`.

Prints, as JSON: seconds of the set-up (imports, machine code), seconds and CPU seconds of decoding,
and the number of events that came out.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from importlib import import_module as load  # each decoder loads its own libraries
from pathlib import Path
from typing import Any

#: What decodes, and what counts the events of the result; made from a path after all imports.
Decoder = tuple[Callable[[], Any], Callable[[Any], int]]


def everything(path: Path) -> Decoder:
    """xladoctor: every event and every stat."""
    return _ours(path, None)


def needed(path: Path) -> Decoder:
    """xladoctor as `analyze` reads: every event, and the stats that the evidence needs."""
    return _ours(path, load("xladoctor.ingest.timeline.clock").NEEDED)


def _ours(path: Path, wanted: Any) -> Decoder:
    compiled: Any = load("xladoctor.ingest.xplane.compiled")
    wire = load("xladoctor.ingest.xplane.wire")
    compiled.PATIENCE = -1  # compiled from the first byte on, as most of a large file is
    for loop in (wire.fields, wire.count_events, wire.decode_events):
        _ = loop.machine_code
    ingested = load("xladoctor.ingest.interface").Ingested()
    read_space = load("xladoctor.ingest.xplane.read").read_space
    return lambda: read_space(path, ingested).decode(wanted), lambda events: len(events.name)


def xprof(path: Path) -> Decoder:
    """What `xprof create_events_db FILE --bypass_cache` calls; its answer names a Parquet file."""
    tool, duckdb = load("xprof.cli.tools.oss.events_db_tool"), load("duckdb")

    def count(answer: str) -> int:
        parquet = json.loads(answer)["path"]
        return int(duckdb.sql(f"SELECT count(*) FROM '{parquet}'").fetchall()[0][0])

    return lambda: tool.create_events_db(str(path), bypass_cache=True), count


def upb(path: Path) -> Decoder:
    """protobuf: the message parsed by upb, then a loop over planes, lines, events and stats."""
    np, xspace = load("numpy"), _xspace()

    def decode() -> Any:
        names: list[str] = []
        starts, durations = [], []
        of_event, stat_names, kinds, values = [], [], [], []
        for plane in xspace.FromString(path.read_bytes()).planes:
            event_name = {entry.key: entry.value.name for entry in plane.event_metadata}
            stat_name = {entry.key: entry.value.name for entry in plane.stat_metadata}
            for line in plane.lines:
                for event in line.events:
                    for stat in event.stats:
                        kind = stat.WhichOneof("value")
                        of_event.append(len(names))
                        stat_names.append(stat_name[stat.metadata_id])
                        kinds.append(kind)
                        values.append(getattr(stat, kind))
                    names.append(event_name[event.metadata_id])
                    starts.append(event.offset_ps)
                    durations.append(event.duration_ps)
        numbers = [np.array(column, np.int64) for column in (starts, durations, of_event)]
        return names, stat_names, kinds, values, *numbers

    return decode, lambda columns: len(columns[0])


def _xspace() -> Any:
    """XSpace with the stat's value as the oneof that it is in xplane.proto: zeros count."""
    file = load("google.protobuf.descriptor_pb2").FileDescriptorProto()
    load("xladoctor.ingest.protobuf_schema").message("XSpace").DESCRIPTOR.file.CopyToProto(file)
    stat = next(described for described in file.message_type if described.name == "XStat")
    stat.oneof_decl.add(name="value")
    for field in stat.field[1:]:  # behind metadata_id
        field.oneof_index = 0
    pool = load("google.protobuf.descriptor_pool").DescriptorPool()
    pool.Add(file)
    described = pool.FindMessageTypeByName(f"{file.package}.XSpace")
    return load("google.protobuf.message_factory").GetMessageClass(described)


DECODERS = {"xladoctor": everything, "needed": needed, "xprof": xprof, "upb": upb}


def measure(name: str, path: Path) -> None:
    """Decode once and print the figures as JSON."""
    began = time.perf_counter()
    decode, count = DECODERS[name](path)
    ready, ready_cpu = time.perf_counter(), time.process_time()
    decoded = decode()
    figures = {
        "setup_s": ready - began,
        "decode_s": time.perf_counter() - ready,
        "cpu_s": time.process_time() - ready_cpu,
        "events": count(decoded),
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    measure(sys.argv[1], Path(sys.argv[2]))
