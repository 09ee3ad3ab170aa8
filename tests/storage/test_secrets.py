"""What is secret in a URL is in nothing that xladoctor writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.forked import called
from tests.storage.conftest import RUN
from tests.storage.stores import KEY, SECRET, SECRET_IN_URL, s3_environment, web
from xladoctor.evidence.load import load
from xladoctor.storage import store
from xladoctor.storage.address import StorageError, local_path, parse_address

SIGNATURE = "0f1e2d3c4b5a69788796a5b4c3d2e1f0"
_SECRETS = (KEY, SECRET, SECRET_IN_URL, SIGNATURE)


def is_clean(*texts: str) -> bool:
    return not any(secret in text for secret in _SECRETS for text in texts)


def written(folder: Path) -> list[str]:
    files = (file for file in folder.rglob("*") if file.is_file() and not file.is_symlink())
    return [str([*folder.rglob("*")]), *(file.read_text(errors="replace") for file in files)]


def test_a_report_on_a_bucket_with_a_key(
    s3: Any, s3_endpoint: str, place: str, tmp_path: Path, cache: Path
) -> None:
    s3.put(str(RUN), f"{place}/run", recursive=True)
    environment = {**s3_environment(s3_endpoint), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    del environment["AWS_ACCESS_KEY_ID"], environment["AWS_SECRET_ACCESS_KEY"]
    url = f"s3://{KEY}:{SECRET_IN_URL}@{place}/run"
    report = tmp_path / "report.json"
    done = called("analyze", url, "--format", f"json={report}", "--format", "terminal", "-v",
                  environment=environment)  # fmt: skip
    assert done.returncode == 0, done.stderr
    shown = json.loads(report.read_text())["run"]["path"]
    assert shown == f"s3://{place}/run"
    assert is_clean(done.stdout, done.stderr, *written(tmp_path))
    assert str(cache) not in done.stdout + done.stderr + report.read_text()
    rows = called("query", url, "SELECT 7 AS x", "--format=csv", "-o", url.replace("/run", "/rows"),
                  environment=environment)  # fmt: skip
    assert (rows.returncode, s3.cat_file(f"{place}/rows")) == (0, b"x\n7\n")
    failed = called("analyze", f"{url}-2", environment=environment)
    assert failed.returncode == 2
    assert f"s3://{place}/run-2: no such object" in failed.stderr
    assert is_clean(failed.stdout, failed.stderr)


@pytest.mark.parametrize("status", [200, 403, 500])
def test_a_signed_url(
    status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(store, "PAUSE_S", 0.01)
    asked = []

    def answer(request: Any) -> None:
        asked.append(request.path)
        body = b"Counter: MarkStep\n  Value: 3\n"
        request.send_response(status, f"for {request.path}")
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        if request.command == "GET":
            request.wfile.write(body)

    with web(answer) as server:
        url = f"{server}/run.txt?X-Amz-Signature={SIGNATURE}&X-Amz-Expires=600"
        url = url.replace("http://", f"http://{KEY}:{SECRET_IN_URL}@")
        try:
            evidence = load(url)
            said = [evidence.path, *evidence.notes]
        except StorageError as error:
            said = [error.what, error.hint]
    assert (status == 200) == (said == [f"{server}/run.txt"])
    assert said[0].startswith(f"{server}/run.txt")
    assert all(SIGNATURE in path for path in asked)
    assert is_clean(*said, *capfd.readouterr(), *written(tmp_path))


@pytest.mark.parametrize(
    "url",
    [
        f"s3://{KEY}:{SECRET}/more@bucket/run",
        f"s3://{KEY}:a/b@bucket/run",
        f"gs://{KEY}:{SECRET_IN_URL}@bucket/run",
        f"https://{KEY}:a/{SECRET}@host/x",
        f"zip://{KEY}::s3://{SECRET}@bucket/x.zip",
    ],
)
def test_urls_that_cannot_be_taken_apart_are_not_repeated(url: str) -> None:
    with pytest.raises(StorageError) as caught:
        parse_address(url)
    assert is_clean(caught.value.what, caught.value.hint)


def test_addresses_do_not_show_secrets() -> None:
    address = parse_address(f"s3://{KEY}:{SECRET_IN_URL}@bucket/a/b")
    assert (address.user, address.password) == (KEY, SECRET)
    assert (address.shown, address.name) == ("s3://bucket/a/b", "b")
    assert is_clean(repr(address), address.without_secrets(f"x {KEY} {SECRET} {SECRET_IN_URL}"))
    signed = parse_address(f"HTTPS://host:80/a%20b?sig={SIGNATURE}#x")
    assert signed.shown == "https://host:80/a%20b"
    assert is_clean(repr(signed), signed.without_secrets(f"403, url=/a?sig={SIGNATURE}"))


def test_files_of_this_machine_are_paths() -> None:
    assert local_path("file:///a%20b/c") == "/a b/c"
    assert local_path("file://localhost/a") == "/a"
    assert local_path("/a") is local_path("s3://a/b") is None
    with pytest.raises(StorageError, match="another machine"):
        local_path("file://host/a")
