from __future__ import annotations

import pytest

from tests.fixes.harness import expected, fixed, refusal

KIND = "optimizer_barrier"
HEAD = "import torch_xla.core.xla_model as xm\n"


@pytest.mark.parametrize(
    ("call", "after"),
    [
        ("xm.optimizer_step(optimizer)", "xm.optimizer_step(optimizer, barrier=True)"),
        ("norm = xm.optimizer_step(self.o)", "norm = xm.optimizer_step(self.o, barrier=True)"),
        (
            "xm.optimizer_step(optimizer, pin_layout=False)",
            "xm.optimizer_step(optimizer, pin_layout=False, barrier=True)",
        ),
        ("xm.optimizer_step(optimizer,)", "xm.optimizer_step(optimizer, barrier=True,)"),
        ("xm.optimizer_step((optimizer))", "xm.optimizer_step((optimizer), barrier=True)"),
    ],
)
def test_the_argument_is_added(call: str, after: str) -> None:
    assert (
        fixed(KIND, f"{HEAD}for x in data:\n    {call}  #!")
        == f"{HEAD}for x in data:\n    {after}\n"
    )


def test_below_arguments_with_lines_of_their_own() -> None:
    assert fixed(
        KIND,
        """
        from torch_xla.core.xla_model import optimizer_step as update
        for x in data:
            update(  #!
                optimizer,
                pin_layout=False,  # for speed
            )
        """,
    ) == expected(
        """
        from torch_xla.core.xla_model import optimizer_step as update
        for x in data:
            update(
                optimizer,
                pin_layout=False,
                barrier=True,  # for speed
            )
        """
    )


@pytest.mark.parametrize(
    "body",
    [
        "xm.optimizer_step(optimizer, barrier=True)  #!",
        "xm.optimizer_step(optimizer, True)  #!",
        "xm.optimizer_step(optimizer, barrier=last)  #!",
        "xm.optimizer_step(optimizer, barrier=False)  #!",
        "xm.optimizer_step(optimizer, False)  #!",
        "xm.optimizer_step(*given)  #!",
        "xm.optimizer_step(optimizer, **given)  #!",
        "optimizer.step()  #!",
        "self.xm.optimizer_step(optimizer)  #!",
        "other.optimizer_step(optimizer)  #!",
        "optimizer_step(optimizer)  #!",
        "xm.optimizer_step(a); xm.optimizer_step(b)  #!",
        "a = xm.optimizer_step(a), xm.optimizer_step(b)  #!",
        "xm.optimizer_step(a)  #!\n    xm.optimizer_step(b)",
        "if x: xm.optimizer_step(a)  #!\n    else: xm.optimizer_step(b)",
        "step = xm.optimizer_step  #!",
        "step = partial(xm.optimizer_step, optimizer)  #!",
        "step = lambda: xm.optimizer_step(optimizer)  #!",
        "def step(): return xm.optimizer_step(optimizer)  #!",
        "[xm.optimizer_step(each) for each in optimizers]  #!",
        "while xm.optimizer_step(optimizer):  #!\n        pass",
    ],
)
def test_refused(body: str) -> None:
    assert refusal(KIND, f"{HEAD}for x in data:\n    {body}")


def test_a_loader_that_ends_each_step_is_refused() -> None:
    head = f"{HEAD}from torch_xla.distributed.parallel_loader import MpDeviceLoader\n"
    text = f"{head}for x in MpDeviceLoader(data, device):\n    xm.optimizer_step(optimizer)  #!"
    assert "loader" in refusal(KIND, text)
