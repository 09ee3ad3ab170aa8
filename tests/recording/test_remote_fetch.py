"""Fetching profiles: what servers answer, and what is left on disk."""

from __future__ import annotations

import json
import os
import shutil
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import grpc
import pytest

from tests.recording.servers import (
    black_hole,
    busy_for,
    closed_port,
    leaves,
    profiler,
    refuses,
    sends,
    silent,
    timeline,
    web_server,
    writes,
)
from xladoctor.evidence.load import load
from xladoctor.ingest.interface import IngestError
from xladoctor.recording.interface import CaptureError
from xladoctor.recording.remote import client
from xladoctor.recording.remote.address import parse_addresses
from xladoctor.recording.remote.fetch import fetch
from xladoctor.recording.remote.interface import Fetched, RemoteRequest
from xladoctor.recording.remote.messages import message

UNSEEN = "recorded by the program's profiler server"


class Heard:
    """An observer that remembers why was waited."""

    def __init__(self) -> None:
        self.waits: list[str] = []

    def asking(self, request: RemoteRequest) -> None:
        assert request.addresses

    def waiting(self, why: CaptureError) -> None:
        self.waits.append(why.what)


def fetched(
    output: Path, *addresses: str, observer: Heard | None = None, **options: Any
) -> Fetched:
    request = RemoteRequest(
        parse_addresses(list(addresses)),
        output=output,
        **{"duration_ms": 20, "wait_ms": 0, **options},
    )
    return fetch(request, observer or Heard())


def refused(output: Path, *addresses: str, **options: Any) -> CaptureError:
    with pytest.raises(CaptureError) as caught:
        fetched(output, *addresses, **options)
    return caught.value


@pytest.mark.parametrize("answer", [sends, writes])
def test_what_a_server_sends_or_writes_here_is_a_run_directory(tmp_path: Path, answer: Any) -> None:
    with profiler(answer) as address:
        result = fetched(tmp_path / "run", address)

    (file,) = result.directory.path.glob("plugins/profile/*/*")
    assert file.name == f"{address.replace(':', '_')}.xplane.pb"
    assert file.read_bytes() == timeline()
    evidence = load(str(result.directory.path))
    assert evidence.origin.kind == "remote"
    assert evidence.database.scalar("SELECT count(*) FROM timeline_step") == 5
    assert [note[: len(UNSEEN)] for note in evidence.notes] == [UNSEEN]


def test_the_request_is_what_servers_need() -> None:
    asked = []

    def answer(request: Any, context: Any) -> Any:
        asked.append(request)
        return sends(request, context)

    with profiler(answer) as address, pytest.MonkeyPatch.context() as patch:
        patch.chdir(Path(__file__).parent)
        shutil.rmtree(fetched(Path("made"), address, duration_ms=30).directory.path)

    (request,) = asked
    assert request.duration_ms == request.opts.duration_ms == 30  # servers read the second
    assert request.opts.version == 1
    assert request.opts.host_tracer_level == 2
    assert request.opts.enable_hlo_proto
    assert Path(request.repository_root).is_absolute()  # the server has a directory of its own


def test_several_servers_are_several_processes_of_one_session(tmp_path: Path) -> None:
    with profiler(sends) as first, profiler(writes) as second:
        fetched(tmp_path / "run", first, second)

    evidence = load(str(tmp_path / "run"))
    assert evidence.database.scalar("SELECT count(*) FROM process") == 2


def test_one_that_fails_is_said_and_the_others_analyzed(tmp_path: Path) -> None:
    with profiler(sends) as server:
        closed = f"localhost:{closed_port()}"
        result = fetched(tmp_path / "run", closed, server)

    assert [profile.here for profile in result.profiles] == [False, True]
    notes = load(str(tmp_path / "run")).notes
    assert notes[0] == (
        f"not captured: {closed}: connection refused: no profiler server listens there"
    )
    assert notes[1].startswith(UNSEEN)


def test_what_servers_leave_on_their_machine_can_be_copied_and_analyzed(tmp_path: Path) -> None:
    run = tmp_path / "run"
    with profiler(leaves) as address:
        error = refused(run, address, server_directory="/no/such/place/")

    file = f"{address.replace(':', '_')}.xplane.pb"
    (session,) = run.glob("plugins/profile/*")
    left = f"/no/such/place/{session.name}/{file}"
    assert f"{address}: wrote its timeline on its own machine: {left}" in error.what
    assert f"scp HOST:{left} {session}/" in error.hint
    assert f"then: xladoctor analyze {run}" in error.hint
    with pytest.raises(IngestError, match=f"copy it into {session}"):
        load(str(run))

    (session / file).write_bytes(timeline())
    assert [note[: len(UNSEEN)] for note in load(str(run)).notes] == [UNSEEN]


def test_a_bucket_is_copied_from_with_its_own_tool(tmp_path: Path) -> None:
    with profiler(leaves) as address:
        error = refused(tmp_path / "run", address, server_directory="gs://bucket/profiles")

    assert "gcloud storage cp gs://bucket/profiles/" in error.hint


def test_a_folder_of_the_server_is_absolute(tmp_path: Path) -> None:
    error = refused(tmp_path / "run", "localhost:1", server_directory="profiles")
    assert "not an absolute path" in error.what


def test_a_folder_of_both_machines_is_copied_from(tmp_path: Path) -> None:
    with profiler(writes) as address:
        fetched(tmp_path / "run", address, server_directory=str(tmp_path / "shared"))

    assert len(list(tmp_path.glob("shared/*/*.xplane.pb"))) == 1
    assert len(list(tmp_path.glob("run/plugins/profile/*/*.xplane.pb"))) == 1


def test_whatever_listens_there_is_named_and_nothing_is_left(tmp_path: Path) -> None:
    """All at once, so that it takes as long as the slowest: 5 s."""
    closed = f"localhost:{closed_port()}"
    began = time.monotonic()
    with ExitStack() as stack:
        http, mute, hole, other = (
            stack.enter_context(server)
            for server in (
                web_server(),
                silent(),
                black_hole(),
                profiler(sends, "/helloworld.Greeter/SayHello"),
            )
        )
        error = refused(tmp_path / "run", closed, http, mute, hole, other, "no.such.invalid:1")

    first, *lines = error.what.splitlines()
    assert first == "no timeline from any of 6 servers:"
    for line, address, text in zip(
        lines,
        (closed, http, mute, hole, other, "no.such.invalid:1"),
        (
            "connection refused",
            "does not answer as a profiler server",
            "does not answer as a profiler server",
            "cannot be reached: timed out",
            "speaks gRPC, but is not a profiler server",
            "unknown host name",
        ),
        strict=True,
    ):
        assert line.startswith(f"  {address}: ")
        assert text in line
    assert "server = xp.start_server(PORT)" in error.hint
    assert "ssh -L" in error.hint
    assert list(tmp_path.iterdir()) == []
    assert time.monotonic() - began < 20


@pytest.mark.parametrize(
    ("answer", "what"),
    [
        (lambda *_: message("ProfileResponse")(empty_trace=True), "did nothing visible in 0.02 s"),
        (
            refuses(grpc.StatusCode.INTERNAL, "/elsewhere/x; Permission denied"),
            "cannot write its profile: /elsewhere/x; Permission denied",
        ),
        (
            refuses(grpc.StatusCode.UNAVAILABLE, "Socket closed"),
            "ended while it was being captured",
        ),
        (refuses(grpc.StatusCode.INTERNAL, "odd\x1b[31m"), "INTERNAL: odd\\x1b[31m"),
        (refuses(grpc.StatusCode.DEADLINE_EXCEEDED, ""), "no answer within 30 s"),
        (
            refuses(grpc.StatusCode.RESOURCE_EXHAUSTED, "Received message larger than max"),
            "its timeline is larger than 1 GiB",
        ),
        (lambda *_: 1 / 0, "took no profile: UNKNOWN"),
    ],
)
def test_servers_that_give_no_profile(tmp_path: Path, answer: Any, what: str) -> None:
    with profiler(answer) as address:
        error = refused(tmp_path / "run", address, server_directory="/elsewhere")

    assert error.what.startswith(f"{address}: ")
    assert what in error.what
    assert list(tmp_path.iterdir()) == []


def test_a_response_larger_than_the_limit_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = [("grpc.max_receive_message_length", 100)]
    monkeypatch.setattr(client, "_OPTIONS", options)
    with profiler(sends) as address:
        error = refused(tmp_path / "run", address)
    assert "its timeline is larger than" in error.what
    assert "a shorter --duration records less" in error.hint


def test_a_busy_server_is_waited_for_as_long_as_was_asked(tmp_path: Path) -> None:
    heard = Heard()
    with profiler(busy_for(1.0)) as address:
        assert "another profile" in refused(tmp_path / "run", address).what
        fetched(tmp_path / "run", address, wait_ms=30_000, observer=heard)

    assert heard.waits == [f"{address}: another profile of this program is being taken"]


def test_a_directory_that_holds_something_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "precious.txt").write_text("mine")
    with profiler(sends) as address:
        assert "is not an empty directory" in refused(tmp_path, address).what

    assert [path.name for path in tmp_path.iterdir()] == ["precious.txt"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_directory_that_cannot_be_written_to_is_said_before(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    assert "Permission denied" in refused(tmp_path, "localhost:1").what


def test_without_grpc_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    error = refused(tmp_path / "run", "localhost:1")
    assert "pip install 'xladoctor[remote]'" in error.hint


def test_a_damaged_manifest_is_named(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text(json.dumps({"kind": "remote", "profiles": [{}]}))
    with pytest.raises(IngestError, match=r"run.json: not a manifest of xladoctor"):
        load(str(tmp_path))
