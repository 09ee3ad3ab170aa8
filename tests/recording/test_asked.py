"""Processes of a run that wait for each other end after the same step, however late they hear."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from xladoctor.recording import asking
from xladoctor.recording.bootstrap._xladoctor import asked
from xladoctor.recording.interface import RunDirectory


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """That of the only process of a run, which runs."""
    monkeypatch.setattr(asking, "is_running", lambda _: True)
    made = tmp_path / "process-1"
    made.mkdir()
    return made


def test_a_process_waits_for_the_answer_at_the_step_after_which_it_could_end(
    tmp_path: Path,
) -> None:
    requests = asked.Requests(str(tmp_path), str(tmp_path))
    (tmp_path / asked.STOP).touch()
    requests.listen([])
    could = int((tmp_path / asked.CAN_STOP).read_text())
    agreed = threading.Timer(0.2, (tmp_path / asked.STOP).write_text, [str(could + 7)])
    agreed.start()

    assert not requests.stop_after(could), "another process cannot end so early"
    assert not requests.stops_anywhere
    assert [requests.stop_after(could + more) for more in (6, 7, 8)] == [False, True, True]
    agreed.join()


def test_a_program_whose_launcher_is_gone_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asked, "_PATIENCE_S", 0.0)
    requests = asked.Requests(str(tmp_path), str(tmp_path))
    (tmp_path / asked.STOP).touch()
    requests.listen([])

    assert not any(map(requests.stop_after, range(5)))
    assert not requests.stops_anywhere


def test_the_only_process_so_far_of_a_job_ends_at_a_step_that_the_others_can_reach(
    tmp_path: Path, folder: Path
) -> None:
    (folder / "process.json").write_text('{"world_size": 2}')
    launcher = threading.Thread(target=asking.stop, args=[RunDirectory(tmp_path)])

    launcher.start()
    first, late = asked.Requests(str(tmp_path), str(folder)), asked.Requests(str(tmp_path), "none")
    while not (folder / asked.CAN_STOP).exists():
        first.listen([])
    launcher.join()
    for requests in (first, late):
        requests.listen([])

    could = int((folder / asked.CAN_STOP).read_text())
    for requests in (first, late):
        assert not requests.stops_anywhere
        assert [requests.stop_after(could - 1 + more) for more in (0, 1)] == [False, True]


def test_a_process_without_others_ends_at_its_next_step_or_read(
    tmp_path: Path, folder: Path
) -> None:
    (folder / "process.json").write_text('{"world_size": null}')

    asking.stop(RunDirectory(tmp_path))
    requests = asked.Requests(str(tmp_path), str(folder))
    requests.listen([])

    assert requests.stops_anywhere
    assert requests.stop_after(0)
