"""Pods in a bucket: each host is fetched by the process that reduces it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.pods.generated import write_pod
from tests.pods.simulation import Pod
from tests.storage import stores
from xladoctor.configuration.interface import Configured
from xladoctor.diagnosis.interface import Diagnosis
from xladoctor.doctor import examine, selection
from xladoctor.pods.members import find_pod
from xladoctor.pods.where import Where
from xladoctor.storage.address import StorageError


def diagnosed(url: str) -> Diagnosis:
    return examine(url, selection(Configured(folder=Path.cwd())), where=Where(workers=2)).diagnosis


@pytest.fixture
def pod(tmp_path: Path) -> Path:
    folder = tmp_path / "logs"
    write_pod(folder, Pod(hosts=3, devices=1, steps=8, sickness="compute"))
    return folder


def test_in_s3(s3: Any, place: str, pod: Path, cache: Path) -> None:
    s3.put(f"{pod}/", f"{place}/", recursive=True)
    url = f"s3://{stores.KEY}:{stores.SECRET_IN_URL}@{place}"
    diagnosis = diagnosed(url)
    assert diagnosis.pod is not None
    assert diagnosis.pod.summary.startswith("In each step, pod-w-1 computes ")
    session = next(pod.rglob("*.xplane.pb")).parent
    shown = f"s3://{place}/{session.relative_to(pod)}/pod-w-1.xplane.pb"
    assert diagnosis.pod.processes[1].path == shown
    for file in (cache.parent / "pods").rglob("*"):
        if file.is_file():
            content = file.read_bytes()
            assert stores.SECRET.encode() not in content
            assert stores.KEY.encode() not in content
    s3.rm(f"{place}/", recursive=True)
    with pytest.raises(StorageError, match="no such object"):
        diagnosed(url)


@pytest.mark.thorough
def test_a_second_analysis_fetches_nothing(gcs: Any, place: str, pod: Path, cache: Path) -> None:
    bucket, _, below = place.partition("/")
    gcs.put(f"{pod}/", f"{bucket}/{below}/", recursive=True)
    first = diagnosed(f"gs://{place}")
    for file in cache.rglob("*.xplane.pb"):
        file.unlink()
    assert diagnosed(f"gs://{place}").pod == first.pod
    assert not list(cache.rglob("*.xplane.pb"))


@pytest.mark.thorough
def test_an_object_that_is_gone_is_left_out(
    s3: Any, place: str, pod: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the listing and the reading."""
    s3.put(f"{pod}/", f"{place}/", recursive=True)
    found = find_pod([f"s3://{place}"])
    assert found is not None
    s3.rm(found.members[0].path.removeprefix("s3://"))
    monkeypatch.setattr("xladoctor.pods.members.find_pod", lambda *_: found)
    diagnosis = diagnosed(f"s3://{place}")
    assert diagnosis.pod is not None
    (left_out,) = diagnosis.pod.left_out
    assert left_out.startswith(found.members[0].shown)


def test_a_member_does_not_show_credentials(s3: Any, place: str, pod: Path) -> None:
    """Where clusters log what workers are given."""
    s3.put(f"{pod}/", f"{place}/", recursive=True)
    found = find_pod([f"s3://{stores.KEY}:{stores.SECRET_IN_URL}@{place}"])
    assert found is not None
    assert len(found.members) == 3
    assert stores.KEY not in repr(found)
    assert stores.SECRET_IN_URL not in repr(found)
    assert stores.SECRET_IN_URL in found.members[0].path


def test_runs_of_a_jobs_hosts(s3: Any, place: str) -> None:
    for host in ("host-a", "host-b"):
        for name in ("run.json", "process-0/process.json"):
            s3.pipe(f"{place}/{host}/{name}", b"{}")
    found = find_pod([f"s3://{place}"])
    assert found is not None
    assert [member.shown for member in found.members] == [
        f"s3://{place}/host-a",
        f"s3://{place}/host-b",
    ]
