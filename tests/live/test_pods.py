"""Jobs of several processes and hosts: all launchers name one ``--output``, which has all evidence.

The hosts are one machine here, so that each launcher but the first gets a number.
"""

from __future__ import annotations

import json
import re
import socket
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.live.forked import Finished
from tests.live.harness import LIVE, doctor, run, write
from tests.storage import stores
from xladoctor.evidence.load import load
from xladoctor.evidence.pod_runs import members
from xladoctor.pods.members import find_pod
from xladoctor.storage.fetch import fetch

pytestmark = LIVE

TORCHRUN = ("--", sys.executable, "-m", "torch.distributed.run")
#: Replicas that exchange nothing, as torch_xla on CPUs has no collectives between processes.
REPLICAS = """
import torch, torch_xla

def work(rank):
    weights = torch.ones(8, 8).to(torch_xla.device())
    for _ in range(8):
        weights = weights * 0.9 + 1
        torch_xla.sync()

if __name__ == "__main__":
    torch_xla.launch(work)
"""
GLOO = """
import time
import torch, torch.distributed as dist
dist.init_process_group("gloo")
model = torch.nn.Linear(16, 16)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

@torch.compile(backend="eager")
def loss_of(inputs):
    return model(inputs).tanh().square().mean()

for _ in range(20):
    time.sleep((0, 0.02)[dist.get_rank()])
    loss_of(torch.rand(8, 16)).backward()
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad)
    optimizer.step()
    optimizer.zero_grad()
dist.destroy_process_group()
"""
SLOW_INPUT = """
import os, sys, time
import jax, jax.numpy as jnp, numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
port, rank = sys.argv[1], int(os.environ.get("JAX_PROCESS_ID") or sys.argv[3])
jax.config.update("jax_cpu_collectives_implementation", "gloo")
jax.distributed.initialize(f"127.0.0.1:{port}", num_processes=2, process_id=rank)
mesh = Mesh(np.array(jax.devices()), "data")
split, all_of_it = NamedSharding(mesh, PartitionSpec("data")), NamedSharding(mesh, PartitionSpec())

@jax.jit
def step(weights, inputs):
    return weights - 0.1 * jax.grad(lambda w: jnp.tanh(inputs @ w).mean())(weights)

weights = jax.device_put(np.ones((64, 64), np.float32), all_of_it)
for _ in range(40):
    time.sleep((0, 0.05)[rank])
    inputs = jax.make_array_from_process_local_data(split, np.ones((32, 64), np.float32))
    weights = step(weights, inputs)
    weights.block_until_ready()
"""


@pytest.fixture
def port() -> str:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return str(server.getsockname()[1])


def launched(
    folder: Path, output: str, commands: Sequence[Sequence[str | Path]], **env: str
) -> list[Finished]:
    """Launchers that run at the same time, each to its end.

    Args:
        env: variables of all of them, in which ``{}`` stands for the number of the launcher.
    """

    def launch(number: int) -> Finished:
        own = {name: value.format(number) for name, value in env.items()}
        return doctor("-o", output, *commands[number], cwd=folder, env=own)

    with ThreadPoolExecutor(len(commands)) as threads:
        done = list(threads.map(launch, range(len(commands))))
    assert [each.status for each in done] == [0] * len(done), "\n".join(e.stderr for e in done)
    return done


def by_rank(runs: Sequence[Path]) -> dict[int, Path]:
    """The folder of each process of a job by its rank; none is missing, and each ended."""
    files = [file for run in runs for file in run.glob("process-*/process.json")]
    records: list[tuple[dict[str, Any], Path]] = [
        (json.loads(file.read_text()), file.parent) for file in files
    ]
    assert all(record["ended"] and record["world_size"] == len(files) for record, _ in records)
    return {record["rank"]: process for record, process in records}


@pytest.mark.parametrize("framework", ["torch", pytest.param("jax", marks=pytest.mark.thorough)])
def test_processes_that_wait_for_each_other_stop_at_the_same_step(
    tmp_path: Path, port: str, framework: str
) -> None:
    words: tuple[str, ...] = (*TORCHRUN, "--standalone", "--nproc-per-node", "2")
    endless = GLOO.replace("range(20)", "iter(int, 1)")
    if framework == "jax":
        both = f"{sys.executable} $0 {port} x 0 & {sys.executable} $0 {port} x 1; wait"
        words = ("--", "sh", "-c", both)
        endless = SLOW_INPUT.replace("range(40)", "iter(int, 1)")
    program = write(tmp_path, "train.py", endless)

    # On a busy machine the second process may take half a minute to begin.
    (done,) = launched(tmp_path, "out", [("--stop-after", "6s", *words, program)])

    logs = [file.read_text().splitlines() for file in tmp_path.rglob("process-*/steps.jsonl")]
    lines = [list(map(json.loads, log)) for log in logs]
    steps = [sum(line["steps"] for line in each if line["event"] == "step") for each in lines]
    assert len(steps) == 2
    assert steps[0] == steps[1]
    assert "Traceback" not in done.stderr
    assert all(json.loads(file.read_text())["ended"] for file in tmp_path.rglob("process.json"))


@pytest.mark.thorough
def test_processes_of_one_launcher_know_their_job(tmp_path: Path) -> None:
    program = write(tmp_path, "train.py", REPLICAS)
    words = (*TORCHRUN, "--standalone", "--nproc-per-node", "2", program)

    (done,) = launched(tmp_path, "out", [words])

    assert members(tmp_path / "out") == []
    assert by_rank([tmp_path / "out"]).keys() == {0, 1}
    assert "all hosts together" not in done.stderr


def test_nodes_of_torchrun_share_the_folder_of_a_url(tmp_path: Path, port: str) -> None:
    program, out = write(tmp_path, "train.py", GLOO), tmp_path / "out"
    words = (*TORCHRUN, "--nnodes", "2", "--master-addr", "127.0.0.1", "--master-port", port)
    commands = [
        (*words, "--node-rank", str(rank), "--local-addr", f"127.0.0.{rank + 1}", program)
        for rank in range(2)
    ]

    done = launched(tmp_path, f"file://{out}", commands)

    host = f"host-{socket.gethostname()}"
    assert members(out) == [out / host, out / f"{host}-2"]
    assert by_rank(members(out)).keys() == {0, 1}
    for each in members(out):
        assert load(str(each)).database.scalar("SELECT count(*) FROM step") >= 20
    assert all("all hosts together: xladoctor analyze out" in each.stderr for each in done)


def assert_the_fast_one_waits(runs: Sequence[Path]) -> None:
    """Each step ends with the exchange, in which the process with the fast input waits longer."""
    processes = by_rank(runs)
    waited = {
        rank: load(str(process.parent)).database.scalar(
            "SELECT sum(duration_ns) FROM collective WHERE hlo_op LIKE 'all-reduce%'"
        )
        for rank, process in processes.items()
    }
    assert waited.keys() == {0, 1}
    assert waited[0] > 2 * waited[1] > 0


def test_launchers_that_know_nothing_of_each_other_share_a_folder(
    tmp_path: Path, port: str
) -> None:
    program, out = write(tmp_path, "train.py", SLOW_INPUT), tmp_path / "out"
    commands = [(program, port, "--process-id", str(rank)) for rank in range(2)]

    launched(tmp_path, "out", commands)

    assert members(out) == [out, out / f"host-{socket.gethostname()}"]
    assert json.loads((out / "diagnosis.json").read_text())["run"]["processes"] == 1
    assert_the_fast_one_waits(members(out))
    page = run(sys.executable, "-m", "xladoctor", "analyze", "-v", out).stdout
    assert "pod · 2 processes" in page
    assert "rank 1 runs" in page
    assert re.search(r"\n    train\.py:\d+\n    │ time\.sleep\(\(0, 0\.05\)\[rank\]\)\n", page)


def test_one_slow_process_of_torchrun_is_named_with_its_line(tmp_path: Path) -> None:
    program = write(tmp_path, "train.py", GLOO.replace("(0, 0.02)", "(0, 0.05, 0)"))
    words = (*TORCHRUN, "--standalone", "--nproc-per-node", "3", program)

    launched(tmp_path, "out", [words])

    diagnosis = json.loads((tmp_path / "out" / "diagnosis.json").read_text())
    (late,) = [found for found in diagnosis["findings"] if found["rule"] == "XD801"]
    assert late["cause"]["names"] == ["rank 1"]
    assert [(where["file"], where["source"].strip()) for where in late["locations"]] == [
        ("train.py", "time.sleep((0, 0.05, 0)[dist.get_rank()])")
    ]
    waiting = load(str(tmp_path / "out")).database.rows(
        """SELECT sum(collective_ns) / sum(duration_ns) AS share
           FROM divided_step JOIN process USING (process) GROUP BY rank ORDER BY rank"""
    )
    shares = [row["share"] for row in waiting]
    assert min(shares[0], shares[2]) > 0.5 > shares[1]


@pytest.mark.thorough
def test_launchers_of_one_job_share_a_bucket(
    tmp_path: Path, port: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = write(tmp_path, "train.py", SLOW_INPUT)
    url = f"s3://{stores.BUCKET}/run"
    with stores.s3() as endpoint:
        environment = stores.s3_environment(endpoint)
        for name, value in {**environment, "XDG_CACHE_HOME": str(tmp_path / "cache")}.items():
            monkeypatch.setenv(name, value)
        import s3fs

        s3fs.S3FileSystem(skip_instance_cache=True).mkdir(stores.BUCKET)
        variables = {"JAX_PROCESS_ID": "{}", "JAX_NUM_PROCESSES": "2"}
        done = launched(tmp_path, url, [(program, port)] * 2, **variables)
        pod = find_pod([url])
        assert pod is not None
        runs = [fetch(member.path).place for member in pod.members]

    host = f"host-{socket.gethostname()}"
    assert [run.name for run in runs] == [host, f"{host}-2"]
    assert_the_fast_one_waits(runs)
    assert all(f"all hosts together: xladoctor analyze {url}" in each.stderr for each in done)
