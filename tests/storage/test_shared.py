"""Launchers of one job upload below one URL, each to a place of its own."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from tests.storage.conftest import RUN
from xladoctor.evidence.load import load
from xladoctor.evidence.pod_runs import members
from xladoctor.ingest.interface import IngestError
from xladoctor.pods.members import find_pod
from xladoctor.recording.job import Launcher
from xladoctor.recording.progress import Silence
from xladoctor.storage.address import StorageError, parse_address
from xladoctor.storage.fetch import fetch
from xladoctor.storage.sending import Sending
from xladoctor.storage.shared import claim, free_places
from xladoctor.storage.store import Store
from xladoctor.storage.upload import Answer, Order, carry_out

HOSTS = [
    Launcher(f"tpu-{number}", os.getpid(), ("python", "train.py", "--process_id", str(number)))
    for number in range(4)
]


def written(launcher: Launcher) -> bytes:
    """Its manifest, as far as others look at it."""
    return json.dumps(asdict(launcher)).encode()


def run_of(folder: Path, launcher: Launcher) -> Path:
    """A run directory of a launcher."""
    run = Path(shutil.copytree(RUN, folder / launcher.host))
    manifest = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps({**manifest, **asdict(launcher)}))
    return run


@pytest.mark.parametrize("scheme", ["s3", "memory"])
def test_of_two_that_see_nothing_there_one_gets_the_url_itself(
    request: pytest.FixtureRequest, place: str, scheme: str
) -> None:
    request.getfixturevalue(scheme)
    store = Store(parse_address(f"{scheme}://{place}"))
    assert [next(free_places(store, host)) for host in HOSTS[:2]] == ["", ""]
    assert [store.create("run.json", written(host)) for host in HOSTS[:2]] == [True, False]
    assert claim(store, HOSTS[1], written(HOSTS[1])) == "host-tpu-1"


def test_launchers_of_one_host_get_numbers(memory: Any, place: str) -> None:
    store = Store(parse_address(f"memory://{place}"))
    same = [replace(host, host="tpu") for host in HOSTS]
    places = [claim(store, each, written(each)) for each in same]
    assert places == ["", "host-tpu", "host-tpu-2", "host-tpu-3"]


@pytest.mark.parametrize(
    "other",
    [replace(HOSTS[1], command=("python", "evaluate.py")), replace(HOSTS[0], pid=2**22 + 1), None],
    ids=["other program", "ended on this host", "no run"],
)
def test_what_is_of_another_job_is_refused(
    s3: Any, place: str, other: Launcher | None, said: list[str]
) -> None:
    s3.pipe_file(
        f"{place}/run.json" if other else f"{place}/model.bin",
        written(other) if other else b"",
    )
    with pytest.raises(StorageError, match="exists and is not empty"):
        Sending(f"s3://{place}", Silence(), said.append, HOSTS[0])
    assert said == []


def test_all_runs_of_a_job_are_read_by_its_url(
    s3: Any, place: str, tmp_path: Path, said: list[str]
) -> None:
    url = f"s3://{place}"
    for host in HOSTS[:2]:
        run = run_of(tmp_path, host)
        sending = Sending(url, Silence(), said.append, host)
        sending.started(run)
        assert sending.finish(run)
        assert sending.shared() == (None if host is HOSTS[0] else url)
    assert said == [f"uploaded to {url}", f"uploaded to {url}/host-tpu-1"]

    pod = find_pod([url])
    assert pod is not None
    assert [member.shown for member in pod.members] == [url, f"{url}/host-tpu-1"]
    for member in pod.members:
        assert load(member.path).database.scalar("SELECT count(*) FROM step")
    fetched = fetch(url).place
    assert members(fetched) == [fetched, fetched / "host-tpu-1"]
    assert len([*fetched.glob("**/steps.jsonl")]) == 1


def test_all_runs_of_a_job_where_none_has_the_url_itself(
    memory: Any, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLURM_STEP_NUM_TASKS", "2")
    url = f"memory://{place}"
    for host in HOSTS[:2]:
        run = run_of(tmp_path, host)
        answer = carry_out(Order("claim", url, str(run), launcher=host))
        assert answer.place == f"host-{host.host}"
        assert carry_out(Order("send", f"{url}/{answer.place}", str(run))).what == ""
        if host is HOSTS[0]:
            assert load(url).database.scalar("SELECT count(*) FROM step")
    assert carry_out(Order("shared", url)) == Answer(shared=True)
    pod = find_pod([url])
    assert pod is not None
    assert [member.path for member in pod.members] == [f"{url}/host-tpu-0", f"{url}/host-tpu-1"]
    with pytest.raises(IngestError, match="runs of 2 hosts; name one of them"):
        load(url)
