"""Files of the capture: whole or not at all, and faults even where nothing can be written."""

from __future__ import annotations

import errno
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from xladoctor.recording.bootstrap._xladoctor import files

ROOM = 4096


@pytest.fixture
def log(tmp_path: Path) -> Path:
    files.keep_room_for_faults(str(tmp_path))
    return tmp_path / "faults.log"


def test_room_is_taken_before_there_is_a_fault(log: Path) -> None:
    assert log.read_bytes() == b" " * ROOM


def test_fault_is_written_into_the_room_with_its_traceback(log: Path) -> None:
    with pytest.raises(ValueError, match="odd") as caught:
        int("odd")
    files.note_fault(str(log.parent), caught.value)
    text = log.read_text()
    assert text.startswith("Traceback (most recent call last):\n")
    assert text.rstrip().endswith("with base 10: 'odd'")
    assert len(text) == ROOM


def test_second_fault_comes_after_the_first(log: Path) -> None:
    for number in (1, 2):
        files.note_fault(str(log.parent), ValueError(f"number {number}"))
    assert log.read_text().rstrip() == "ValueError: number 1\nValueError: number 2"
    assert log.stat().st_size == ROOM


@pytest.mark.parametrize("times", [1, 300])
def test_file_never_grows(log: Path, times: int) -> None:
    for _ in range(times):
        files.note_fault(str(log.parent), ValueError("x" * 5000 if times == 1 else "again"))
    assert log.stat().st_size == ROOM
    assert log.read_text().startswith("ValueError: ")


def test_nothing_is_raised_where_the_folder_is_gone(log: Path) -> None:
    log.unlink()
    assert not files.note_fault(str(log.parent), ValueError("odd"))
    log.parent.rmdir()
    assert not files.note_fault(str(log.parent), ValueError("odd"))
    assert not log.parent.exists()


def test_nothing_is_raised_where_the_disk_is_full(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log.unlink()
    log.symlink_to("/dev/full")
    files.note_fault(str(log.parent), ValueError("odd"))
    (log.parent / "python.log").symlink_to("/dev/full")
    assert not files.announce(str(log.parent), "started")


@given(st.text())
@example("/home/ad\udce4/train.py")
def test_fault_of_any_words_is_noted(words: str) -> None:
    """Also those of a path that is no UTF-8, which Python has as lone surrogates."""
    descriptor = os.memfd_create("faults")
    path = Path(f"/proc/self/fd/{descriptor}")
    os.write(descriptor, b" " * ROOM)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "_faults", lambda folder: str(path))
        files.note_fault("", ValueError(words))
    assert len(path.read_bytes()) == ROOM
    assert path.read_bytes().startswith(b"ValueError")
    os.close(descriptor)


def test_whole_file_is_replaced_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "metrics.txt"
    for content in ("längst", b"\x00\xff"):
        files.replace_file(str(path), content)
        assert path.read_bytes() == (content.encode() if isinstance(content, str) else content)
    assert list(tmp_path.iterdir()) == [path]


def test_file_that_cannot_be_replaced_stays_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "metrics.txt"
    path.write_text("old")
    (tmp_path / f"metrics.txt.{threading.get_ident()}.new").symlink_to("/dev/full")
    with pytest.raises(OSError) as caught:  # noqa: PT011  # its number is what tells
        files.replace_file(str(path), "new")
    assert caught.value.errno == errno.ENOSPC
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]  # not what was written in part, which takes room


def test_every_process_says_who_it_is(tmp_path: Path) -> None:
    files.announce(str(tmp_path), "started")
    files.announce(str(tmp_path), "imported torch_xla")
    who = f"{os.getpid()} {os.getppid()}"
    assert (tmp_path / "python.log").read_text() == f"{who} started\n{who} imported torch_xla\n"


def test_process_without_a_run_directory_says_nothing(tmp_path: Path) -> None:
    files.announce(str(tmp_path / "gone"), "started")
    assert list(tmp_path.iterdir()) == []


def test_threads_may_write_the_same_file_at_once(tmp_path: Path) -> None:
    contents = [bytes([number]) * 100_000 for number in range(8)]
    path = tmp_path / "modules.xplane.pb"

    def write(content: bytes) -> None:
        for _ in range(50):
            files.replace_file(str(path), content)

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(write, contents))  # raises what a thread raised
    assert path.read_bytes() in contents
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_secrets_in_faults_are_left_out(tmp_path: Path) -> None:
    files.keep_room_for_faults(str(tmp_path))
    files.note_fault(
        str(tmp_path), OSError("cannot open https://ada:hunter2@host/x?sig=hunter2hunter2")
    )
    files.announce(str(tmp_path), "fault OSError('password=hunter2')")
    told = "".join(file.read_text() for file in tmp_path.iterdir())
    assert told.count("…") == 3
    assert "hunter2" not in told
