"""A decoder as MaxText trains it: layers scanned and rematerialized, sharded by rules, saved."""

import functools
import tempfile
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import optax
import orbax.checkpoint as ocp
from flax import linen as nn
from jax.sharding import Mesh, NamedSharding, PartitionSpec

BATCH, LENGTH, WIDTH, HEADS, LAYERS, VOCABULARY, STEPS = 8, 32, 64, 4, 3, 256, 60
LOG_EVERY, SAVE_EVERY = 20, 30


class Layer(nn.Module):
    @nn.compact
    def __call__(self, hidden, _):
        mask = nn.make_causal_mask(jnp.ones(hidden.shape[:2]))
        normal = nn.RMSNorm()(hidden)
        hidden = hidden + nn.MultiHeadDotProductAttention(HEADS)(normal, mask=mask)
        wide = nn.gelu(nn.Dense(4 * WIDTH, name="up")(nn.RMSNorm()(hidden)))
        return hidden + nn.Dense(WIDTH, name="down")(wide), None


class Decoder(nn.Module):
    @nn.compact
    def __call__(self, tokens):
        embed = nn.Embed(VOCABULARY, WIDTH)
        layers = nn.scan(nn.remat(Layer, prevent_cse=False), variable_axes={"params": 0},
                         split_rngs={"params": True}, length=LAYERS)  # fmt: skip
        hidden, _ = layers(name="layers")(embed(tokens), None)
        return embed.attend(nn.RMSNorm()(hidden))


def placement(mesh, array):
    """The widest dimension of a weight is cut over the devices of ``model``; the rest is whole."""
    parts = [None] * array.ndim
    if array.ndim > 1 and array.shape[-1] % mesh.shape["model"] == 0:
        parts[-1] = "model"
    return NamedSharding(mesh, PartitionSpec(*parts))


def batches(sharding):
    random = np.random.default_rng(0)
    while True:
        tokens = random.integers(0, VOCABULARY, (BATCH, LENGTH + 1), np.int32)
        yield jax.make_array_from_process_local_data(sharding, tokens)


def main():
    mesh = Mesh(np.array(jax.devices()).reshape(2, -1), ("data", "model"))
    decoder = Decoder()
    schedule = optax.warmup_cosine_decay_schedule(0.0, 3e-3, 10, STEPS)
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(schedule))

    def init(key):
        params = decoder.init(key, jnp.zeros((BATCH, LENGTH), jnp.int32))["params"]
        return {"params": params, "moments": optimizer.init(params)}

    key = jax.random.key(0)
    placed = jax.tree.map(functools.partial(placement, mesh), jax.eval_shape(init, key))
    whole, cut = (NamedSharding(mesh, PartitionSpec(*axes)) for axes in ((), ("data",)))
    state = jax.jit(init, out_shardings=placed)(key)

    def loss_of(params, tokens):
        logits = decoder.apply({"params": params}, tokens[:, :-1])
        return optax.softmax_cross_entropy_with_integer_labels(logits, tokens[:, 1:]).mean()

    @functools.partial(jax.jit, in_shardings=(placed, cut), out_shardings=(placed, whole),
                       donate_argnums=0)  # fmt: skip
    def train_step(state, tokens):
        loss, gradients = jax.value_and_grad(loss_of)(state["params"], tokens)
        updates, moments = optimizer.update(gradients, state["moments"], state["params"])
        return {"params": optax.apply_updates(state["params"], updates), "moments": moments}, loss

    with tempfile.TemporaryDirectory() as folder, ocp.CheckpointManager(
        Path(folder), options=ocp.CheckpointManagerOptions(
            save_interval_steps=SAVE_EVERY, enable_async_checkpointing=True)
    ) as manager:  # fmt: skip
        before, data = None, batches(cut)
        for step in range(STEPS):
            state, loss = train_step(state, next(data))
            manager.save(step, args=ocp.args.StandardSave(state))
            if step % LOG_EVERY == 0 and before is not None:
                print(step, f"loss of the step before {before:.3f}")
            before = loss
        manager.wait_until_finished()
    print(f"loss {loss:.3f}")


if __name__ == "__main__":
    main()
