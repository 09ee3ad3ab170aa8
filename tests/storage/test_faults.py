"""What goes wrong between this machine and a store is said, with what to do about it."""

from __future__ import annotations

import logging
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest

from tests.cli.command import ENVIRONMENT, ROOT
from tests.storage.stores import BUCKET, KEY, free_port, web
from xladoctor.storage import client as client_module
from xladoctor.storage import store as store_module
from xladoctor.storage.address import StorageError
from xladoctor.storage.fetch import fetch

_REDIRECT = (
    "<Error><Code>PermanentRedirect</Code><Message>The bucket you are attempting to access must be"
    " addressed using the specified endpoint.</Message></Error>"
)
_TEXT = b"Counter: MarkStep\n  Value: 3\n"


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "PAUSE_S", 0.01)


def fault(url: str) -> StorageError:
    with pytest.raises(StorageError) as caught:
        fetch(url)
    return caught.value


@pytest.mark.parametrize(("kind", "store"), [("s3", "s3"), ("gs", "gcs")])
def test_what_is_not_there(kind: str, store: str, request: pytest.FixtureRequest) -> None:
    request.getfixturevalue(store)
    absent = fault(f"{kind}://{BUCKET}/no/such/run")
    assert absent.what == f"{kind}://{BUCKET}/no/such/run: no such object or folder"
    assert fault(f"{kind}://no-such-bucket/run").what == f"{kind}://no-such-bucket: no such bucket"


def test_no_permission(s3: Any, s3_endpoint: str, place: str) -> None:
    s3.pipe_file(f"{place}/metrics.txt", _TEXT)

    def free_requests(count: int) -> None:
        address = f"{s3_endpoint}/moto-api/reset-auth"
        plain = {"Content-Type": "text/plain"}
        urlopen(Request(address, str(count).encode(), plain, method="POST")).close()

    free_requests(0)  # from now on the server looks at keys, and knows none
    try:
        error = fault(f"s3://{place}/metrics.txt")
    finally:
        free_requests(1_000_000)
    assert error.what == f"s3://{place}/metrics.txt: no permission"
    assert "AWS_PROFILE" in error.hint
    assert KEY not in error.what + error.hint


def test_no_credentials(s3: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    error = fault(f"s3://{BUCKET}/run")
    assert error.what == f"s3://{BUCKET}/run: no credentials"
    assert "FSSPEC_S3_ANON" in error.hint


def answering(status: int, body: str, kind: str = "text/plain") -> Callable[[Any], None]:
    def answer(request: Any) -> None:
        request.send_response(status)
        request.send_header("Content-Type", kind)
        request.send_header("x-amz-bucket-region", "eu-north-1")
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        if request.command == "GET":
            request.wfile.write(body.encode())

    return answer


def test_a_bucket_of_another_region(s3: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with web(answering(301, _REDIRECT, "application/xml")) as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL", server)
        error = fault(f"s3://{BUCKET}/run")
    assert "in another region" in error.what
    assert "AWS_REGION" in error.hint


def test_google_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    refusal = '{"error": {"code": 403, "message": "ada@example.com does not have access"}}'
    with web(answering(403, refusal, "application/json")) as server:
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", server)
        error = fault(f"gs://{BUCKET}/run")
    assert error.what == f"gs://{BUCKET}/run: no permission"
    assert "gcloud auth application-default login" in error.hint


@pytest.mark.parametrize(
    ("status", "what"),
    [(403, "no permission"), (404, "no such object or folder"), (500, "the store failed")],
)
def test_a_web_server_refuses(status: int, what: str) -> None:
    with web(answering(status, "no")) as server:
        assert fault(f"{server}/run.txt").what.startswith(f"{server}/run.txt: {what}")


def test_nobody_answers(s3: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    nowhere = f"http://127.0.0.1:{free_port()}"
    monkeypatch.setenv("AWS_ENDPOINT_URL", nowhere)
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    monkeypatch.setattr(store_module, "TRIES", 2)
    for url in (f"s3://{BUCKET}/run", f"{nowhere}/run.txt"):
        assert fault(url).what == f"{url}: the store cannot be reached"


@pytest.mark.parametrize("failing", ["busy", "silent", "short"])
def test_what_may_pass_is_tried_again(failing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_module, "ANSWER_S", 0.2)
    asked = []

    def answer(request: Any) -> None:
        if request.command == "GET":
            asked.append(request.path)
        fails = request.command == "GET" and len(asked) < 3
        if fails and failing == "silent":
            time.sleep(0.5)
            return
        request.send_response(503 if fails and failing == "busy" else 200)
        request.send_header("Content-Length", str(len(_TEXT)))
        request.end_headers()
        if request.command == "GET":
            request.wfile.write(_TEXT[:10] if fails else _TEXT)

    with web(answer) as server:
        assert fetch(f"{server}/metrics.txt").place.read_bytes() == _TEXT
    assert len(asked) == 3


def test_what_never_passes_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_module, "ANSWER_S", 0.1)
    with web(lambda request: time.sleep(0.4)) as server:
        assert fault(f"{server}/run.txt").what.endswith("the store did not answer in time")


def test_a_client_that_is_not_installed(tmp_path: Path) -> None:
    program = """
from xladoctor.evidence.load import load
from xladoctor.storage.address import StorageError
for url in ("s3://b/x", "gs://b/x", "https://host/x"):
    try:
        load(url)
    except StorageError as error:
        print(error.what, error.hint)
"""
    for name in ("s3fs", "gcsfs", "aiohttp"):
        (tmp_path / f"{name}.py").write_text(f"raise ImportError('No module named {name}')")
    path = {**ENVIRONMENT, "PYTHONPATH": f"{tmp_path}:{ROOT}"}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=path, capture_output=True, text=True, check=True)
    for line, extra in zip(done.stdout.splitlines(), ("s3", "gcs", "http"), strict=True):
        assert "needs a package that is not installed" in line
        assert line.endswith(f"pip install 'xladoctor[{extra}]'")


def test_urls_of_an_unknown_kind() -> None:
    error = fault("nosuch://host/x")
    assert error.what == "nosuch://…: an unknown kind of URL"
    assert "gs://" in error.hint


def test_the_logs_and_warnings_of_others_are_left_alone(memory: Any, place: str) -> None:
    memory.pipe_file(f"{place}/metrics.txt", _TEXT)
    library, filters = logging.getLogger("fsspec"), list(warnings.filters)
    fetch(f"memory://{place}/metrics.txt")
    handlers = list(library.handlers)
    fetch(f"memory://{place}/metrics.txt")
    assert library.propagate
    assert library.handlers == handlers
    assert warnings.filters == filters
