"""Copies in the cache: what is here is not fetched again, and what is read is not removed."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.storage.stores import web
from xladoctor.storage import cache as cache_module
from xladoctor.storage import fetch as fetch_module
from xladoctor.storage.address import StorageError
from xladoctor.storage.fetch import fetch
from xladoctor.storage.store import Store
from xladoctor.whole_files import alone_in

_TEXT = b"Counter: MarkStep\n  Value: 3\n"


@pytest.fixture
def copied(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the objects that were fetched."""
    names, copy = [], Store.copy

    def counted(self: Store, found: Any, *rest: Any) -> None:
        names.append(found.key.rpartition("/")[2])
        copy(self, found, *rest)

    monkeypatch.setattr(Store, "copy", counted)
    return names


def test_only_what_changed_is_fetched_again(
    memory: Any, place: str, copied: list[str], cache: Path
) -> None:
    for name in ("a.txt", "b.txt"):
        memory.pipe_file(f"{place}/{name}", _TEXT)
    first = fetch(f"memory://{place}")
    assert fetch(f"memory://{place}/").place == first.place
    assert sorted(copied) == ["a.txt", "b.txt"]
    memory.pipe_file(f"{place}/b.txt", _TEXT * 2)
    second = fetch(f"memory://{place}")
    assert copied[2:] == ["b.txt"]
    assert (second.place / "b.txt").read_bytes() == _TEXT * 2
    assert (first.place / "b.txt").read_bytes() == _TEXT  # somebody may be reading it
    assert (second.place / "a.txt").samefile(first.place / "a.txt")
    assert cache.stat().st_mode & 0o77 == 0


def test_an_interrupted_copy_goes_on(
    memory: Any, place: str, copied: list[str], cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetch_module, "AT_A_TIME", 1)
    for name in ("a.txt", "b.txt"):
        memory.pipe_file(f"{place}/{name}", _TEXT)
    counted = Store.copy

    def broken(self: Store, found: Any, *rest: Any) -> None:
        counted(self, found, *rest)
        if found.name == "b.txt":
            raise KeyboardInterrupt

    monkeypatch.setattr(Store, "copy", broken)
    with pytest.raises(KeyboardInterrupt):
        fetch(f"memory://{place}")
    monkeypatch.setattr(Store, "copy", counted)
    fetched = fetch(f"memory://{place}")
    assert copied == ["a.txt", "b.txt", "b.txt"]
    assert sorted(file.name for file in fetched.place.iterdir()) == ["a.txt", "b.txt"]
    assert not [*cache.rglob("*.new"), *cache.rglob("parts")]


def read(url: str, cache: str, results: Any) -> None:
    os.environ["XDG_CACHE_HOME"] = cache
    results.put(fetch(url).place.read_bytes())


def test_two_readers_at_once_fetch_once(tmp_path: Path) -> None:
    asked, both = [], threading.Barrier(2)

    def answer(request: Any) -> None:
        if request.command == "HEAD":
            both.wait(60)  # both have looked before either fetches
        else:
            asked.append(request.path)
        request.send_response(200)
        request.send_header("ETag", '"1"')
        request.send_header("Content-Length", str(len(_TEXT)))
        request.end_headers()
        if request.command == "GET":
            request.wfile.write(_TEXT)

    spawn = multiprocessing.get_context("spawn")
    results = spawn.Queue()
    with web(answer) as server:
        readers = [
            spawn.Process(target=read, args=(f"{server}/x.txt", str(tmp_path / "cache"), results))
            for _ in range(2)
        ]
        for reader in readers:
            reader.start()
        assert [results.get(timeout=60) for _ in readers] == [_TEXT, _TEXT]
        for reader in readers:
            reader.join()
    assert asked == ["/x.txt"]


def test_the_oldest_copies_are_removed_but_none_that_is_read(
    memory: Any, place: str, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def copies() -> int:
        return len([*cache.rglob("*.txt")])

    for number in range(3):
        memory.pipe_file(f"{place}/{number}.txt", _TEXT * 100)
        fetch(f"memory://{place}/{number}.txt")
    monkeypatch.setattr(cache_module, "MOST_BYTES", 4000)
    memory.pipe_file(f"{place}/3.txt", _TEXT * 100)
    fetch(f"memory://{place}/3.txt")
    assert copies() == 4  # this process reads them
    for descriptor in cache_module._held:
        os.close(descriptor)
    cache_module._held.clear()
    memory.pipe_file(f"{place}/4.txt", _TEXT)
    fetch(f"memory://{place}/4.txt")
    assert [file.name for file in cache.rglob("*.txt")].count("4.txt") == 1
    assert copies() == 2


def test_without_a_cache_a_temporary_folder_takes_its_place(
    memory: Any, place: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    memory.pipe_file(f"{place}/a.txt", _TEXT)
    assert fetch(f"memory://{place}/a.txt").place.read_bytes() == _TEXT
    cache_module._temporary.pop().cleanup()


def test_a_disk_without_room(
    memory: Any, place: str, monkeypatch: pytest.MonkeyPatch, cache: Path
) -> None:
    monkeypatch.setattr(cache_module, "_LEAST_FREE", 1 << 60)
    memory.pipe_file(f"{place}/a.txt", _TEXT)
    with pytest.raises(StorageError, match="GB free in") as caught:
        fetch(f"memory://{place}/a.txt")
    assert "XDG_CACHE_HOME" in caught.value.hint


def test_copies_that_others_finish_meanwhile(
    memory: Any, place: str, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the workers do that fetch the other hosts of a pod."""
    end = threading.Event()

    def finish() -> None:
        copy = cache / "other" / "copy.new"
        copy.mkdir(parents=True)
        with alone_in(copy.parent):
            while not end.is_set():
                (copy / "parts").mkdir()
                (copy / "parts" / "x.txt").touch()
                finished = copy.rename(copy.with_name("copy"))
                shutil.rmtree(finished / "parts")
                finished.rename(copy)

    monkeypatch.setattr(cache_module, "MOST_BYTES", 4000)
    others = threading.Thread(target=finish)
    others.start()
    try:
        for number in range(100):
            memory.pipe_file(f"{place}/{number}.txt", _TEXT)
            fetch(f"memory://{place}/{number}.txt")
    finally:
        end.set()
        others.join()
