from __future__ import annotations

import pytest

from tests.fixes.harness import expected, fixed, refusal

KIND = "jit_loop_body"


def test_the_assignments_that_the_body_begins_with_become_a_function() -> None:
    text = """
        import jax
        import jax.numpy as jnp
        import optax

        gradients = jax.jit(jax.value_and_grad(loss_of))

        def train(params, data):
            optimizer = optax.adam(1e-3)
            state = optimizer.init(params)
            for inputs, targets in data:
                # a step
                loss, grads = gradients(params, inputs, targets)
                updates, state = optimizer.update(grads, state, params)  #!
                params = optax.apply_updates(params, updates)
                if log(loss):
                    print(loss)
            return params
        """
    assert fixed(KIND, text, "jax") == expected(
        """
        import jax
        import jax.numpy as jnp
        import optax

        gradients = jax.jit(jax.value_and_grad(loss_of))

        def train(params, data):
            optimizer = optax.adam(1e-3)
            state = optimizer.init(params)

            @jax.jit
            def step(params, inputs, targets, state):
                # a step
                loss, grads = gradients(params, inputs, targets)
                updates, state = optimizer.update(grads, state, params)
                params = optax.apply_updates(params, updates)
                return params, state, loss

            for inputs, targets in data:
                params, state, loss = step(params, inputs, targets, state)
                if log(loss):
                    print(loss)
            return params
        """
    )


def test_a_sum_is_carried_and_what_is_used_up_is_not_returned() -> None:
    text = """
        import jax
        import jax.numpy as jnp

        total = jnp.zeros(3)
        for x in data:
            y = jnp.sin(x)
            z = jnp.cos(y)
            total += y * z  #!
        """
    assert fixed(KIND, text, "jax") == expected(
        """
        import jax
        import jax.numpy as jnp

        total = jnp.zeros(3)

        @jax.jit
        def step(x, total):
            y = jnp.sin(x)
            z = jnp.cos(y)
            total += y * z
            return total

        for x in data:
            total = step(x, total)
        """
    )


def test_what_another_function_may_change_in_place_is_an_argument() -> None:
    text = """
        import jax.numpy as jnp

        def train(w, buffer, data):
            for x in data:
                w = w + jnp.dot(x, buffer)  #!
                refill(buffer)
            return w
        """
    assert "w = step(w, x, buffer)\n        refill(buffer)" in fixed(KIND, text, "jax")


@pytest.mark.parametrize(
    "body",
    [
        "print(x)\n        w = jnp.sin(w * x)  #!",
        "if x.any():\n            w = jnp.sin(w)  #!",
        "w = jnp.sin(w) if x else w  #!",
        "w = model(w, x)  #!",
        "w = model.apply(w, x)  #!",
        "w = self.f(w, x)  #!",
        "w = jnp.sin(self.w)  #!",
        "self.w = jnp.sin(x)  #!",
        "w[0] = jnp.sin(x)  #!",
        "w = jnp.zeros(x)  #!",
        "w = jnp.sin(ONES)  #!",
        "y = jnp.sin(x)  #!",
        "w = np.sin(w * x)  #!",
        "w = float(jnp.sin(w * x))  #!",
        "w = jnp.sin(w * x); print(w)  #!",
        "jnp.sin(w * x)  #!",
        "w = jax.random.key(x)  #!",
        "w = random.random() * w  #!",
        "w = [f(v) for v in w]  #!",
        "w = jnp.sin(w := x)  #!",
        "w: object = jnp.sin(w * x)  #!",
        "w = await jnp.sin(w * x)  #!",
        "with mesh:\n            w = jnp.sin(w * x)  #!",
        "w = other.update(w, x)  #!",
        "losses.append(jnp.sin(x))  #!",
    ],
)
def test_refused(body: str) -> None:
    head = "import jax, random\nimport jax.numpy as jnp\nimport numpy as np\nONES = jnp.ones(3)\n"
    loop = f"    for x in data:\n        {body}\n    return w\n"
    text = f"{head}async def train(self, w, data, other, losses):\n{loop}"
    assert refusal(KIND, text, "jax")


def test_out_of_a_loop_and_for_other_frontends_it_is_refused() -> None:
    assert refusal(KIND, "import jax.numpy as jnp\nx = jnp.sin(x)  #!", "jax")
    assert refusal(KIND, "import jax.numpy as jnp\nfor x in y:\n    z = jnp.sin(x)  #!", "torch")
