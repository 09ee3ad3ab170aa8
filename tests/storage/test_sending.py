"""A run is uploaded at the end of a window and at its end, and never at the program's cost."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import ENVIRONMENT
from tests.recording.servers import profiler, sends
from tests.storage.conftest import RUN
from tests.storage.stores import KEY, SECRET, SECRET_IN_URL, s3_environment
from xladoctor.evidence.load import load
from xladoctor.recording.progress import Silence
from xladoctor.storage import sending as sending_module
from xladoctor.storage.address import StorageError
from xladoctor.storage.sending import Sending
from xladoctor.storage.store import Store
from xladoctor.storage.upload import Order, carry_out

PROGRAM = """
import sys, time
import jax, jax.numpy as jnp
step = jax.jit(lambda x: x * 0.5 + 1)
x, steps = jnp.ones(8), int(sys.argv[1])
for _ in range(steps):
    x = step(x)
    float(x.sum())
    time.sleep(0.01)
"""


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run directory to upload."""
    return Path(shutil.copytree(RUN, tmp_path / "run"))


def names(files: Any, place: str) -> set[str]:
    return {name.removeprefix(f"{place}/") for name in files.find(place)}


def test_a_run_is_uploaded_with_its_records_last(
    memory: Any, place: str, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    order, put = [], Store.put

    def noted(self: Store, name: str, source: bytes | Path) -> None:
        put(self, name, source)
        order.append(Path(name).name)

    monkeypatch.setattr(Store, "put", noted)
    (run / "process-1.new").touch()
    answer = carry_out(Order("send", f"memory://{place}", str(run)))
    assert answer.what == ""
    assert order[-2:] == ["process.json", "run.json"]
    assert names(memory, f"/{place}") == {
        file.relative_to(run).as_posix() for file in run.rglob("*") if file.is_file()
    } - {"process-1.new"}
    order.clear()
    (run / "report.txt").write_text("so far")
    next(run.glob("process-*/steps.jsonl")).unlink()
    ended = carry_out(Order("send", f"memory://{place}", str(run), answer.sent, ended=True))
    assert order == ["report.txt"]
    assert not [name for name in names(memory, f"/{place}") if name.endswith("steps.jsonl")]
    assert ended.sent.keys() == names(memory, f"/{place}")


def test_uploading_waits_for_the_end_of_a_window(
    s3: Any, place: str, run: Path, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sending_module, "_LOOK_S", 0.0)
    timeline = next(run.glob("plugins/profile/*/*"))
    hidden = timeline.rename(run.parent / timeline.name)
    sending = Sending(f"s3://{place}", Silence(), said.append)
    sending.started(run)
    for _ in range(5):
        sending.tick()
    assert sending._child is None
    hidden.rename(timeline)
    sending.tick()
    assert sending._child is None  # it may still grow
    sending.tick()
    assert sending._child is not None
    sending._child.process.wait()
    sending.tick()
    assert load(f"s3://{place}").database.scalar("SELECT count(*) FROM event")
    (run / "report.txt").write_text("the end")
    assert sending.finish(run)
    assert said == [f"uploaded to s3://{place}"]
    assert "report.txt" in names(s3, place)


def test_a_place_that_is_not_empty_or_not_there_is_refused_before_the_run(
    s3: Any, place: str, said: list[str]
) -> None:
    s3.pipe_file(f"{place}/run.json", b"{}")
    for url, what in [
        (f"s3://{place}", "exists and is not empty"),
        ("s3://no-such-bucket/run", "no such bucket"),
        ("https://host/run", "nothing can be written"),
    ]:
        with pytest.raises(StorageError, match=what):
            Sending(url, Silence(), said.append)
    assert said == []


def test_a_failed_upload_keeps_the_run_and_says_how_to_upload_it(
    s3: Any, place: str, run: Path, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    sending = Sending(f"s3://{KEY}:{SECRET_IN_URL}@{place}", Silence(), said.append)
    sending.started(run)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    monkeypatch.chdir(run.parent)
    assert not sending.finish(run)
    assert said[0] == f"the run is not uploaded: s3://{place}: the store cannot be reached"
    assert said[1] == f"it is kept in run; to upload it later: aws s3 sync run s3://{place}"
    assert SECRET not in str(said)
    assert KEY not in str(said)


def until(done: Callable[[], bool], seconds: float = 90.0) -> None:
    ends = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < ends
        time.sleep(0.1)


@pytest.mark.live
def test_a_launcher_that_is_killed_after_a_window_leaves_a_run_to_read(
    s3: Any, s3_endpoint: str, place: str, tmp_path: Path
) -> None:
    (tmp_path / "train.py").write_text(PROGRAM)
    environment = {**ENVIRONMENT, **s3_environment(s3_endpoint), "XDG_CACHE_HOME": str(tmp_path)}
    del environment["AWS_ACCESS_KEY_ID"], environment["AWS_SECRET_ACCESS_KEY"]
    url = f"s3://{KEY}:{SECRET_IN_URL}@{place}"
    words = ["run", "--trace-steps", "5", "--output", url, "train.py", "100000"]

    def was_sent() -> bool:
        return any(name.endswith("/process.json") for name in names(s3, place))

    with subprocess.Popen(
        [sys.executable, "-m", "xladoctor", *words], cwd=tmp_path, env=environment,
        start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    ) as launcher:  # fmt: skip
        try:
            until(lambda: was_sent() or launcher.poll() is not None)
        finally:
            os.killpg(launcher.pid, signal.SIGKILL)
        output = launcher.communicate()[0]
    evidence = load(f"s3://{place}")
    assert evidence.database.scalar("SELECT count(*) FROM event")
    assert evidence.database.scalar("SELECT count(*) FROM step")
    assert any("cut short" in note for note in evidence.lost)
    written = [file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()]
    assert not any(secret.encode() in text for text in [output, *written]
                   for secret in (KEY, SECRET, SECRET_IN_URL))  # fmt: skip


@pytest.mark.live
@pytest.mark.parametrize(
    "words",
    [
        ["run", "train.py", "60"],
        pytest.param(
            ["gate", "--fail-on=never", "--allow-missing", "--", "python", "train.py", "60"],
            marks=pytest.mark.thorough,
        ),
    ],
    ids=["run", "gate"],
)
def test_a_run_goes_to_a_bucket(
    words: list[str], s3: Any, s3_endpoint: str, place: str, tmp_path: Path
) -> None:
    (tmp_path / "train.py").write_text(PROGRAM)
    environment = {**ENVIRONMENT, **s3_environment(s3_endpoint)}
    named = [words[0], "-o", f"s3://{place}", *words[1:]]
    command = [sys.executable, "-m", "xladoctor", *named]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.endswith(f"xladoctor: uploaded to s3://{place}\n")
    (own,) = tmp_path.glob("xladoctor-runs/2*")
    assert names(s3, place) == {
        file.relative_to(own).as_posix() for file in own.rglob("*") if file.is_file()
    }
    assert json.loads(s3.cat_file(f"{place}/run.json"))["ended"]["status"] == 0
    evidence = load(f"s3://{place}")
    assert (evidence.lost, evidence.database.scalar("SELECT count(*) FROM process")) == ((), 1)


def test_a_profile_of_a_running_program_goes_to_a_bucket(
    s3: Any, s3_endpoint: str, place: str, tmp_path: Path
) -> None:
    with profiler(sends) as address:
        words = ["capture", address, "--duration", "50ms", "-o", f"s3://{place}"]
        done = subprocess.run(
            [sys.executable, "-m", "xladoctor", *words],
            cwd=tmp_path,
            env={**ENVIRONMENT, **s3_environment(s3_endpoint)},
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    assert done.stderr.endswith(f"xladoctor: uploaded to s3://{place}\n")
    assert {"run.json", "diagnosis.json"} < names(s3, place)
    evidence = load(f"s3://{place}")
    assert evidence.database.scalar("SELECT count(*) FROM timeline_step") == 5
