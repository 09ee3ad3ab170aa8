"""Where hosts are reduced: workers that die, that fail, and that are killed with their command."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from xladoctor.pods.engines import ClusterError, WorkerDiedError, on_cluster, on_this_machine


def work(item: tuple[str, str]) -> str:
    """What an item asks for: its second text is what happens, its first where it is noted."""
    folder, what = item
    Path(folder, f"{what}-{os.getpid()}-{time.monotonic_ns()}").touch()
    if what.startswith("waits"):
        until(lambda: len(workers(Path(folder))) == 2)
    if what == "dies":
        os.kill(os.getpid(), signal.SIGKILL)
    if what == "dies once" and len(list(Path(folder).glob("dies once-*"))) == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return what.upper()


def workers(folder: Path) -> set[str]:
    """The processes that have begun an item."""
    return {file.name.split("-")[1] for file in folder.iterdir()}


def results(folder: Path, whats: list[str], workers: int) -> dict[str, str]:
    items = [(str(folder), what) for what in whats]
    return {
        what: "died" if isinstance(result, WorkerDiedError) else result
        for (_, what), result in on_this_machine(work, items, workers)
    }


def test_every_item_has_its_result(tmp_path: Path) -> None:
    whats = [f"item {number}" for number in range(6)]
    assert results(tmp_path, whats, 2) == {what: what.upper() for what in whats}
    assert len(workers(tmp_path)) <= 2


def test_items_are_worked_on_at_the_same_time(tmp_path: Path) -> None:
    whats = ["waits for the other", "waits for the one"]
    assert results(tmp_path, whats, 2) == {what: what.upper() for what in whats}


def test_a_worker_that_dies_takes_only_its_item(tmp_path: Path) -> None:
    whats = ["a", "dies", "b", "c", "dies once", "d", "e"]
    found = results(tmp_path, whats, 2)
    assert found.pop("dies") == "died"
    assert found == {what: what.upper() for what in whats if what != "dies"}
    assert 1 < len(list(tmp_path.glob("dies-*"))) <= 3  # tried again, and not for ever


def test_workers_end_with_the_command(tmp_path: Path) -> None:
    """However it ends: killed, it cannot tell them."""
    script = tmp_path / "script.py"
    script.write_text(
        "import pathlib, time\n"
        "from tests.pods.test_engines import sleep\n"
        "from xladoctor.pods.engines import on_this_machine\n"
        "if __name__ == '__main__':\n"
        f"    list(on_this_machine(sleep, [{str(tmp_path / 'began')!r}], 1))\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path.cwd())}
    command = subprocess.Popen([sys.executable, script], env=environment)
    began = tmp_path / "began"
    until(began.exists)
    worker = int(began.read_text())
    command.kill()
    command.wait()
    until(lambda: not Path(f"/proc/{worker}").exists() or state(worker) == "Z")


def sleep(file: str) -> None:
    new = Path(f"{file}.new")
    new.write_text(str(os.getpid()))
    new.rename(file)
    time.sleep(600)


def state(process: int) -> str:
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]


def until(holds: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.fixture(scope="module")
def scheduler() -> Iterator[str]:
    """The address of the scheduler of a cluster of two processes."""
    import distributed

    cluster_of: Any = distributed.LocalCluster
    with cluster_of(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster:
        yield cluster.scheduler_address


def test_the_same_on_a_cluster(tmp_path: Path, scheduler: str) -> None:
    whats = ["a", "dies once", "b", "c"]
    items = [(str(tmp_path), what) for what in whats]
    found = {item[1]: result for item, result in on_cluster(work, items, scheduler)}
    assert found == {what: what.upper() for what in whats}


def test_a_host_that_kills_a_clusters_workers_is_given_up(tmp_path: Path, scheduler: str) -> None:
    items = [(str(tmp_path), what) for what in ("a", "dies")]
    found = {item[1]: result for item, result in on_cluster(work, items, scheduler)}
    assert found["a"] == "A"
    assert isinstance(found["dies"], WorkerDiedError)


def test_a_cluster_without_workers() -> None:
    import distributed

    cluster_of: Any = distributed.LocalCluster
    with (
        cluster_of(n_workers=0, dashboard_address=":0") as cluster,
        pytest.raises(ClusterError, match="the scheduler has no workers"),
    ):
        list(on_cluster(work, [("", "a")], cluster.scheduler_address, joining=0.2))


def test_workers_that_start_when_there_is_work(tmp_path: Path) -> None:
    import distributed

    cluster_of: Any = distributed.LocalCluster
    with cluster_of(n_workers=0, threads_per_worker=1, dashboard_address=":0") as cluster:
        cluster.adapt(minimum=0, maximum=1)
        item = (str(tmp_path), "a")
        assert list(on_cluster(work, [item], cluster.scheduler_address)) == [(item, "A")]


def test_no_scheduler() -> None:
    import dask
    import distributed  # its defaults come first: they go with a setting made before them

    assert distributed
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "1s"}),
        pytest.raises(ClusterError, match="no Dask scheduler answers there"),
    ):
        list(on_cluster(work, [("", "a")], "tcp://127.0.0.1:9"))


def test_no_scheduler_in_dasks_configuration() -> None:
    with pytest.raises(ClusterError, match="names no scheduler"):
        list(on_cluster(work, [("", "a")], "dask"))


def test_workers_that_cannot_run_it(scheduler: str) -> None:
    """As those without this package, or with another version of it."""
    with pytest.raises(ClusterError, match="cannot run xladoctor") as caught:
        list(on_cluster(fail, ["a"], scheduler))
    assert caught.value.hint == "install the same version of xladoctor on them"


def fail(item: str) -> str:
    raise ModuleNotFoundError(item)
