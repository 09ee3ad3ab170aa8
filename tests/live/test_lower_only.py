"""Programs whose computations are only lowered: nothing of their size is made or executed."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.live.harness import LIVE
from tests.tpu_check import fakes
from xladoctor import hang
from xladoctor.cli.main import app
from xladoctor.recording import launcher, progress
from xladoctor.recording.interface import RunOutcome, RunRequest
from xladoctor.tpu_check.compiler import interpreter
from xladoctor.tpu_check.compiler.topology import parse_topology
from xladoctor.tpu_check.ladder.lower import Lowered, LowerError, Lowering
from xladoctor.tpu_check.ladder.vary import Program

pytestmark = LIVE

#: 28 GB of state, and a program that says how much memory it takes.
TRAINING = """
import os, resource
import jax, jax.numpy as jnp
BATCH_SIZE = 4
SIZE = 1 << 15
def init(key):
    return [jax.random.normal(each, (SIZE, SIZE)) for each in jax.random.split(key, 3)]
params = jax.jit(init)(jax.random.key(0))
momentum = [jnp.zeros_like(each) for each in params]
@jax.jit
def step(params, momentum, x):
    def loss(params):
        y = x
        for each in params:
            y = jax.nn.relu(y @ each)
        return y.mean()
    value, grads = jax.value_and_grad(loss)(params)
    momentum = [0.9 * old + new for old, new in zip(momentum, grads)]
    return [old - new for old, new in zip(params, momentum)], momentum, value
for number in range(10**9):
    width = int(jnp.ceil(jnp.float32(SIZE) - 0.5))  # small values are computed
    params, momentum, value = step(params, momentum, jnp.ones((BATCH_SIZE, width)))
    print(float(value), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""
#: The same on eight devices, with shardings that only follow from a constraint in a function.
DIVIDED = """
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
mesh = Mesh(np.array(jax.devices()).reshape(4, 2), ("data", "model"))
where = NamedSharding(mesh, P("data", "model"))
whole = init
def init(key):
    return jax.lax.with_sharding_constraint(whole(key), where)
"""


@pytest.fixture
def lower(tmp_path: Path) -> Callable[..., Lowered]:
    def lower(text: str, on: str = "v5e") -> Lowered:
        script, folder = tmp_path / "train.py", tmp_path / "runs"
        script.write_text(text, encoding="utf-8")
        folder.mkdir()

        def start(request: RunRequest) -> RunOutcome:
            return launcher.run(request, progress.Silence(), hang.end)

        how = Lowering([parse_topology(on)], folder, 300.0, start, most=9)
        return how.lower(Program((sys.executable, str(script))))

    return lower


def printed(lowered: Lowered) -> list[list[str]]:
    log = lowered.run.with_name(f"{lowered.run.name}.log").read_text(encoding="utf-8")
    return [line.split() for line in log.splitlines()]


def faults(lowered: Lowered) -> list[str]:
    texts = (each.read_text("utf-8").strip("\0\n ") for each in lowered.run.rglob("faults.log"))
    return [each for each in texts if each]


def test_a_step_too_large_for_this_machine_is_lowered(lower: Callable[..., Lowered]) -> None:
    found = lower(TRAINING)
    step, *others = found.found.graphs
    assert (step.name, step.role) == ("step", "train.py:22, the steady step")
    assert "step" not in [each.name for each in others]
    assert (found.failed, found.found.notes) == ("", ())
    lines = printed(found)
    assert len(lines) == 3  # the program ended when its step was known
    assert {value for value, _ in lines} == {"0.0"}
    assert all(int(kilobytes) < 2_000_000 for _, kilobytes in lines)
    assert faults(found) == []


def test_results_are_divided_as_the_compiler_would(lower: Callable[..., Lowered]) -> None:
    text = TRAINING.replace("params = ", f"{DIVIDED}params = ", 1)
    found = lower(text + "    assert params[0].sharding == where\n", "v5e:2x4")
    step = found.found.graphs[0]
    assert (step.name, step.partitions) == ("step", 8)
    lines = printed(found)
    assert len(lines) == 3
    assert all(int(kilobytes) < 2_000_000 for _, kilobytes in lines)


def test_accumulated_gradients_make_the_larger_graph_the_step(
    lower: Callable[..., Lowered],
) -> None:
    found = lower("""
import jax, jax.numpy as jnp
weights = jnp.ones((256, 256))
@jax.jit
def gradients(weights, x):
    return jax.grad(lambda w: jnp.tanh(jnp.tanh(x @ w) @ w).sum())(weights)
@jax.jit
def update(weights, gradients):
    return weights - gradients
key = jax.random.key(0)
while True:
    key, drawn = jax.random.split(key)
    total = 0
    for number in range(2):
        total = total + gradients(weights, jax.random.normal(drawn, (64, 256)))
    weights = update(weights, total)
""")
    assert found.found.graphs[0].name == "gradients"


def test_a_kernel_is_lowered_for_tpus(lower: Callable[..., Lowered]) -> None:
    found = lower("""
import jax, jax.numpy as jnp
from jax.experimental import pallas as pl
def kernel(x, y):
    y[...] = x[...] * 2
@jax.jit
def double(x):
    return pl.pallas_call(kernel, jax.ShapeDtypeStruct((512, 512), jnp.float32))(x)
double(jnp.ones((512, 512)))
""")
    assert b"tpu_custom_call" in found.found.graphs[0].content


def test_a_program_that_fails_says_so(lower: Callable[..., Lowered]) -> None:
    found = lower(TRAINING + "    assert value > 0, 'no signal'\n")
    assert {each.name for each in found.found.graphs} == {"init", "step"}
    assert found.failed == (
        "the program ended with status 1, before its step was found: AssertionError: no signal"
    )


def test_a_program_that_lowers_nothing_is_an_error(lower: Callable[..., Lowered]) -> None:
    with pytest.raises(LowerError, match="nothing was lowered: the program ended with status 3"):
        lower("import jax\nraise SystemExit(3)")


def test_programs_of_other_frameworks_are_refused(lower: Callable[..., Lowered]) -> None:
    with pytest.raises(LowerError) as error:
        lower("import torch_xla")
    assert "--lower-only is not for torch_xla: run the program at each size" in error.value.hint


def test_the_command_finds_the_largest_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its compiler accepts the second graph that it is given."""
    count = "number = len([*Path(request['folder']).parent.parent.glob('asked-*')])"
    asked = "(Path(request['folder']).parent.parent / f'asked-{number}').touch()"
    detail = "RESOURCE_EXHAUSTED: Ran out of memory in memory space hbm"
    body = f"{count}\n{asked}\nanswer('does_not_fit', '', detail={detail!r})"
    body += " if number != 1 else answer()"
    compiler = fakes.interpreter(tmp_path, body)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(interpreter, "find_compiler", lambda python: compiler)
    monkeypatch.chdir(tmp_path)
    Path("train.py").write_text(TRAINING, encoding="utf-8")
    words = "tpu-check --on v5e --vary batch_size=1,2,4,8 --format json --keep a --lower-only --"
    monkeypatch.setattr(sys, "argv", ["xladoctor", *words.split(), "train.py"])

    with pytest.raises(SystemExit) as ended:
        app(sys.argv[1:])

    found = json.loads(capsys.readouterr().out)["ladders"][0]
    assert (ended.value.code, found["largest"], found["next"]) == (0, "2", "4")
    assert found["says"] == "batch_size 2 fits (300 bytes of 15.75 GiB); 4 does not fit."
    assert "constant BATCH_SIZE" in found["given"]
    assert "fits" in Path("a").read_text(encoding="utf-8")
