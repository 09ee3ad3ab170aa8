from __future__ import annotations

import pytest

from tests.fixes.harness import fixed, refusal

KIND = "attribute_as_tensor"


def module(body: str, init: str = "self.n = 0", after: str = "") -> str:
    return f"""import torch

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        {init}

    def forward(self, x):
        {body}  #!

{after}
"""


def test_a_counter_becomes_a_buffer_of_whole_numbers() -> None:
    assert fixed(
        KIND, module("self.n += 1\n        return x / self.n"), "torch", argument="self.n"
    ) == (
        module(
            "self.n = self.n + 1\n        return x / self.n",
            'self.register_buffer("n", torch.tensor(0), persistent=False)',
        )
        .replace("  #!", "")
        .rstrip("\n")
        + "\n"
    )


@pytest.mark.parametrize(
    ("body", "after"),
    [
        ("self.n -= 2\n        return x", "self.n = self.n - 2"),
        ("self.n *= x.a if x else 3\n        return x", "self.n = self.n * (x.a if x else 3)"),
        ("self.n = self.n + 1\n        return x", "self.n = self.n + 1"),
        ("return torch.softmax(x / self.n, dim=1)", "return torch.softmax(x / self.n, dim=1)"),
        ("y = 2 * self.n + x\n        return y", "y = 2 * self.n + x"),
    ],
)
def test_uses_in_the_module(body: str, after: str) -> None:
    assert after in fixed(KIND, module(body), "torch", argument="self.n")


@pytest.mark.parametrize(
    ("init", "first"),
    [("self.n = 1", "torch.tensor(1.0)"), ("self.n = 0.5", "torch.tensor(0.5)")],
)
def test_a_number_that_is_assigned_outside_is_filled_in(init: str, first: str) -> None:
    text = module(
        "return x / self.n", init, "model = Model().to(d).eval()\nfor s in t:\n    model.n = 1 / s"
    )
    after = fixed(KIND, text, "torch", argument="self.n")
    assert "    model.n.fill_(1 / s)" in after
    assert first in after


REFUSED = [
    "if self.n > 3:\n            x = -x\n        return x",
    "return x if self.n else -x",
    "return x[: self.n]",
    "return x.reshape(self.n * 2, -1)",
    "return torch.zeros(self.n * 2) + x",
    "return torch.full(x.shape, self.n)",
    "return x * (self.n % 2)",
    "return x ** self.n",
    "return x.pow(self.n)",
    "return min(1.0, self.n / 8) * x",
    "print(self.n)\n        return x",
    "return x * len(range(self.n))",
    "for _ in range(self.n):\n            x = 2 * x\n        return x",
    "self.n //= 2\n        return x * self.n",
    "self.n = 3\n        return x * self.n",
    "self.n, y = 1, 2\n        return x * self.n",
    "self.n = y = 1\n        return x * self.n",
    "self.n = min(self.n, 3)\n        return x * self.n",
    "return x * getattr(self, 'n')",
    "return x * f'{self.n}'",
    "return x * torch.sin(x, out=self.n * 2)",
    "del self.n\n        return x",
    "with self.n:\n            return x",
    "return x * -self.n",
    "return x * self.n.real",
    "assert self.n\n        return x",
]


@pytest.mark.parametrize("body", REFUSED)
def test_refused(body: str) -> None:
    assert refusal(KIND, module(body), "torch", argument="self.n")


@pytest.mark.parametrize(
    ("init", "after"),
    [
        ("self.n = n", ""),
        ("self.n = None", ""),
        ("self.n = self.m = 0", ""),
        ("self.n = 0\n        self.n = 1", ""),
        ("if x:\n            self.n = 0", ""),
        ("pass", ""),
        ("self.n = 0", "class Other:\n    def f(self):\n        self.n = 3"),
        ("self.n = 0", "other = Other()\nother.n = 3"),
        ("self.n = 0", "def f(model):\n    model.n = 3"),
        ("self.n = 0", "model = Model()\nmodel.n += 1"),
        ("self.n = 0", "model = Model()\nprint(model.n)"),
        ("self.n = 0", "model = Model()\nsetattr(model, 'n', 3)"),
    ],
)
def test_other_beginnings_and_uses_outside_are_refused(init: str, after: str) -> None:
    assert refusal(KIND, module("return x / self.n", init, after), "torch", argument="self.n")


@pytest.mark.parametrize("argument", ["x", "self.layer.n", "n", None, "self.n[0]", "G['n']"])
def test_other_arguments_are_refused(argument: str | None) -> None:
    assert refusal(KIND, module("return x / self.n"), "torch", argument=argument)


def test_before_the_module_is_made_it_has_no_buffers() -> None:
    text = module("return x / self.n").replace("super().__init__()\n        ", "")
    assert refusal(KIND, text, "torch", argument="self.n")
    assert refusal(KIND, module("return x / self.n"), "jax", argument="self.n")
