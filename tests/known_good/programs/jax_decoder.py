"""A small decoder that generates with a cache of its full size, written by index in one scan."""

import jax
import jax.numpy as jnp

WIDTH, HEADS, LENGTH, VOCABULARY, PROMPTS = 64, 4, 48, 128, 24


def init(key):
    names = ("query", "key", "value", "out", "up", "down", "embed")
    shapes = [(WIDTH, WIDTH)] * 4 + [(WIDTH, 4 * WIDTH), (4 * WIDTH, WIDTH), (VOCABULARY, WIDTH)]
    keys = jax.random.split(key, len(names))
    return {name: jax.random.normal(one, shape) * 0.05
            for name, one, shape in zip(names, keys, shapes, strict=True)}  # fmt: skip


def decode(params, cache, token, position):
    """The logits after one token, and the cache with its key and value."""
    hidden = params["embed"][token]
    query, key, value = (
        (hidden @ params[name]).reshape(-1, HEADS, WIDTH // HEADS)
        for name in ("query", "key", "value")
    )
    keys = jax.lax.dynamic_update_slice(cache["keys"], key[:, None], (0, position, 0, 0))
    values = jax.lax.dynamic_update_slice(cache["values"], value[:, None], (0, position, 0, 0))
    scores = jnp.einsum("bhd,bthd->bht", query, keys) / (WIDTH // HEADS) ** 0.5
    scores = jnp.where(jnp.arange(LENGTH) <= position, scores, -1e9)
    mixed = jnp.einsum("bht,bthd->bhd", jax.nn.softmax(scores), values).reshape(-1, WIDTH)
    hidden = hidden + mixed @ params["out"]
    hidden = hidden + jax.nn.gelu(hidden @ params["up"]) @ params["down"]
    return hidden @ params["embed"].T, {"keys": keys, "values": values}


@jax.jit
def generate(params, first):
    shape = (len(first), LENGTH, HEADS, WIDTH // HEADS)
    cache = {"keys": jnp.zeros(shape), "values": jnp.zeros(shape)}

    def step(carry, position):
        cache, token = carry
        logits, cache = decode(params, cache, token, position)
        token = jnp.argmax(logits, axis=-1)
        return (cache, token), token

    return jax.lax.scan(step, (cache, first), jnp.arange(LENGTH))[1]


def main():
    params, written = jax.jit(init)(jax.random.key(0)), []
    for prompt in range(PROMPTS):
        written.append(generate(params, jnp.full(8, prompt)))
    print(sum(int(tokens.sum()) for tokens in jax.device_get(written)))


if __name__ == "__main__":
    main()
