"""Data parallel over four devices: state placed on the mesh before the loop, batches sharded."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.sharding import Mesh, NamedSharding, PartitionSpec

BATCH, STEPS = 64, 60


def main():
    mesh = Mesh(np.array(jax.devices()), ("data",))
    everywhere = NamedSharding(mesh, PartitionSpec())
    parts = NamedSharding(mesh, PartitionSpec("data"))
    optimizer = optax.adamw(1e-3)

    def init(key):
        first, second = jax.random.split(key)
        params = {"in": jax.random.normal(first, (32, 128)) * 0.1,
                  "out": jax.random.normal(second, (128, 1)) * 0.1}  # fmt: skip
        return params, optimizer.init(params)

    def loss_of(params, inputs, targets):
        return jnp.mean((jnp.tanh(inputs @ params["in"]) @ params["out"] - targets) ** 2)

    def step(state, inputs, targets):
        params, moments = state
        loss, gradients = jax.value_and_grad(loss_of)(params, inputs, targets)
        updates, moments = optimizer.update(gradients, moments, params)
        return (optax.apply_updates(params, updates), moments), loss

    state = jax.jit(init, out_shardings=everywhere)(jax.random.key(0))
    step = jax.jit(step, donate_argnums=0, out_shardings=everywhere)
    random = np.random.default_rng(0)
    for _ in range(STEPS):
        inputs = random.standard_normal((BATCH, 32)).astype(np.float32)
        batch = jax.device_put((inputs, inputs.sum(1, keepdims=True)), parts)
        state, loss = step(state, *batch)
    print(f"loss {float(loss):.4f}")


if __name__ == "__main__":
    main()
