"""Programs of JAX as they are written: which calls are steps, and what is no read."""

from __future__ import annotations

import json
from pathlib import Path

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


def test_a_loop_of_what_another_line_compiled_has_steps(tmp_path: Path) -> None:
    program = write(tmp_path, "program.py", PROGRAM)

    done = doctor("-o", "out", program, cwd=tmp_path)
    assert done.stdout.startswith("41 True"), done.stderr

    def rows(query: str) -> list[dict[str, object]]:
        asked = python("-m", "xladoctor", "query", "out", query,
                                             "--format", "json", cwd=tmp_path)  # fmt: skip
        found: list[dict[str, object]] = json.loads(asked.stdout)
        return found

    (steps,) = rows("SELECT line, count(*) AS n FROM step WHERE NOT tail GROUP BY ALL")
    assert steps["line"] == line_of(program, "weights, loss = step(")
    assert int(str(steps["n"])) in (38, 39, 40)
    reads = rows(
        "SELECT DISTINCT line, user_line FROM host_sync WHERE kind <> 'wait' ORDER BY line"
    )
    mean, last = line_of(program, "mean = np.mean("), line_of(program, "last = ")
    assert reads == [{"line": mean, "user_line": None}, {"line": last, "user_line": None}]
    assert rows(f"SELECT kind FROM host_sync WHERE line = {last}") == [{"kind": "item"}]
