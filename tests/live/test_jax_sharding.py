"""Programs of JAX on several devices: donations that another sharding prevents."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.live.harness import LIVE, doctor, write
from tests.live.test_jax_programs import query

pytestmark = LIVE

PROGRAM = """
import os
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
import jax, jax.numpy as jnp, numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

mesh = Mesh(np.array(jax.devices()), ("x",))
rows, columns, whole = (NamedSharding(mesh, P(*axes)) for axes in (("x",), (None, "x"), ()))

def keep(value):
    return CONSTRAINED

step = jax.jit(lambda w, b: keep(0.9 * w + b), donate_argnums=0, out_shardings=OUT)
batch = jax.device_put(np.ones((512, 512), np.float32), rows)
for _ in range(4):
    weights = batch + 1
    step(weights, batch)
print(weights.is_deleted())
"""
FREE, WHOLE = "value", "jax.lax.with_sharding_constraint(value, whole)"


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("constrained", "out", "lost"),
    [(FREE, "whole", True), (WHOLE, "None", True), (FREE, "columns", False), (FREE, "rows", False)],
    ids=["warned", "silent", "other dimension", "same"],
)
def test_a_donation_is_lost_to_larger_parts(
    tmp_path: Path, constrained: str, out: str, lost: bool
) -> None:
    source = PROGRAM.replace("CONSTRAINED", constrained).replace("OUT", out)
    done = doctor("-o", "out", write(tmp_path, "program.py", source), cwd=tmp_path)

    assert done.stdout.startswith(str(not lost)), done.stderr
    refused = query(tmp_path, "SELECT reason, split, result_split FROM refused_donation")
    split, other = "dimension 0 in 4 parts", "whole on each device"
    found = {"reason": "placement", "split": split, "result_split": other}
    assert refused == ([found] if lost else [])
