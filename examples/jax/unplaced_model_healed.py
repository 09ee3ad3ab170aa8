"""Features of a frozen model, whose weights are put on all of eight devices, once."""

import os

os.environ |= {"XLA_FLAGS": "--xla_force_host_platform_device_count=8", "NPROC": "16"}

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

BATCH = 64
WIDTH = 1536
STEPS = 24

mesh = Mesh(np.array(jax.devices()), ("data",))
whole = NamedSharding(mesh, P())
rows = NamedSharding(mesh, P("data", None))


def make_model():
    first, second = jax.random.split(jax.random.key(0))
    scale = WIDTH**-0.5
    return {
        "in": scale * jax.random.normal(first, (WIDTH, WIDTH), jnp.float32),
        "out": scale * jax.random.normal(second, (WIDTH, WIDTH), jnp.float32),
    }


def features(model, batch):
    return jax.nn.gelu(batch @ model["in"]) @ model["out"]


def main():
    model = jax.device_put(make_model(), NamedSharding(mesh, P()))
    extract = jax.jit(features, in_shardings=(whole, rows), out_shardings=rows)
    batch = jax.device_put(np.ones((BATCH, WIDTH), np.float32), rows)
    for _ in range(STEPS):
        batch = extract(model, batch)
    print(f"norm {float(jnp.linalg.norm(batch)):.5f}")


if __name__ == "__main__":
    main()
