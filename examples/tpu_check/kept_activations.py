"""Compiles the step of a transformer that keeps all its activations; it is not run."""

import jax
import jax.numpy as jnp

BATCH = 64
LENGTH = 512
LAYERS = 16
HEADS = 8
WIDTH = 1024
VOCABULARY = 32768


def shapes():
    """The parameters, by name; those of the layers have the layer first."""
    sizes = {
        "embedding": (VOCABULARY, WIDTH),
        "attention": (LAYERS, WIDTH, 3, WIDTH),
        "mixed": (LAYERS, WIDTH, WIDTH),
        "up": (LAYERS, WIDTH, 4 * WIDTH),
        "down": (LAYERS, 4 * WIDTH, WIDTH),
    }
    return {name: jax.ShapeDtypeStruct(size, jnp.float32) for name, size in sizes.items()}


def norm(x):
    return x * jax.lax.rsqrt(jnp.mean(x * x, axis=-1, keepdims=True) + 1e-6)


def layer(x, weights):
    q, k, v = jnp.moveaxis(jnp.einsum("bld,dkw->blkw", norm(x), weights["attention"]), 2, 0)
    q, k, v = (each.reshape(*x.shape[:2], HEADS, -1) for each in (q, k, v))
    x += jax.nn.dot_product_attention(q, k, v, is_causal=True).reshape(x.shape) @ weights["mixed"]
    return x + jax.nn.gelu(norm(x) @ weights["up"]) @ weights["down"], None


def loss_of(params, tokens):
    params = jax.tree.map(lambda p: p.astype(jnp.bfloat16), params)
    embedding = params.pop("embedding")
    x, _ = jax.lax.scan(layer, embedding[tokens], params)
    logits = (norm(x) @ embedding.T).astype(jnp.float32)
    wanted = jnp.roll(tokens, -1, axis=1)[..., None]
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), wanted, axis=-1))


@jax.jit(donate_argnums=0)
def step(params, tokens):
    loss, grads = jax.value_and_grad(loss_of)(params, tokens)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), loss


def main():
    tokens = jax.ShapeDtypeStruct((BATCH, LENGTH), jnp.int32)
    compiled = step.lower(shapes(), tokens).compile()
    print(f"temporaries {compiled.memory_analysis().temp_size_in_bytes / 1e9:.3g} GB")


if __name__ == "__main__":
    main()
