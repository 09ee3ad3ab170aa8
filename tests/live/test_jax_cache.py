"""JAX's cache on disk, as programs use it: what is found, what is not kept, and why."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path
from typing import Any

import pytest

from tests.live.harness import LIVE, doctor, line_of, python, write

pytestmark = LIVE

PROGRAM = """
import os, sys
import jax, jax.numpy as jnp

jax.config.update("jax_compilation_cache_dir", os.environ.get("FOLDER", "cache"))
jax.config.update("jax_persistent_cache_min_compile_time_secs", float(os.environ.get("LEAST", "0")))
offset = float(os.environ.get("OFFSET", "3"))
names = os.environ.get("NAMES", "sin,cos").split(",")

@jax.jit
def step(weights, inputs):
    outputs = jnp.tanh(inputs @ weights)
    outputs = outputs + offset
    for name in names:
        outputs = getattr(jnp, name)(outputs)
    if "SHOWN" in os.environ:
        jax.debug.print("mean {}", outputs.mean())
    return weights - 0.1 * (inputs.T @ outputs)

size = int(os.environ.get("SIZE", "16"))
weights, inputs = jnp.ones((size, size)), jnp.ones((4, size))
for number in range(6):
    weights = step(weights, inputs)
print(float(weights[0, 0]))
"""


def started(folder: Path, out: str | Path, **variables: str) -> str:
    """Run the program; return what it printed."""
    program = write(folder, "program.py", PROGRAM)
    done = doctor("-o", out, program, cwd=folder, env={**os.environ, **variables})
    assert done.status == 0, done.stderr
    return done.stdout.splitlines()[0]


def cache(folder: Path, *runs: str | Path, status: int) -> dict[str, Any]:
    done = python("-m", "xladoctor", "cache", *runs, "--format", "json", cwd=folder)
    assert done.status == status, done.stdout + done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def of_step(found: dict[str, Any], start: int = -1) -> dict[str, Any]:
    lookups = found["starts"][start]["lookups"]
    (lookup,) = [each for each in lookups if each["name"] == "jit_step"]
    return dict(lookup)


def missed(folder: Path, out: Path) -> dict[str, Any]:
    """Why a second start compiled ``step``."""
    found = cache(folder, "a", out, status=1)
    (miss,) = [each for each in found["misses"] if each["lookup"]["name"] == "jit_step"]
    return dict(miss)


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a first start that filled its cache."""
    folder = tmp_path_factory.mktemp("first")
    started(folder, "a")
    return folder


def test_a_second_start_finds_everything(first: Path, tmp_path: Path) -> None:
    printed = started(first, tmp_path / "b")
    bare = python("program.py", cwd=first)
    assert printed == bare.stdout.splitlines()[0]
    found = cache(first, "a", tmp_path / "b", status=0)
    assert found["misses"] == []
    assert of_step(found, 0)["outcome"] == "kept"
    assert {each["outcome"] for each in found["starts"][1]["lookups"]} == {"hit"}


@pytest.mark.parametrize(
    ("variables", "kind", "was", "now", "line"),
    [
        ({"OFFSET": "4"}, "constant", "dense<3.0", "dense<4.0", "outputs = outputs + offset"),
        ({"SIZE": "32"}, "argument", "tensor<16x16xf32>", "tensor<32x32xf32>", None),
        (
            {"NAMES": "cos,sin"},
            "order",
            "stablehlo.sine",
            "stablehlo.cosine",
            "outputs = getattr(jnp",
        ),
        ({"NAMES": "sin,exp"}, "operation", "", "stablehlo.exponential", "outputs = getattr(jnp"),
    ],
)
def test_the_first_operation_that_differs_is_named(
    first: Path,
    tmp_path: Path,
    variables: dict[str, str],
    kind: str,
    was: str,
    now: str,
    line: str | None,
) -> None:
    started(first, tmp_path / "b", **variables)
    (change,) = missed(first, tmp_path / "b")["changes"]
    assert (change["part"], change["kind"]) == ("computation", kind)
    assert was in (change["was"] or "")
    assert now in change["now"]
    if line is not None:
        place = f"{change['file']}:{change['line']}"
        assert place == f"program.py:{line_of(first / 'program.py', line)}"


def test_a_flag_of_xla_is_named(first: Path, tmp_path: Path) -> None:
    started(first, tmp_path / "b", XLA_FLAGS="--xla_cpu_enable_fast_math=true")
    (change,) = missed(first, tmp_path / "b")["changes"]
    names = ("part", "field", "was", "now")
    wanted = ("XLA flags", "--xla_cpu_enable_fast_math", None, "true")
    assert tuple(change[name] for name in names) == wanted


def test_another_folder_is_named(first: Path, tmp_path: Path) -> None:
    """It is in the compile options of some releases of JAX; else the key is the same."""
    started(first, tmp_path / "b", FOLDER="other")
    (change,) = missed(first, tmp_path / "b")["changes"]
    assert change["part"] in ("compile_options", "folder")
    assert "other" in change["now"]


@pytest.mark.parametrize(
    ("variables", "reason"),
    [
        ({"LEAST": "60", "SIZE": "8"}, "short"),
        ({"SHOWN": "1"}, "callbacks"),
        ({"FOLDER": ""}, "folder"),
    ],
)
def test_what_is_not_kept_has_its_reason(
    tmp_path: Path, variables: dict[str, str], reason: str
) -> None:
    started(tmp_path, "a", **variables)
    lookup = of_step(cache(tmp_path, "a", status=0))
    kept_now = reason == "callbacks" and lookup["outcome"] == "kept"  # newer releases keep them
    assert kept_now or (lookup["outcome"], lookup["reason"]) == ("not kept", reason)


def test_source_paths_in_keys_are_those_of_the_program_alone(tmp_path: Path) -> None:
    """Where lines are part of a key, what was cached without xladoctor is found with it."""
    variables = {
        "JAX_COMPILATION_CACHE_INCLUDE_METADATA_IN_KEY": "1",
        "FOLDER": str(tmp_path / "cache"),
    }
    write(tmp_path, "program.py", PROGRAM)
    assert python("program.py", cwd=tmp_path, env={**os.environ, **variables}).status == 0
    started(tmp_path, "a", **variables)
    assert of_step(cache(tmp_path, "a", status=0))["outcome"] == "hit"

    moved = tmp_path / "moved"
    moved.mkdir()
    started(moved, "b", **variables)
    done = cache(tmp_path, "a", "moved/b", status=1)
    (miss,) = [each for each in done["misses"] if each["lookup"]["name"] == "jit_step"]
    assert [each["kind"] for each in miss["changes"]] == ["metadata"]


def test_a_damaged_entry_is_said_and_left_alone(tmp_path: Path) -> None:
    started(tmp_path, "a")
    (entry,) = (tmp_path / "cache").glob("jit_step-*-cache")
    entry.write_bytes(b"damaged")
    started(tmp_path, "b")
    assert entry.read_bytes() == b"damaged"
    lookup = of_step(cache(tmp_path, "a", "b", status=1))
    assert (lookup["outcome"], lookup["reason"]) == ("not kept", "damaged")


def test_a_folder_that_cannot_be_used_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    started(tmp_path, "a", FOLDER="file/cache")
    (start,) = cache(tmp_path, "a", status=0)["starts"]
    assert {each["outcome"] for each in start["lookups"]} == {"not kept"}
    assert {each["reason"] for each in start["lookups"]} == {"error", "unsupported"}


FULL = """
from jax._src.path import Path

def write_bytes(path, content):
    raise OSError(28, "No space left on device")

type(Path("cache")).write_bytes = write_bytes
"""


def test_a_full_disk_is_said(tmp_path: Path) -> None:
    program = write(tmp_path, "program.py", FULL + PROGRAM)
    done = doctor("-o", "a", program, cwd=tmp_path)
    assert done.status == 0, done.stderr
    lookup = of_step(cache(tmp_path, "a", status=0))
    assert (lookup["outcome"], lookup["reason"]) == ("not kept", "error")
    assert "No space left" in lookup["detail"]


def test_a_run_without_a_cache_has_a_clear_error(tmp_path: Path) -> None:
    program = write(tmp_path, "plain.py", "import jax\nprint(jax.numpy.ones(3).sum())\n")
    variables = {"JAX_ENABLE_COMPILATION_CACHE": "0"}
    doctor("-o", "out", program, cwd=tmp_path, env={**os.environ, **variables})
    done = python("-m", "xladoctor", "cache", "out", cwd=tmp_path)
    assert done.status == 2
    assert "no record of a cache" in done.stderr


def test_the_gate_starts_a_program_twice(tmp_path: Path) -> None:
    stable = PROGRAM.replace('jax.config.update("jax_compilation_cache_dir"', '("kept"')
    stable = stable.replace('jax.config.update("jax_persistent_cache_min', '("kept", "')
    stable = stable.replace('os.environ.get("OFFSET", "3")', "os.getpid() % 4093")
    asked = ("gate", "--budget", "max_compilations_second_start=0", "--")
    unstable = write(tmp_path, "unstable.py", stable)
    done = python("-m", "xladoctor", *asked, "python", unstable, cwd=tmp_path)
    assert done.status == 1, done.stdout + done.stderr
    assert "graphs not found in the cache on" in done.stdout
    assert "why graphs were compiled again: xladoctor cache " in done.stderr

    healed = write(tmp_path, "healed.py", stable.replace("os.getpid() % 4093", '"3"'))
    done = python("-m", "xladoctor", *asked, "python", healed, cwd=tmp_path)
    assert done.status == 0, done.stdout + done.stderr


RANKS = """
import subprocess, sys
import jax

if len(sys.argv) == 2:
    ranks = [subprocess.Popen([sys.executable, __file__, sys.argv[1], str(r)]) for r in range(2)]
    sys.exit(max(each.wait() for each in ranks))
rank = int(sys.argv[2])
jax.config.update("jax_compilation_cache_dir", "cache")
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
jax.distributed.initialize("localhost:" + sys.argv[1], 2, rank)
step = jax.jit(lambda x: x * 2 + rank)
with jax.default_device(jax.local_devices()[0]):
    for number in range(6):
        step(jax.numpy.ones(4)).block_until_ready()
"""


def test_ranks_of_a_job_are_compared(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    program = write(tmp_path, "ranks.py", RANKS)
    assert doctor("-o", "out", program, str(port), cwd=tmp_path).status == 0
    found = cache(tmp_path, "out", status=1)
    assert [each["label"] for each in found["starts"]] == ["rank 0", "rank 1"]
    (miss,) = [each for each in found["misses"] if "lambda" in each["lookup"]["name"]]
    assert (miss["before"], miss["after"]) == ("rank 0", "rank 1")
    assert miss["lookup"]["reason"] == "process"
    kinds = {each["kind"]: each["line"] for each in miss["changes"]}
    assert kinds["constant"] == line_of(program, "step = jax.jit(")
