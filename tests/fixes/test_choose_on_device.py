from __future__ import annotations

import pytest

from tests.fixes.harness import expected, fixed, refusal

KIND = "choose_on_device"


def test_an_if_without_else_keeps_the_variable() -> None:
    assert fixed(
        KIND,
        """
        import torch

        def train(data, device):
            best = torch.tensor(float("inf"), device=device)
            for x in data:
                loss = model(x)
                # the best so far
                if loss < best:  #!
                    best = loss.detach()
                torch_xla.sync()  #! barrier
            return best
        """,
    ) == expected(
        """
        import torch

        def train(data, device):
            best = torch.tensor(float("inf"), device=device)
            for x in data:
                loss = model(x)
                # the best so far
                best = torch.where(loss < best, loss.detach(), best)
                torch_xla.sync()
            return best
        """
    )


def test_a_value_that_is_made_of_itself() -> None:
    text = """
        import torch
        best = torch.tensor(9.0, device=device)
        for x in data:
            loss = model(x).mean()
            loss = loss.detach()
            if loss < best:  #!
                best = loss.detach()
            torch_xla.sync()  #! barrier
        print(float(best))
        """
    assert "    best = torch.where(loss < best, loss.detach(), best)\n" in fixed(KIND, text)


def test_both_arms() -> None:
    after = fixed(
        KIND,
        """
        import jax.numpy as jnp
        for x in data:
            loss = model(x)
            if jnp.isfinite(loss):  #!
                kept = loss
            else:
                kept = 0.0

            total += kept
        """,
        frontend="jax",
    )
    assert "    kept = jnp.where(jnp.isfinite(loss), loss, 0.0)\n\n    total" in after


def arms(
    test: str = "loss < best",
    arm: str = "best = loss.detach()",
    other: str = "",
    start: str = "best = torch.zeros(1).to(device)",
) -> str:
    rest = f"        else:\n            {other}\n" if other else ""
    return f"""
def train(data, device):
    {start}
    for x in data:
        loss = model(x)
        if {test}:  #!
            {arm}
{rest}        torch_xla.sync()  #! barrier
"""


def test_the_plain_form_is_not_refused() -> None:
    assert "best = torch.where(loss < best, loss.detach(), best)" in fixed(KIND, arms())


@pytest.mark.parametrize(
    "text",
    [
        arms(start="best = float('inf')"),
        arms(start="best = torch.zeros(1)"),
        arms(start="best = start()"),
        arms(start="torch = device\n    best = torch.zeros(1).to(device)"),
        arms("loss < best and step > 3"),
        arms("not loss"),
        arms("0 < loss < best"),
        arms("(y := loss) < best"),
        arms("check(loss)"),
        arms("loss.item() < best"),
        arms(arm="best = save(loss)"),
        arms(arm="best = (lambda: loss)()"),
        arms(arm="best = [loss]"),
        arms(arm="best = losses[0]"),
        arms(arm="best = 1 if x else loss"),
        arms(arm="best += loss"),
        arms(arm="best = other = loss"),
        arms(arm="self.best = loss"),
        arms(arm="best, n = loss, 1"),
        arms(arm="best: int = loss"),
        arms(arm="best = loss; n = 1"),
        arms(arm="best = loss\n            # why\n            n = 1"),
        arms(arm="best = loss  # why"),
        arms(arm="return loss"),
        arms(arm="break"),
        arms(other="other = loss"),
        arms(other="pass"),
        arms(other="best = save(loss)"),
        arms().replace(
            "        torch_xla", "        elif x:\n            best = x\n        torch_xla"
        ),
        arms().replace("if loss", "if x:\n            best = x\n        elif loss"),
        arms().replace("if loss", "while loss"),
        "for x in data:\n    y = a if x > 0 else b  #!\n",
        "for x in data:\n    assert x > 0  #!\n",
    ],
)
def test_refused(text: str) -> None:
    assert refusal(KIND, text)


def test_refused_for_other_frameworks() -> None:
    assert refusal(KIND, arms(), frontend="torch")
