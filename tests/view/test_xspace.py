"""The log directory that XProf is given, read back: our plane, and the timeline beside it."""

from __future__ import annotations

import gzip
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.chrome.builder import training
from tests.cli.command import ROOT
from tests.ingest.loop_trace import loop
from tests.view.decoded import decoded
from tests.xspace import builder
from xladoctor import doctor
from xladoctor.configuration.interface import Configured
from xladoctor.evidence.interface import Evidence
from xladoctor.ingest.protobuf_schema import message
from xladoctor.view.interface import ViewError
from xladoctor.view.show import Outcome, write_logdir, write_perfetto

SAMPLE = ROOT / "sample_traces/scalar_read"
OURS = "/device:CUSTOM:xladoctor"


def written(path: Path, logdir: Path) -> tuple[Evidence, Outcome]:
    evidence = doctor.load_evidence(str(path))
    diagnosis = doctor.diagnose(evidence, doctor.selection(Configured(folder=logdir.parent)))
    return evidence, write_logdir(evidence, diagnosis, logdir)


def files(logdir: Path) -> dict[str, bytes]:
    return {
        str(file.relative_to(logdir / "plugins/profile")): file.read_bytes()
        for file in sorted(logdir.rglob("*"))
        if file.is_file()
    }


def events(content: bytes, *planes: str) -> Counter[tuple[Any, ...]]:
    """Plane, line, name, begin and duration (picoseconds) of each event."""
    space, counted = message("XSpace").FromString(content), Counter[tuple[Any, ...]]()
    for plane in space.planes:
        names = {entry.key: entry.value.name for entry in plane.event_metadata}
        for line in plane.lines if not planes or plane.name in planes else ():
            for event in line.events:
                begin = line.timestamp_ns * 1000 + event.offset_ps
                counted[
                    plane.name, line.name, names[event.metadata_id], begin, event.duration_ps
                ] += 1
    return counted


def test_a_timeline_is_copied_and_followed_by_ours(tmp_path: Path) -> None:
    (original,) = SAMPLE.rglob("*.xplane.pb")
    evidence, outcome = written(SAMPLE, tmp_path / "log")
    ((name, content),) = files(tmp_path / "log").items()
    assert name == "scalar_read/host_28435.xplane.pb"
    assert content.startswith(original.read_bytes())
    assert outcome.notes == []
    (started,) = evidence.database.table("SELECT begin_ns FROM timeline")[1][0]
    rows = evidence.database.table(
        "SELECT 'steps', 'step ' || step, begin_ns, duration_ns FROM timeline_step UNION ALL"
        " SELECT 'calls of python', 'item programs/scalar_read.py:35', start_ns, duration_ns"
        " FROM event WHERE name = 'xladoctor.read'"
    )[1]
    assert len(rows) == 80
    ours = events(content, OURS)
    shown = {
        (line, name, begin // 1000, (begin + lasted) // 1000 - begin // 1000)
        for _, line, name, begin, lasted in ours
    }
    assert shown >= {(line, name, begin - started, lasted) for line, name, begin, lasted in rows}


def test_a_packed_timeline_is_unpacked(tmp_path: Path) -> None:
    content = loop().space.bytes()
    (tmp_path / "host.xplane.pb.gz").write_bytes(gzip.compress(content))
    written(tmp_path / "host.xplane.pb.gz", tmp_path / "log")
    ((name, copy),) = files(tmp_path / "log").items()
    assert (name, copy[: len(content)]) == ("host/host.xplane.pb", content)


def test_instants_of_the_wall_clock_stay(tmp_path: Path) -> None:
    trace = loop()
    for line in trace.space._space.planes[0].lines:
        line.timestamp_ns = 1_790_857_026_000_000_000
    (tmp_path / "host.xplane.pb").write_bytes(trace.space.bytes())
    evidence, _ = written(tmp_path / "host.xplane.pb", tmp_path / "log")
    ((_, copy),) = files(tmp_path / "log").items()
    (first,) = evidence.database.table("SELECT min(begin_ns) FROM timeline_step")[1][0]
    assert first == 1_790_857_026_000_000_000
    ours = events(copy, OURS)
    assert min(begin for _, line, _, begin, _ in ours if line == "steps") == first * 1000


def test_a_chrome_trace_is_written_anew(tmp_path: Path) -> None:
    file = training().write(tmp_path / "rank0.pt.trace.json")
    evidence, outcome = written(file, tmp_path / "log")
    ((name, content),) = files(tmp_path / "log").items()
    assert name == "rank0.pt.trace.json/rank0.xplane.pb"
    expected = Counter(
        map(
            tuple,
            evidence.database.table(
                "SELECT p.name, l.name, e.name, (e.start_ns - t.begin_ns) * 1000,"
                " e.duration_ns * 1000"
                " FROM event e JOIN line l USING (process, line) JOIN plane p ON p.plane = l.plane"
                " JOIN timeline t ON true"
            )[1],
        )
    )
    assert events(content, "/host:CPU", "/device:GPU:0") == expected
    assert [note for note in outcome.notes if "only XProf's trace viewer" in note]


def test_what_is_left_of_a_damaged_timeline_can_be_read(tmp_path: Path) -> None:
    content = loop(40).space.bytes()
    (tmp_path / "host.xplane.pb").write_bytes(content[: len(content) * 3 // 4])
    evidence, outcome = written(tmp_path / "host.xplane.pb", tmp_path / "log")
    ((_, copy),) = files(tmp_path / "log").items()
    (count,) = evidence.database.table("SELECT count(*) FROM event")[1][0]
    assert sum(events(copy, "/host:CPU").values()) == count > 100
    assert [note for note in outcome.notes if "damaged; what could be read is shown" in note]


def test_processes_of_one_name_are_kept_apart(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "host.xplane.pb").write_bytes(loop().space.bytes())
    evidence = doctor.load_evidence(
        [str(tmp_path / "a/host.xplane.pb"), str(tmp_path / "b/host.xplane.pb")]
    )
    chosen = doctor.selection(Configured(folder=tmp_path))
    write_logdir(evidence, doctor.diagnose(evidence, chosen), tmp_path / "log")
    assert [name.split("/")[1] for name in files(tmp_path / "log")] == [
        "host-1.xplane.pb",
        "host.xplane.pb",
    ]


@pytest.mark.thorough
@pytest.mark.parametrize("started", [0, (1 << 64) - 1])
@pytest.mark.parametrize(("origin", "offset"), [(-5, -1), ((1 << 63) - 1, (1 << 63) - 1)])
def test_instants_that_cannot_be(started: int, origin: int, offset: int, tmp_path: Path) -> None:
    trace = loop()
    trace.space.plane("Task Environment", profile_start_time=builder.Unsigned(started))
    line = trace.space.plane("/host:CPU").line("odd", timestamp_ns=origin)
    line.event("SyncTensorsGraph", 0, 5)
    event = trace.space._space.planes[0].lines[-1].events[0]
    event.offset_ps, event.duration_ps = offset, (1 << 63) - 1
    (tmp_path / "host.xplane.pb").write_bytes(trace.space.bytes())
    written(tmp_path / "host.xplane.pb", tmp_path / "log")
    evidence = doctor.load_evidence(str(tmp_path / "host.xplane.pb"))
    chosen = doctor.selection(Configured(folder=tmp_path))
    outcome = write_perfetto(evidence, doctor.diagnose(evidence, chosen), tmp_path / "trace")
    shown = sum(len(track.slices) for track in decoded(tmp_path / "trace").values())
    assert shown == outcome.slices > evidence.database.scalar("SELECT count(*) FROM event")


def test_names_of_a_foreign_file_are_no_paths(tmp_path: Path) -> None:
    folder = tmp_path / "odd \n name"
    folder.mkdir()
    (folder / "x y.xplane.pb").write_bytes(loop().space.bytes())
    written(folder, tmp_path / "log")
    assert list(files(tmp_path / "log")) == ["odd \n name/x y.xplane.pb"]


def test_names_need_not_be_texts(tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b"run \xff")
    folder.mkdir()
    (folder / os.fsdecode(b"host \xfe.xplane.pb")).write_bytes(loop().space.bytes())
    written(folder, tmp_path / "log")
    assert list(files(tmp_path / "log")) == [r"run \xff/host \xfe.xplane.pb"]


def test_without_a_timeline_nothing_is_written(tmp_path: Path) -> None:
    (tmp_path / "report.txt").write_text("Counter: aten::nonzero\n  Value: 3\n")
    with pytest.raises(ViewError, match="no timeline"):
        written(tmp_path / "report.txt", tmp_path / "log")
    assert not (tmp_path / "log").exists()
