"""JAX programs of several processes, devices and frameworks, captured by ``xladoctor run``."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import pytest

from tests.live.harness import LIVE, ROOT, doctor, write

pytestmark = LIVE

STEPS = """
    import jax, numpy as np
    step = jax.jit(lambda x: x * 2)
    for _ in range(8):
        result = step(np.ones(4, np.float32))
"""
FORKED = f"""
import os, jax
child = os.fork()
if True:{STEPS}
if child:
    assert os.waitpid(child, 0)[1] == 0
"""
STARTED = f"""
import multiprocessing, sys
def work():{STEPS}
if __name__ == "__main__":
    processes = [multiprocessing.get_context(sys.argv[1]).Process(target=work) for _ in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0]
"""
BOTH = f"""
import torch, torch_xla
weights = torch.ones(8).to(torch_xla.device())
for _ in range(12):
    weights = weights * 0.5
    torch_xla.sync()
if True:{STEPS}
"""
DEVICES = """
import os
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
import jax, numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
split = NamedSharding(Mesh(np.array(jax.devices()), ("data",)), PartitionSpec("data"))
step = jax.jit(lambda x: x * 2 + x.sum())
for _ in range(8):
    step(jax.device_put(np.ones((8, 4), np.float32), split))
"""
DISTRIBUTED = """
import subprocess, sys
if len(sys.argv) == 2:
    words = [sys.executable, __file__, *sys.argv[1:]]
    processes = [subprocess.Popen([*words, str(rank)]) for rank in range(2)]
    sys.exit(max(process.wait() for process in processes))
import jax, numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
jax.distributed.initialize(f"localhost:{sys.argv[1]}", 2, int(sys.argv[2]))
split = NamedSharding(Mesh(np.array(jax.devices()), ("data",)), PartitionSpec("data"))
x = jax.make_array_from_process_local_data(split, np.ones((4, 8), np.float32))
step = jax.jit(lambda x: x * 2 + x.sum())
for _ in range(8):
    step(x)
"""


def captured(folder: Path, source: str, *arguments: str) -> tuple[dict[str, Any], list[Any]]:
    """The report, and ``process.json`` of each session, after a run without faults."""
    program = write(folder, "train.py", source)
    done = doctor("-o", "out", program, *arguments, cwd=folder, env={"PYTHONPATH": str(ROOT)})
    assert done.status == 0, done.stderr
    out = folder / "out"
    assert not [*out.glob("faults.log"), *out.glob("process-*/faults.log")]
    assert " fault " not in (out / "python.log").read_text()
    records = [json.loads(file.read_text()) for file in sorted(out.glob("process-*/process.json"))]
    assert all(record["ended"] for record in records)
    return json.loads((out / "diagnosis.json").read_text()), records


@pytest.mark.parametrize(
    ("source", "arguments"),
    [
        pytest.param(FORKED, (), marks=pytest.mark.thorough),
        (STARTED, ("fork",)),
        pytest.param(STARTED, ("spawn",), marks=pytest.mark.thorough),
    ],
    ids=["fork", "multiprocessing fork", "multiprocessing spawn"],
)
def test_each_process_that_computes_is_captured(
    tmp_path: Path, source: str, arguments: tuple[str, ...]
) -> None:
    report, records = captured(tmp_path, source, *arguments)

    assert report["run"]["processes"] == len(records) == 2
    assert len({record["pid"] for record in records}) == 2
    assert report["steps"]["count"] >= 6


@pytest.mark.thorough
def test_program_of_both_frameworks_is_one_process_with_two_sessions(tmp_path: Path) -> None:
    report, records = captured(tmp_path, BOTH)

    assert {record["frontend"] for record in records} == {"torch_xla", "jax"}
    assert len({record["pid"] for record in records}) == report["run"]["processes"] == 1


def test_several_devices_of_the_host(tmp_path: Path) -> None:
    report, (record,) = captured(tmp_path, DEVICES)

    assert record["devices"] == [f"CPU:{number}" for number in range(4)]
    assert (report["run"]["devices"], report["run"]["processes"]) == (4, 1)


@pytest.mark.thorough
def test_processes_of_a_distributed_program_have_their_ranks(tmp_path: Path) -> None:
    with socket.create_server(("localhost", 0)) as server:
        port = server.getsockname()[1]

    report, records = captured(tmp_path, DISTRIBUTED, str(port))

    assert sorted(record["rank"] for record in records) == [0, 1]
    assert report["run"]["processes"] == 2
