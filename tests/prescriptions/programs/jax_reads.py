"""The loss is summed and collected as a number, and an action is chosen, in each step."""

import jax
import jax.numpy as jnp
import numpy as np

rng = np.random.default_rng(0)


@jax.jit
def step(w, x, y):
    loss, g = jax.value_and_grad(lambda w: jnp.square(x @ w - y).mean())(w)
    return w - 0.1 * g, loss


@jax.jit
def act(w, s):
    return jnp.argmax(s @ w)


w = jnp.zeros((256, 256))
total, losses = 0.0, []
for i in range(200):
    x = rng.standard_normal((256, 256)).astype(np.float32)
    w, loss = step(w, x, x)
    total += float(loss)
    losses.append(loss.item())
    action = int(act(w, x[0]))
print(total, max(losses), action)
