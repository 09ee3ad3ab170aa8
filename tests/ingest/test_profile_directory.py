"""Timelines of other captures: log directories, sessions, several hosts, single files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.xspace import builder, devices
from xladoctor.diagnosis.engine import diagnose
from xladoctor.diagnosis.pack import load_rules
from xladoctor.doctor import load_evidence
from xladoctor.ingest.interface import IngestError

START = 1_700_000_000_000_000_000


def loop(steps: int, started_ns: int = START) -> builder.Space:
    space = builder.Space()
    space.started_at(started_ns)
    line = space.plane("/host:CPU").line("python")
    for step in range(steps):
        line.event("train", 100.0 * step, 90, _r=1, step_num=step)
    return space


def write(folder: Path, session: str, host: str, space: builder.Space, age: int = 0) -> Path:
    path = folder / "plugins" / "profile" / session / f"{host}.xplane.pb"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(space.bytes())
    os.utime(path, (1_700_000_000 - age, 1_700_000_000 - age))
    return path


@pytest.fixture
def two_sessions(tmp_path: Path) -> Path:
    write(tmp_path, "2026_01_05", "a", loop(5), age=60)
    write(tmp_path, "2026_01_04_later", "a", loop(7))
    return tmp_path


def test_the_newest_session_is_read_and_said(two_sessions: Path) -> None:
    evidence = load_evidence(str(two_sessions))
    assert evidence.database.scalar("SELECT count(*) FROM timeline_step") == 7
    assert evidence.notes == (
        f"{two_sessions}: 2 sessions; the newest is read, 2026_01_04_later"
        " (--session for another: 2026_01_05)",
    )


def test_another_session_by_name(two_sessions: Path) -> None:
    evidence = load_evidence(str(two_sessions), session="2026_01_05")
    assert evidence.database.scalar("SELECT count(*) FROM timeline_step") == 5
    assert evidence.notes == ()


def test_a_session_that_is_not_there(two_sessions: Path) -> None:
    with pytest.raises(IngestError, match="no session yesterday") as caught:
        load_evidence(str(two_sessions), session="yesterday")
    assert caught.value.hint == "there are: 2026_01_05, 2026_01_04_later"


def test_the_beginning_of_a_sessions_name_is_enough(two_sessions: Path) -> None:
    evidence = load_evidence(str(two_sessions), session="2026_01_05")
    assert evidence.notes == ()
    with pytest.raises(IngestError, match="no session 2026"):
        load_evidence(str(two_sessions), session="2026")
    evidence = load_evidence(str(two_sessions), session="2026_01_04")
    assert evidence.database.scalar("SELECT count(*) FROM timeline_step") == 7


def test_a_file_without_events_among_others_is_not_a_process(tmp_path: Path) -> None:
    write(tmp_path, "s", "a", loop(3))
    empty = write(tmp_path, "s", "b", loop(3))
    empty.write_bytes(b"")
    evidence = load_evidence(str(tmp_path))
    assert evidence.database.scalar("SELECT count(*) FROM process") == 1
    assert evidence.notes == (f"{empty}: not a timeline, or one without events",)


@pytest.mark.parametrize(
    "below", ["", "plugins", "plugins/profile", "plugins/profile/2026_01_04_later"]
)
def test_any_level_of_the_directory(two_sessions: Path, below: str) -> None:
    evidence = load_evidence(str(two_sessions / below))
    assert evidence.database.scalar("SELECT count(*) FROM timeline_step") == 7


def test_one_file(two_sessions: Path) -> None:
    path = two_sessions / "plugins/profile/2026_01_05/a.xplane.pb"
    evidence = load_evidence(str(path))
    assert evidence.database.scalar("SELECT file FROM timeline") == str(path)


def test_hosts_of_a_session_are_on_one_clock(tmp_path: Path) -> None:
    write(tmp_path, "s", "a", loop(3))
    write(tmp_path, "s", "b", loop(3, START + 40_000))
    database = load_evidence(str(tmp_path)).database
    rows = database.rows(
        "SELECT host, begin_ns FROM timeline JOIN process USING (process, host) ORDER BY process"
    )
    assert [row["begin_ns"] - START for row in rows] == [0, 40_000]
    begins = database.rows(
        "SELECT process, min(begin_ns) AS begin FROM timeline_step"
        " GROUP BY process ORDER BY process"
    )
    assert [row["begin"] - START for row in begins] == [0, 40_000]


def test_a_damaged_file_among_others_is_used_as_far_as_it_goes(tmp_path: Path) -> None:
    whole = write(tmp_path, "s", "a", loop(20))
    cut = write(tmp_path, "s", "b", loop(20))
    cut.write_bytes(whole.read_bytes()[:300])
    evidence = load_evidence(str(tmp_path))
    assert evidence.notes == (f"{cut}: cut off at byte 300; what could be read is used",)
    rows = evidence.database.rows("SELECT events, complete FROM timeline ORDER BY process")
    assert [row["complete"] for row in rows] == [True, False]
    assert 0 < rows[1]["events"] < rows[0]["events"]


@pytest.mark.parametrize("data", [b"", b"no timeline at all", b"\x00" * 40])
def test_a_file_that_is_not_a_timeline(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x.xplane.pb"
    path.write_bytes(data)
    with pytest.raises(IngestError, match=r"x\.xplane\.pb: ") as caught:
        load_evidence(str(path))
    assert "expected a timeline with events: .xplane.pb" in caught.value.hint


def test_each_thing_that_is_wrong_with_a_timeline_has_its_line(tmp_path: Path) -> None:
    path = tmp_path / "x.xplane.pb.gz"
    path.write_bytes(b"\x1f\x8b damaged")
    with pytest.raises(IngestError) as caught:
        load_evidence(str(path))
    lines = caught.value.what.splitlines()
    assert len(lines) == 2
    assert all(line.startswith(f"{path}: ") for line in lines)


def test_diagnosis_of_a_tpu_program(tmp_path: Path) -> None:
    write(tmp_path, "s", "tpu-vm", devices.tpu())
    report = diagnose(load_evidence(str(tmp_path)), load_rules())
    assert (report.run.kind, report.run.device, report.run.devices) == ("timeline", "TPU", 2)
    assert report.steps is not None
    assert report.steps.count == 3
    assert [device.name for device in report.devices] == ["/device:TPU:0", "/device:TPU:1"]
    for device in report.devices:
        assert device.busy + sum(device.idle.values()) == pytest.approx(1)
    first = report.devices[0]
    assert first.busy == pytest.approx(99 / 200)  # of the steps after the one that compiles
    assert (first.top_ops[0].module, first.top_ops[0].op) == ("jit_train_step", "all-reduce.2")
    assert report.time.parts is not None
    assert report.time.loop_s == pytest.approx(400e-6)
