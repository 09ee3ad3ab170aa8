"""Trains a network whose layers are divided in turn, by outputs and by inputs, with Adam."""

import os

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
os.environ["NPROC"] = "16"  # threads: with fewer, devices that wait for others block them

import jax
import jax.numpy as jnp
from jax.sharding import AxisType, NamedSharding, PartitionSpec

BATCH = 256
WIDTH = 512
STEPS = 30
MESH = jax.make_mesh((2, 4), ("data", "model"), (AxisType.Auto, AxisType.Auto))
WHOLE = NamedSharding(MESH, PartitionSpec())
SPLIT = NamedSharding(MESH, PartitionSpec("data"))
BY_OUTPUTS = NamedSharding(MESH, PartitionSpec(None, "model"))
BY_INPUTS = NamedSharding(MESH, PartitionSpec("model", None))


def start(key):
    up, down = jax.random.normal(key, (2, WIDTH, 4 * WIDTH)) * WIDTH**-0.5
    params = {
        "up": jax.device_put(up, BY_OUTPUTS),
        "down": jax.device_put(down.T / 2, BY_INPUTS),
    }
    moments = jax.tree.map(jnp.zeros_like, (params, params))
    return {"params": params, "moments": moments}


def loss_of(params, inputs):
    outputs = jax.nn.gelu(inputs @ params["up"]) @ params["down"]
    return jnp.mean((outputs - inputs) ** 2)


def adam(param, grad, mean, square, number):
    mean, square = 0.9 * mean + 0.1 * grad, 0.999 * square + 0.001 * grad**2
    change = mean / (1 - 0.9**number) / (jnp.sqrt(square / (1 - 0.999**number)) + 1e-8)
    return param - 1e-3 * change, mean, square


def step(state, number, inputs):
    loss, grads = jax.value_and_grad(loss_of)(state["params"], inputs)
    updated = {
        name: adam(param, grads[name], *(part[name] for part in state["moments"]), number)
        for name, param in state["params"].items()
    }
    params, *moments = ({name: new[i] for name, new in updated.items()} for i in range(3))
    return {"params": params, "moments": tuple(moments)}, loss


def main():
    key = jax.random.key(0)
    state = start(key)
    shardings = jax.tree.map(lambda leaf: leaf.sharding, state)
    train = jax.jit(step, donate_argnums=0, out_shardings=(shardings, WHOLE))
    inputs = jax.device_put(jax.random.normal(key, (BATCH, WIDTH)), SPLIT)
    for number in range(STEPS):
        state, loss = train(state, jnp.float32(number + 1), inputs)
    print(f"final loss {float(loss):.6g}")


if __name__ == "__main__":
    main()
