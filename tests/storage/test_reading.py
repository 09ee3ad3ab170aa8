"""Evidence behind URLs is read as the same files on this machine are."""

from __future__ import annotations

import gzip
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import pytest

from tests.storage.conftest import RUN
from tests.storage.stores import BUCKET, web
from xladoctor.evidence.load import load
from xladoctor.ingest.interface import IngestError
from xladoctor.storage import store as store_module
from xladoctor.storage.address import StorageError
from xladoctor.storage.fetch import fetch

TIMELINE = next(RUN.glob("plugins/profile/*/*.xplane.pb"))
_COUNTS = "SELECT count(*) FROM compilation UNION ALL SELECT count(*) FROM event"


def counts(path: str) -> list[Any]:
    """How much was read: compilations, and events of the timeline."""
    return load(path).database.rows(_COUNTS)


@pytest.fixture(params=["s3", "gs", "memory", "file", "http"])
def put(request: pytest.FixtureRequest, place: str, tmp_path: Path) -> Iterator[Any]:
    """Copies a folder to a store of each kind, and gives its URL there."""
    kind = request.param
    if kind in ("file", "http"):
        served = tmp_path / "served"

        def copied(folder: Path) -> str:
            shutil.copytree(folder, served / "runs" / "one")
            return "runs/one"

        if kind == "file":
            yield lambda folder: f"file://{served}/{copied(folder)}"
        else:
            with web(folder=served) as server:
                yield lambda folder: f"{server}/{copied(folder)}"
        return
    names = {"s3": "s3", "gs": "gcs"}
    files = request.getfixturevalue(names[kind]) if kind in names else fsspec.filesystem(kind)

    def stored(folder: Path) -> str:
        files.put(str(folder), f"{place}/one", recursive=True)
        return f"{kind}://{place}/one"

    yield stored


def test_a_run_is_read_as_from_the_disk(put: Any, cache: Path) -> None:
    url = put(RUN)
    evidence = load(url)
    assert evidence.database.rows(_COUNTS) == counts(str(RUN))
    assert evidence.manifest is not None
    assert evidence.lost == ()
    assert evidence.path == (url if "://" in url and not url.startswith("file") else url[7:])
    shown = json.dumps([evidence.notes, evidence.database.rows("SELECT * FROM timeline")])
    assert str(cache) not in shown


def test_a_log_directory_of_xprof_is_read_as_from_the_disk(put: Any, tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    session = logs / "plugins" / "profile" / "2026_01_02"
    session.mkdir(parents=True)
    shutil.copy(TIMELINE, session / "host.xplane.pb")
    (logs / "events.out.tfevents.1").write_bytes(b"\0" * 100)
    assert counts(put(logs)) == counts(str(logs))


def test_the_last_session_is_fetched_and_another_if_asked_for(
    memory: Any, place: str, cache: Path
) -> None:
    for session in ("2026_01_01", "2026_01_02"):
        memory.put_file(str(TIMELINE), f"{place}/plugins/profile/{session}/host.xplane.pb")
    memory.pipe_file(f"{place}/checkpoint/model.safetensors", b"\1" * 1000)
    url = f"memory://{place}"
    (note,) = load(url).notes
    assert note.startswith(f"{url}: 2 sessions; the newest is read, 2026_01_02")
    whole = [file for file in cache.rglob("*.*") if file.is_file() and file.stat().st_size > 1000]
    assert [file.parent.name for file in whole] == ["2026_01_02"]
    assert not list(cache.rglob("*.safetensors"))
    other = load(url, "2026_01_01")
    assert other.database.scalar("SELECT count(*) FROM event")
    with pytest.raises(IngestError) as caught:
        load(url, "2025")
    assert "no session 2025" in caught.value.what


def test_a_file_is_read(s3: Any, place: str) -> None:
    s3.pipe_file(f"{place}/metrics.txt", b"Counter: MarkStep\n  Value: 3\n")
    url = f"s3://{place}/metrics.txt"
    evidence = load(url)
    assert evidence.path == url
    assert evidence.database.rows("SELECT name, value FROM counter") == [
        {"name": "MarkStep", "value": 3}
    ]
    both = load([url, str(TIMELINE)])
    assert both.path == f"{url} {TIMELINE}"


def test_runs_in_a_bucket_are_listed_by_url(memory: Any, place: str, cache: Path) -> None:
    for name in ("a", "b"):
        memory.put(str(RUN), f"{place}/{name}", recursive=True)
    with pytest.raises(IngestError) as caught:
        load(f"memory://{place}")
    assert caught.value.what == f"memory://{place}: 2 runs; a report is about one"
    assert f"xladoctor analyze memory://{place}/" in caught.value.hint
    assert str(cache) not in caught.value.hint
    assert not list(cache.rglob("*.xplane.pb"))


def test_large_objects_are_fetched_in_parts(
    s3: Any, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("xladoctor.storage.fetch.PART", 1000)
    content = os.urandom(7321)
    s3.pipe_file(f"{place}/host.xplane.pb", content)
    fetched = fetch(f"s3://{place}/host.xplane.pb")
    assert fetched.place.read_bytes() == content


def test_large_files_are_looked_into_before_they_are_fetched(
    memory: Any, place: str, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("xladoctor.storage.needed._LARGE", 100)
    trace = json.dumps({"traceEvents": [{"ph": "X", "name": "a" * 200}]})
    memory.pipe_file(
        f"{place}/rank0.trace.json.gz", gzip.compress(os.urandom(90).hex().encode() * 2)
    )
    memory.pipe_file(f"{place}/config.json", json.dumps({"layers": list(range(100))}).encode())
    memory.pipe_file(f"{place}/shard", b"\0" * 200)
    memory.pipe_file(f"{place}/rank1.trace.json", trace.encode())
    fetch(f"memory://{place}")
    names = {file.name for file in cache.rglob("*") if file.is_file()}
    assert names == {"rank1.trace.json", "versions.json"}


def test_a_folder_without_evidence(memory: Any, place: str) -> None:
    memory.pipe_file(f"{place}/model.bin", b"1")
    with pytest.raises(StorageError, match="nothing in it that can be read"):
        load(f"memory://{place}")


def test_names_that_lead_elsewhere_are_left_out(s3: Any, place: str, cache: Path) -> None:
    s3.put(str(RUN), f"{place}/run", recursive=True)
    for name in ("../escaped.log", "plugins/profile/../../../../escaped.log", "/etc/escaped.log"):
        s3.call_s3("put_object", Bucket=BUCKET, Key=f"{place.partition('/')[2]}/run/{name}",
                   Body=b"x")  # fmt: skip
    evidence = load(f"s3://{place}/run")
    assert evidence.database.rows(_COUNTS) == counts(str(RUN))
    assert any("names that no file can have" in note for note in evidence.notes)
    assert not [*cache.parents[1].rglob("escaped*")]


@pytest.mark.parametrize("size", [None, 5])
def test_pages_of_a_web_server_lead_to_what_is_below_them_alone(
    size: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_module, "PAUSE_S", 0.01)
    asked = []

    def answer(request: Any) -> None:
        asked.append(request.path)
        page = (
            b'<a href="../secret.log">a</a><a href="/secret.log">b</a><a href="x/../../../s.log">'
        )
        page += b'c</a><a href="%2e%2e/secret.log">d</a><a href="own.log">e</a>'
        is_page = request.path == "/runs/"
        body = page if is_page else b"Counter: MarkStep\n  Value: 3\n"
        request.send_response(200)
        request.send_header("Content-Type", "text/html" if is_page else "text/plain")
        if size is not None:
            request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        if request.command == "GET":
            request.wfile.write(body)

    with web(answer) as server:
        assert load(f"{server}/runs/").database.scalar("SELECT value FROM counter") == 3
    assert set(asked) == {"/runs/", "/runs/own.log"}
