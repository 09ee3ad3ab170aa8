"""NumPyro: stochastic variational inference over minibatches, and NUTS over all of the data."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from numpyro.infer import MCMC, NUTS, SVI, Predictive, Trace_ELBO
from numpyro.infer.autoguide import AutoNormal

BATCH, STEPS, ROWS, WIDTH = 64, 80, 2048, 8


def model(inputs, labels=None):
    weights = numpyro.sample("weights", dist.Normal(jnp.zeros(WIDTH), 1.0).to_event(1))
    bias = numpyro.sample("bias", dist.Normal(0.0, 10.0))
    with numpyro.plate("rows", ROWS, subsample_size=len(inputs)):
        numpyro.sample("label", dist.Bernoulli(logits=inputs @ weights + bias), obs=labels)


def main():
    random = np.random.default_rng(0)
    inputs = random.standard_normal((ROWS, WIDTH)).astype(np.float32)
    labels = (inputs.sum(1) > 0).astype(np.float32)

    svi = SVI(model, AutoNormal(model), numpyro.optim.Adam(0.01), Trace_ELBO())
    state, losses = svi.init(jax.random.key(0), inputs[:BATCH], labels[:BATCH]), []
    update = jax.jit(svi.update)
    for rows in random.integers(ROWS, size=(STEPS, BATCH)):
        state, loss = update(state, inputs[rows], labels[rows])
        losses.append(loss)
    print(f"loss {np.mean(jax.device_get(losses[-10:])):.1f}")

    mcmc = MCMC(NUTS(model), num_warmup=100, num_samples=100, progress_bar=False)
    mcmc.run(jax.random.key(1), inputs, labels)
    samples = mcmc.get_samples()
    drawn = Predictive(model, samples)(jax.random.key(2), inputs[:BATCH])
    print(f"weights {samples['weights'].mean():.2f}, labels {drawn['label'].mean():.2f}")


if __name__ == "__main__":
    main()
