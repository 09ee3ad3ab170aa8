"""Programs of JAX as they are written: which calls are steps, and what is no read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.live.harness import LIVE, doctor, line_of, python, write

pytestmark = LIVE

PROGRAM = """
import jax, jax.numpy as jnp, numpy as np
from jax.experimental import io_callback

seen = []

@jax.jit
def step(weights, inputs):
    loss, grad = jax.value_and_grad(lambda w: (jnp.tanh(inputs @ w) ** 2).mean())(weights)
    io_callback(lambda value: seen.append(float(value)), None, loss, ordered=True)
    return weights - 0.1 * grad, loss

weights, inputs = jnp.full((32, 32), 0.01), jnp.ones((128, 32))
jax.block_until_ready(step(weights, inputs))  # compiled here
losses = []
for number in range(40):
    weights, loss = step(weights, inputs)
    losses.append(loss)
jax.effects_barrier()
mean = np.mean(losses)
last = losses[-1].item()
print(len(seen), mean > 0)
"""


def query(folder: Path, text: str) -> list[dict[str, object]]:
    asked = python("-m", "xladoctor", "query", "out", text, "--format", "json", cwd=folder)
    found: list[dict[str, object]] = json.loads(asked.stdout)
    return found


@pytest.mark.thorough
def test_a_loop_of_what_another_line_compiled_has_steps(tmp_path: Path) -> None:
    program = write(tmp_path, "program.py", PROGRAM)

    done = doctor("-o", "out", program, cwd=tmp_path)
    assert done.stdout.startswith("41 True"), done.stderr

    (steps,) = query(tmp_path, "SELECT line, count(*) AS n FROM step WHERE NOT tail GROUP BY ALL")
    assert steps["line"] == line_of(program, "weights, loss = step(")
    assert int(str(steps["n"])) in (38, 39, 40)
    sites = "SELECT DISTINCT line, user_line FROM host_sync WHERE kind <> 'wait' ORDER BY line"
    reads = query(tmp_path, sites)
    mean, last = line_of(program, "mean = np.mean("), line_of(program, "last = ")
    assert reads == [{"line": mean, "user_line": None}, {"line": last, "user_line": None}]
    assert query(tmp_path, f"SELECT kind FROM host_sync WHERE line = {last}") == [{"kind": "item"}]


CALLBACK = """
import jax, jax.numpy as jnp

weights = jnp.full((32, 32), 0.01)

def report(values):
    print("mean", float(jnp.mean(values)), float(jnp.max(values)), flush=True)

@jax.jit
def train(weights):
    def step(weights, _):
        weights = jnp.tanh(weights @ weights)
        jax.debug.callback(report, weights)
        return weights, None
    return jax.lax.scan(step, weights, None, 12)

for _ in range(2):
    train(weights)[0].block_until_ready()
    jax.effects_barrier()
"""

ROWS_AND_STEP = """
import jax, jax.numpy as jnp, numpy as np

table, labels = jnp.ones((20_000, 32)), jnp.zeros((20_000, 1))
batches = (tuple(array[rows] for array in (table, labels))
           for rows in np.random.default_rng(0).integers(20_000, size=(30, 16)))

@jax.jit
def step(weights, inputs, targets):
    grad = jax.grad(lambda w: ((jnp.tanh(inputs @ w) - targets) ** 2).mean())(weights)
    return weights - 0.1 * grad

weights = jnp.ones((32, 1))
for inputs, targets in batches:
    weights = step(weights, inputs, targets)
"""


@pytest.mark.thorough
def test_a_callback_waits_for_nothing_and_its_thread_is_one(tmp_path: Path) -> None:
    program = write(tmp_path, "program.py", CALLBACK)
    done = doctor("-o", "out", program, cwd=tmp_path)
    assert done.stdout.count("mean ") == 24, done.stderr
    assert query(tmp_path, "SELECT * FROM host_sync WHERE kind <> 'wait'") == []
    twice = "SELECT thread, index FROM step WHERE NOT tail GROUP BY ALL HAVING count(*) > 1"
    assert query(tmp_path, twice) == []
    launched = f"SELECT sum(count) AS n FROM launch WHERE line = {line_of(program, 'print(')}"
    assert int(str(query(tmp_path, launched)[0]["n"])) >= 2 * 24


@pytest.mark.thorough
def test_rows_of_a_large_table_are_no_step(tmp_path: Path) -> None:
    program = write(tmp_path, "program.py", ROWS_AND_STEP)
    done = doctor("-o", "out", program, cwd=tmp_path)
    assert done.status == 0, done.stderr
    found = query(tmp_path, "SELECT line, count(*) AS n FROM step WHERE NOT tail GROUP BY ALL")
    steps = {str(row["line"]): int(str(row["n"])) for row in found}
    assert steps.pop(str(line_of(program, "weights = step("))) == 29
    assert sum(steps.values()) <= 3  # of the first turns, before the loop is known


TRACED = """
import sys
import jax, jax.numpy as jnp, numpy as np

@jax.jit
def step(w, x):
    return w * jnp.tanh(x @ w).mean()

w = jnp.ones((32, 1))
for i in range(30):
    if i == 8:
        jax.profiler.start_trace("trace")
    w = step(w, np.ones((16 + i % 24, 32), np.float32))
    if i % 3 == 0:
        jax.jit(lambda a: a * 2)(w)
w.block_until_ready()
jax.profiler.stop_trace()
"""


@pytest.mark.thorough
def test_a_log_of_jax_gives_a_trace_lines_and_causes(tmp_path: Path) -> None:
    program = write(tmp_path, "program.py", TRACED)
    logging = {"JAX_LOG_COMPILES": "1", "JAX_EXPLAIN_CACHE_MISSES": "1"}
    (tmp_path / "out.log").write_text(python(program, cwd=tmp_path, env=logging).stderr)

    words = ("-m", "xladoctor", "analyze", "trace", "out.log", "--format", "json")
    found = json.loads(python(*words, cwd=tmp_path).stdout)["findings"]
    compiled = {
        each["rule"]: (each["locations"][0]["line"], each["count"])
        for each in found
        if each["rule"].startswith("XD1")
    }
    # while it traces, sixteen of the shapes are new, and each of the functions
    assert compiled == {
        "XD101": (line_of(program, "w = step("), 15),
        "XD112": (line_of(program, "jax.jit(lambda"), 7),
    }


COMPILING = """
import time
import jax, jax.numpy as jnp, numpy as np

@jax.jit
def step(x):
    for _ in range(40):
        x = jnp.sin(x) @ x.T @ x
    return x

for number in range(12):
    x = np.ones((20 + number, 8), np.float32)
    time.sleep(0.05)
    y = step(x)
print(y.shape)
"""


@pytest.mark.thorough
def test_samples_of_compiling_are_no_tracing_of_later_steps(tmp_path: Path) -> None:
    program = write(tmp_path, "program.py", COMPILING)

    doctor("-o", "out", program, cwd=tmp_path)

    doing = query(
        tmp_path,
        "SELECT coalesce(doing, '') AS doing, line, sum(count)::INT AS samples FROM host_sample"
        " WHERE phase = 'loop' GROUP BY ALL ORDER BY samples DESC",
    )
    call, sleep = line_of(program, "y = step(x)"), line_of(program, "time.sleep(0.05)")
    most = {row["doing"]: row["line"] for row in reversed(doing)}
    assert most == {"compile": call, "": sleep}


SLOW_START = """
import time
import numpy as np
import jax, jax.numpy as jnp

np.save("weights.npy", np.ones(20_000_000, np.float32))

def weights():
    for _ in range(8):
        loaded = np.load("weights.npy")
    return loaded[:8]

@jax.jit
def step(x):
    return jnp.tanh(x) * 2

time.sleep(4)
x = weights()
for number in range(200):
    x = step(x)
    time.sleep(0.001)
print(float(x.sum()))
"""


def test_what_came_before_the_first_step_is_told_apart(tmp_path: Path) -> None:
    program = write(tmp_path, "program.py", SLOW_START)

    doctor("-o", "out", program, cwd=tmp_path)

    rows = query(tmp_path, "SELECT * FROM start_up")
    spent = {
        (row["what"], row["package"], row["line"]): float(str(row["duration_ns"])) / 1e9
        for row in rows
    }
    assert spent["import", "numpy", line_of(program, "import numpy")] > 0.01
    assert spent["import", "jax", line_of(program, "import jax")] > 0.1
    asleep = line_of(program, "time.sleep(4)")
    assert max(spent, key=lambda key: spent[key]) == (None, None, asleep)
    assert 3.8 < spent[None, None, asleep] < 4.5
    load = line_of(program, "loaded = np.load")
    (read,) = [row["read_bytes"] for row in rows if row["line"] == load and not row["what"]]
    assert int(str(read)) >= 320_000_000
    shown = python("-m", "xladoctor", "analyze", "out", "--format", "json", cwd=tmp_path)
    began = json.loads(shown.stdout)["time"]["start_up"]
    assert began["stepped"]
    assert began["seconds"] - 2 < began["seen_s"] <= began["seconds"]
    assert (began["spent"][0]["what"], began["spent"][0]["line"]) == ("other", asleep)


ENDED = """
import os, signal, threading, time
import jax, jax.numpy as jnp

@jax.jit
def settle(x):
    for _ in range(8000):
        x = jnp.tanh(x * 1.01)
    return x

value = jnp.float32(1)
threading.Timer(14, os.kill, (os.getpid(), signal.SIGTERM)).start()
settle(value).block_until_ready()
"""


@pytest.mark.thorough
def test_program_that_ends_within_its_first_call_says_so(tmp_path: Path) -> None:
    program = write(tmp_path, "program.py", ENDED)

    doctor("-o", "out", program, cwd=tmp_path)

    line = line_of(program, "settle(value)")
    text = " ".join(python("-m", "xladoctor", "analyze", "out", cwd=tmp_path).stdout.split())
    assert (
        f"before its first step ended. The call at program.py:{line} was still compiling." in text
    )
    assert "steps in the timeline" not in text
