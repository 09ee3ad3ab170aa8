from __future__ import annotations

import pytest

from tests.fixes.harness import expected, fixed, refusal

KIND = "keep_on_device"


def test_a_list_of_losses_is_read_below_the_loop() -> None:
    assert fixed(
        KIND,
        """
        def train(data):
            losses = []
            for x in data:
                loss = model(x).mean()
                torch_xla.sync()  #! barrier
                losses.append(loss.item())  #!

            print(max(losses), min(losses))
        """,
    ) == expected(
        """
        def train(data):
            losses = []
            for x in data:
                loss = model(x).mean()
                torch_xla.sync()
                losses.append(loss.detach())
            losses = [value.item() for value in losses]

            print(max(losses), min(losses))
        """
    )


def test_what_is_computed_for_it_is_above_the_barrier() -> None:
    after = fixed(
        KIND,
        """
        import torch_xla
        shares = list()
        for x, y in data:
            out = model(x)
            torch_xla.sync()  #! barrier
            shares.append((out == y).float().mean().item())  #!
        print(sum(shares))
        """,
    )
    assert "    shares.append((out == y).float().mean().detach())\n    torch_xla.sync()\n" in after
    assert after.endswith("shares = [value.item() for value in shares]\nprint(sum(shares))\n")


def test_a_sum_whose_step_ends_in_a_function() -> None:
    assert fixed(
        KIND,
        """
        def train(data):
            total = 3
            for x in data:
                loss = step(x).mean()
                total += loss.item()  #!
            return total
        """,
        barrier_called="train.py:1",
    ) == expected(
        """
        def train(data):
            total = 3
            total_values = []
            for x in data:
                loss = step(x).mean()
                total_values.append(loss.detach())
            for value in total_values:
                total += value.item()
            return total
        """
    )


def test_arrays_of_jax_are_fetched_together() -> None:
    after = fixed(
        KIND,
        """
        import jax
        losses = []
        for x in data:
            params, loss = step(params, x)
            losses.append(float(loss))  #!
        print(max(losses))
        print(min(losses))
        """,
        frontend="jax",
    )
    assert "    losses.append(loss)\n" in after
    assert "losses = [float(value) for value in jax.device_get(losses)]\nprint(max" in after


def loop(statement: str, start: str = "losses = []", before: str = "loss = model(x)") -> str:
    return f"""
def train(data, loss):
    {start}
    for x in data:
        {before}
        {statement}  #!
        torch_xla.sync()  #! barrier
    return losses
"""


@pytest.mark.parametrize(
    "text",
    [
        loop("losses.append((x, loss.item()))"),
        loop("losses.append({'loss': loss.item()})"),
        loop("losses.append(loss.item() / 2)"),
        loop("losses.append(loss.item(), other.item())"),
        loop("losses.append(*loss.item())"),
        loop("losses.extend([loss.item()])"),
        loop("losses.add(loss.item())"),
        loop("losses.insert(0, loss.item())"),
        loop("losses += [loss.item()]"),
        loop("losses[x] = loss.item()"),
        loop("self.losses.append(loss.item())"),
        loop("losses.append(loss.item()); n += 1"),
        loop("losses.append(y := loss.item())"),
        loop("losses.append(await_(loss.item()))"),
        loop("losses.append(loss.item())", "losses = [0.0]"),
        loop("losses.append(loss.item())", "losses = deque(maxlen=9)"),
        loop("losses.append(loss.item())", "losses = other = []"),
        loop("losses.append(loss.item())", "losses = []\n    history['loss'] = losses"),
        loop("losses.append(loss.item())", "losses = []\n    show = lambda: losses"),
        loop("losses.append(loss.item())", "global losses\n    losses = []"),
        loop("losses.append(loss.item())\n        print(losses[-1])"),
        loop("losses.append(loss.item())\n        if len(losses) > 9: break"),
        loop("losses.append(loss.item())\n        losses.append(0)"),
        loop("losses.append(loss.item())", before="loss += model(x)"),
        loop("losses.append(loss.item())", before="loss.add_(model(x))"),
        loop("losses.append(loss.item())", before="loss = model(x)\n        loss.mul_(2)"),
        loop("losses.append(loss.item())", before="loss[0] = model(x)"),
        loop("losses.append(self.loss.item())", before="pass"),
        loop("losses.append(state.loss.item())", before="update(state, x)"),
    ],
)
def test_refused(text: str) -> None:
    assert refusal(KIND, text)


def test_what_a_later_step_may_overwrite_is_refused() -> None:
    assert "donated" in refusal(
        KIND,
        """
        step = jax.jit(f, donate_argnums=0)
        losses = []
        for x in data:
            state = step(state, x)
            losses.append(float(state.loss))  #!
        print(losses)
        """,
        frontend="jax",
    )
