"""Trains a small language model, written with Flax, whose weights are divided over a mesh."""

import os

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
os.environ["NPROC"] = "16"  # threads: with fewer, devices that wait for others block them

import jax
import jax.numpy as jnp
from flax import nnx
from jax.sharding import AxisType, NamedSharding, PartitionSpec

BATCH = 16
LENGTH = 32
VOCABULARY = 8192
WIDTH = 128
STEPS = 25
MESH = jax.make_mesh((2, 4), ("data", "model"), (AxisType.Auto, AxisType.Auto))
NORMAL = nnx.initializers.normal(0.05)


class Model(nnx.Module):
    def __init__(self, rngs):
        columns = nnx.with_partitioning(NORMAL, (None, "model"))
        rows = nnx.with_partitioning(NORMAL, ("model", None))
        self.table = nnx.Embed(VOCABULARY, WIDTH, embedding_init=NORMAL, rngs=rngs)
        self.up = nnx.Linear(WIDTH, 4 * WIDTH, use_bias=False, kernel_init=columns, rngs=rngs)
        self.down = nnx.Linear(4 * WIDTH, WIDTH, use_bias=False, kernel_init=rows, rngs=rngs)
        self.head = nnx.Linear(WIDTH, VOCABULARY, use_bias=False, kernel_init=columns, rngs=rngs)

    def __call__(self, tokens):
        hidden = self.table(tokens)
        hidden = hidden + self.down(nnx.gelu(self.up(hidden)))
        return self.head(hidden)


@nnx.jit
def start():
    return Model(nnx.Rngs(0))


def loss_of(model, tokens):
    scores = jax.nn.log_softmax(model(tokens[:, :-1]))
    return -jnp.take_along_axis(scores, tokens[:, 1:, None], axis=-1).mean()


@nnx.jit
def step(model, tokens):
    loss, grads = nnx.value_and_grad(loss_of)(model, tokens)
    params = nnx.state(model, nnx.Param)
    nnx.update(model, jax.tree.map(lambda p, g: p - 0.5 * g, params, grads))
    return loss


def main():
    jax.set_mesh(MESH)
    model = start()
    tokens = jax.random.randint(jax.random.key(0), (BATCH, LENGTH + 1), 0, VOCABULARY)
    tokens = jax.device_put(tokens, NamedSharding(MESH, PartitionSpec("data")))
    for _ in range(STEPS):
        loss = step(model, tokens)
    print(f"final loss {float(loss):.6g}")


if __name__ == "__main__":
    main()
