"""Trains a network that is divided over eight devices as it should be: ``PROGRAM KIND``."""

import os
import sys

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
os.environ["NPROC"] = "16"  # threads: with fewer, devices that wait for others block them

import jax
import jax.numpy as jnp
from jax.sharding import AxisType
from jax.sharding import PartitionSpec as P

LAYERS, WIDTH, HEADS, EXPERTS = 4, 256, 8, 8
BATCH, LENGTH = 16, 32
STEPS = 24
KEY = jax.random.key(0)


def mesh_of(kind=AxisType.Auto, **axes):
    mesh = jax.make_mesh(tuple(axes.values()), tuple(axes), (kind,) * len(axes))
    jax.set_mesh(mesh)
    return mesh


def weights(specs, *shape):
    """Normal weights, one for each spec, each in its parts; shape without that of the matrix."""
    up, down = (WIDTH, 4 * WIDTH), (4 * WIDTH, WIDTH)
    return {
        name: jax.device_put(
            0.05 * jax.random.normal(KEY, (*shape, *(down if name == "down" else up))), spec
        )
        for name, spec in specs.items()
    }


def inputs(*spec, shape=(BATCH * 8, WIDTH)):
    return jax.device_put(jax.random.normal(KEY, shape), P(*spec))


def train(loss_of, params, batch, momenta=None):
    """With momenta, which are divided like the parameters, or as they are given."""
    state = (params, jax.tree.map(jnp.zeros_like, params) if momenta is None else momenta)
    shardings = jax.tree.map(lambda leaf: leaf.sharding, state)

    @jax.jit(donate_argnums=0, out_shardings=(shardings, None))
    def step(state, batch):
        params, momenta = state
        loss, grads = jax.value_and_grad(loss_of)(params, batch)
        momenta = jax.tree.map(lambda m, g: 0.9 * m + g, momenta, grads)
        return (jax.tree.map(lambda p, m: p - 0.01 * m, params, momenta), momenta), loss

    for _ in range(STEPS):
        state, loss = step(state, batch)
    print(f"final loss {float(loss):.6g}")


def divide(value, *spec):
    return jax.lax.with_sharding_constraint(value, P(*spec))


def network(params, batch):
    return jax.nn.gelu(batch @ params["up"]) @ params["down"]


def error(params, batch):
    return jnp.mean((network(params, batch) - batch) ** 2)


def deep(layer):
    """The error of a network of layers, whose weights have the layer as first dimension."""

    def loss_of(params, batch):
        outputs, _ = jax.lax.scan(lambda x, p: (jax.checkpoint(layer)(x, p), None), batch, params)
        return jnp.mean((outputs - jnp.abs(batch)) ** 2)

    return loss_of


def data_parallel():
    mesh_of(data=8)
    train(error, weights({"up": P(), "down": P()}), inputs("data"))


def zero():
    """Parameters whole, momenta divided."""
    mesh_of(data=8)
    divided = {"up": P("data"), "down": P("data")}
    momenta = jax.tree.map(jnp.zeros_like, weights(divided))
    train(error, weights({"up": P(), "down": P()}), inputs("data"), momenta)


def fsdp():
    mesh_of(data=8)

    def layer(x, params):
        return x + network(jax.tree.map(divide, params), x)

    specs = {"up": P(None, "data"), "down": P(None, "data")}
    train(deep(layer), weights(specs, LAYERS), inputs("data"))


def explicit_fsdp():
    mesh_of(AxisType.Explicit, data=8)

    def layer(x, params):
        return x + network(jax.tree.map(lambda p: jax.reshard(p, P()), params), x)

    specs = {"up": P(None, "data"), "down": P(None, "data")}
    train(deep(layer), weights(specs, LAYERS), inputs("data"))


def tensor_parallel():
    mesh_of(data=2, model=4)
    specs = {"up": P(None, None, "model"), "down": P(None, "model")}
    train(deep(lambda x, p: x + network(p, x)), weights(specs, LAYERS), inputs("data"))


def sequence_parallel():
    """What is done for each token alone is divided over the sequence."""
    mesh_of(data=2, model=4)

    def layer(x, params):
        scaled = x / (1e-6 + jnp.linalg.norm(x, axis=-1, keepdims=True))
        return x + divide(network(params, divide(scaled, "data")), "data", "model")

    specs = {"up": P(None, None, "model"), "down": P(None, "model")}
    batch = inputs("data", "model", shape=(BATCH, LENGTH, WIDTH))
    train(deep(layer), weights(specs, LAYERS), batch)


def all_to_all():
    """Attention is divided over heads, all else over the sequence."""
    mesh_of(sequence=8)
    by_sequence, by_heads = (None, "sequence"), (None, None, "sequence")

    def loss_of(params, batch):
        made = (batch @ params["up"]).reshape(BATCH, LENGTH, 4, HEADS, -1)
        made = divide(made, *by_sequence)
        q, k, v = jnp.moveaxis(divide(made[:, :, :3], None, *by_heads), 2, 0)
        mixed = divide(divide(jax.nn.dot_product_attention(q, k, v), *by_heads), *by_sequence)
        active = (mixed * jax.nn.sigmoid(made[:, :, 3])).reshape(batch.shape)
        return jnp.mean((active - batch) ** 2)

    batch = inputs(*by_sequence, shape=(BATCH, LENGTH, WIDTH))
    train(loss_of, weights({"up": P()}), batch)


def experts():
    """Tokens, divided over the devices, go to those that hold their experts, and back."""
    mesh_of(expert=8)
    specs = {"up": P("expert"), "down": P("expert")}

    def loss_of(params, batch):
        scores = jax.nn.softmax(batch[..., :EXPERTS])
        chosen = scores * (scores >= jax.lax.top_k(scores, 2)[0][..., -1:])
        sent = divide(jnp.einsum("gte,gtw->egtw", chosen, batch), "expert")
        hidden = jax.nn.gelu(jnp.einsum("egtw,ewh->egth", sent, params["up"]))
        back = divide(jnp.einsum("egth,ehw->egtw", hidden, params["down"]), None, "expert")
        return jnp.mean((back.sum(0) - batch) ** 2)

    batch = inputs("expert", shape=(8, BATCH, WIDTH))
    train(loss_of, weights(specs, EXPERTS), batch)


def pipeline():
    mesh = mesh_of(stage=8)

    @jax.shard_map(mesh=mesh, in_specs=(P("stage"), P()), out_specs=P())
    def through(params, parts):
        own = jax.tree.map(lambda p: p[0], params)
        stage = jax.lax.axis_index("stage")

        def turn(held, number):
            taken = jnp.where(stage == 0, parts[number % 8], held)
            done = jnp.tanh(taken + network(own, taken))
            return jax.lax.ppermute(done, "stage", [(i, (i + 1) % 8) for i in range(8)]), done

        first = jax.lax.pcast(jnp.zeros_like(parts[0]), "stage", to="varying")
        _, done = jax.lax.scan(turn, first, jnp.arange(15))
        return jax.lax.psum(jnp.where(stage == 7, done[7:], 0), "stage")

    def loss_of(params, parts):
        return jnp.mean((through(params, parts) - parts) ** 2)

    specs = {"up": P("stage"), "down": P("stage")}
    train(loss_of, weights(specs, 8), inputs(shape=(8, BATCH, WIDTH)))


def contrastive():
    """Each device compares its images with the texts of all."""
    mesh_of(data=8)

    def loss_of(params, batch):
        images, texts = (jnp.tanh(network(params, side)) for side in (batch, batch + 0.1))
        scores = jax.nn.log_softmax(images @ divide(texts).T / WIDTH)
        return -jnp.mean(jnp.diagonal(scores))

    train(loss_of, weights({"up": P(), "down": P()}), inputs("data"))


if __name__ == "__main__":
    globals()[sys.argv[1]]()
