"""Timelines of a run directory: the window's, and a second one of the steps after an outlier."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.ingest.test_run_directory import MANIFEST, add_process, write
from tests.xspace import builder
from xladoctor.evidence.load import load
from xladoctor.ingest.interface import IngestError
from xladoctor.ingest.run_directory import read_run_directory


def add_timeline(run: Path, session: str, steps: int, age: int = 0) -> None:
    space = builder.Space()
    space.started_at(1_700_000_000_000_000_000)
    line = space.plane("/host:CPU").line("python")
    for step in range(steps):
        line.event("train", 100.0 * step, 90, _r=1, step_num=step)
    path = run / "plugins" / "profile" / session / "vm_42.xplane.pb"
    path.parent.mkdir(parents=True)
    path.write_bytes(space.bytes())
    os.utime(path, (1_700_000_000 - age, 1_700_000_000 - age))


@pytest.fixture
def two_sessions(tmp_path: Path) -> Path:
    """The window, and a newer one after an outlier."""
    write(tmp_path / "run.json", {**MANIFEST, "session": "2026-01-05"})
    add_process(tmp_path, 42)
    add_timeline(tmp_path, "2026-01-05", 5, age=60)
    add_timeline(tmp_path, "2026-01-05-outlier", 3)
    return tmp_path


@pytest.mark.parametrize(
    ("session", "steps"), [(None, 5), ("2026-01-05", 5), ("2026-01-05-outlier", 3)]
)
def test_main_session_goes_before_a_newer_one(
    two_sessions: Path, session: str | None, steps: int
) -> None:
    evidence = load(str(two_sessions), session=session)
    assert evidence.database.scalar("SELECT count(*) FROM timeline_step") == steps
    assert evidence.notes == ()


def test_session_that_is_not_there(two_sessions: Path) -> None:
    with pytest.raises(IngestError, match="no session yesterday") as caught:
        read_run_directory(two_sessions, "yesterday")
    assert caught.value.hint == "there are: 2026-01-05, 2026-01-05-outlier"


def test_main_session_without_a_timeline_leaves_the_newest(two_sessions: Path) -> None:
    write(two_sessions / "run.json", {**MANIFEST, "session": "lost"})
    (note,) = read_run_directory(two_sessions)[1].notes
    assert "2 sessions; the newest is read, 2026-01-05-outlier" in note


def test_link_that_leads_nowhere_is_lost(two_sessions: Path) -> None:
    session = two_sessions / "plugins" / "profile" / "2026-01-06"
    session.mkdir()
    (session / "vm_42.xplane.pb").symlink_to("gone")
    evidence = load(str(two_sessions))
    assert evidence.database.scalar("SELECT count(*) FROM timeline_step") == 5
    evidence = load(str(two_sessions), session="2026-01-06")
    assert evidence.lost == (
        f"{session / 'vm_42.xplane.pb'}: a link or not a plain file; not read",
    )
