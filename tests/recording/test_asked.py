"""Processes of a run that wait for each other end after the same step, however late they hear."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from xladoctor.recording.bootstrap._xladoctor import asked


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
    assert requests.stops
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
    assert not requests.stops
