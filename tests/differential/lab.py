"""What generated programs import: models, data, metrics and helpers with effects."""

from __future__ import annotations

import queue
import sys
from collections.abc import Iterator
from functools import cache
from types import ModuleType
from typing import Any


class Meter:
    """Keeps all that it is told, and returns their mean."""

    def __init__(self) -> None:
        self.values: list[Any] = []

    def update(self, value: Any) -> float:
        """Adds a value."""
        self.values.append(value)
        return float(sum(map(float, self.values)) / len(self.values))


class Bar:
    """A progress bar that shows each value at once."""

    def __init__(self, data: Any) -> None:
        self._data = data

    def __iter__(self) -> Iterator[Any]:
        return iter(self._data)

    def set_postfix(self, **shown: Any) -> None:
        """Show values as they are now."""
        sys.stdout.write(f"bar {shown}\n")


class Count:
    """A property and a call that count how often they are used."""

    def __init__(self) -> None:
        self.number = 0

    def __call__(self) -> int:
        self.number += 1
        return self.number

    @property
    def following(self) -> int:
        """Another number at each look."""
        return self()


def names() -> queue.Queue[str]:
    """A queue of names, more than a loop takes."""
    filled: queue.Queue[str] = queue.Queue()
    for number in range(99):
        filled.put(f"name {number}")
    return filled


def torch_lab(count: int) -> ModuleType:
    """Module ``lab`` of a program of PyTorch, with so many batches."""
    import torch

    lab = _lab()

    def make(device: Any) -> tuple[Any, Any, list[Any]]:
        model = torch.nn.Linear(4, 1).to(device)
        batches = [torch.randn(4, 4).to(device) for _ in range(count)]
        return model, torch.optim.SGD(model.parameters(), lr=0.1), batches

    def weights(model: Any) -> list[Any]:
        return [each.detach().clone() for each in model.parameters()]

    vars(lab).update(make=make, weights=weights)
    return lab


def jax_lab(count: int) -> ModuleType:
    """The same for a program of JAX, which trains weights by ``step_of``."""
    import jax.numpy as jnp
    import numpy as np

    lab = _lab()

    def make() -> tuple[Any, list[Any]]:
        draw = np.random.default_rng(0)
        batches = [*draw.normal(size=(count, 4, 4)).astype(np.float32)]
        return jnp.ones(4), batches

    vars(lab).update(make=make, step_of=_step())
    return lab


@cache
def _step() -> Any:
    import jax

    def loss_of(w: Any, x: Any) -> Any:
        return ((x @ w - 1) ** 2).mean()

    def step(w: Any, x: Any) -> tuple[Any, Any]:
        loss, gradient = jax.value_and_grad(loss_of)(w, x)
        return w - 0.1 * gradient, loss

    return jax.jit(step)


def _lab() -> ModuleType:
    lab = ModuleType("lab")
    vars(lab).update(Meter=Meter, Bar=Bar, Count=Count, names=names)
    return lab
