"""Trains a small transformer whose sizes fill none of a TPU's tiles."""

import jax
import jax.numpy as jnp
import numpy as np

BATCH = 4
LENGTH = 129
HEADS = 4
WIDTH = HEADS * 65
VOCABULARY = 1001
STEPS = 20


def start():
    random = np.random.default_rng(0)
    shapes = {
        "embedding": (VOCABULARY, WIDTH),
        "attention": (WIDTH, 3 * WIDTH),
        "mixed": (WIDTH, WIDTH),
        "up": (WIDTH, 4 * WIDTH),
        "down": (4 * WIDTH, WIDTH),
    }
    return {
        name: jnp.asarray(0.02 * random.normal(size=shape), jnp.float32)
        for name, shape in shapes.items()
    }


def norm(x):
    return x * jax.lax.rsqrt(jnp.mean(x * x, axis=-1, keepdims=True) + 1e-6)


def loss_of(params, tokens):
    params = jax.tree.map(lambda p: p.astype(jnp.bfloat16), params)
    x = params["embedding"][tokens]
    q, k, v = jnp.split((norm(x) @ params["attention"]).reshape(*x.shape[:2], HEADS, -1), 3, -1)
    x += jax.nn.dot_product_attention(q, k, v, is_causal=True).reshape(x.shape) @ params["mixed"]
    x += jax.nn.gelu(norm(x) @ params["up"]) @ params["down"]
    logits = (norm(x) @ params["embedding"].T).astype(jnp.float32)
    wanted = jax.nn.one_hot(jnp.roll(tokens, -1, axis=1), VOCABULARY)
    return -jnp.mean(jnp.sum(wanted * jax.nn.log_softmax(logits), axis=-1))


@jax.jit(donate_argnums=0)
def step(params, tokens):
    loss, grads = jax.value_and_grad(loss_of)(params, tokens)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), loss


def main():
    params, random = start(), np.random.default_rng(0)
    for _ in range(STEPS):
        tokens = random.integers(0, VOCABULARY, size=(BATCH, LENGTH), dtype=np.int32)
        params, loss = step(params, tokens)
    print(f"final loss {float(loss):.9g}")


if __name__ == "__main__":
    main()
