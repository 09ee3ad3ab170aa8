"""Timelines that xladoctor did not capture: an XProf log directory, a session, or one file.

``LOGDIR/plugins/profile/<session>/<host>.xplane.pb`` is what XProf and TensorBoard read; each file
of a session is of one process, on any host. The wall time at which each profile started puts the
files of a session on one clock.
"""

from __future__ import annotations

from pathlib import Path

from xladoctor.ingest.frames import Folders
from xladoctor.ingest.interface import Ingested, IngestError, Progress
from xladoctor.ingest.sessions import SUFFIX, session_files
from xladoctor.ingest.timeline.read import TimelineFile, read_timeline


def read_profiles(path: Path, session: str | None, progress: Progress | None) -> Ingested:
    """Every timeline of a session, or the one file.

    Raises:
        IngestError: there is no such session, or nothing in it can be read.
    """
    ingested = Ingested()
    files = [path] if path.is_file() else session_files(path, session, ingested)
    for number, file in enumerate(files):
        read_timeline(TimelineFile(file, number), Folders(), ingested, progress)
        events = ingested.tables.get("timeline", {}).get("events", [0])
        if len(events) == number + 1 and events[number]:
            _add_process(file, number, ingested)
        else:
            ingested.notes.append(f"{file}: not a timeline, or one without events")
    if "process" not in ingested.tables:
        raise IngestError("\n".join(ingested.notes), "expected an uncompressed .xplane.pb file, as"
                          " XLA's profiler writes it")  # fmt: skip
    return ingested


def _add_process(file: Path, number: int, ingested: Ingested) -> None:
    hosts = ingested.tables.get("timeline", {})
    host = dict(zip(hosts.get("process", ()), hosts.get("host", ()), strict=True)).get(number)
    rows = ingested.tables.get("device", {})
    kinds = [kind for owner, kind in zip(rows.get("process", ()), rows.get("kind", ()), strict=True)
             if owner == number]  # fmt: skip
    ingested.add("process", process=number, host=host or file.name.removesuffix(SUFFIX),
                 device_kind=kinds[0] if kinds else None, devices=len(kinds),
                 ended=True)  # fmt: skip
