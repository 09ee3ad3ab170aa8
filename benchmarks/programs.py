"""Programs of five kinds, which time their own steps; `capture_overhead` runs them in pairs.

    python -m benchmarks.programs KIND STEPS

Each kind is a loop that yields its loss while the step's graph is still pending, and synchronizes
when it goes on: from one yield to the next is a step. A line on standard input is waited for before
the loop (after `ready` was printed) and after it (`done`), so that both can be timed apart from
start and end of the process. The last line printed is JSON; instants are wall-clock nanoseconds.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch_xla
from torch import nn
from torch.utils.data import DataLoader
from torch_xla.distributed.parallel_loader import MpDeviceLoader

from benchmarks import timed_loop

Losses = Iterator[torch.Tensor]


def tiny(steps: int, device: torch.device) -> Losses:
    """Steps of less than a millisecond: what the capture adds to each of them shows most."""
    yield from _trained(nn.Linear(64, 1).to(device), 32, steps, device)


def large(steps: int, device: torch.device) -> Losses:
    """Steps of 10 to 30 ms on two cores, nearly all of it on the device."""
    layers = (nn.Linear(64, 640), nn.ReLU(), nn.Linear(640, 640), nn.ReLU(), nn.Linear(640, 1))
    yield from _trained(nn.Sequential(*layers).to(device), 256, steps, device)


def reading(steps: int, device: torch.device) -> Losses:
    """Small steps, the loss of each read with `.item()`."""
    for loss in _trained(nn.Linear(64, 1).to(device), 32, steps, device):
        yield loss
        torch_xla.sync()
        loss.item()


def graph(steps: int, device: torch.device) -> Losses:
    """A graph of 5,000 operations, with hardly any work in each: all the time is Python's."""
    tensors = [torch.ones(4, 16, device=device) for _ in range(100)]  # one chain compiles minutes
    for _ in range(steps):
        for tensor in tensors:
            for _ in range(25):
                tensor.mul_(0.99).add_(0.02)
        yield tensors[0].mean()
        torch_xla.sync()


def loader(steps: int, device: torch.device) -> Losses:
    """Batches from two worker processes, sent ahead by `MpDeviceLoader`, which sets barriers."""
    model = nn.Sequential(nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, 1)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    batches = DataLoader(_Rows(32 * steps), batch_size=32, num_workers=2)
    for inputs in MpDeviceLoader(batches, device):
        yield _updated(model, optimizer, inputs)


class _Rows:
    """Rows that depend on their number alone, so that the order of the workers does not matter."""

    def __init__(self, count: int) -> None:
        self._count = count

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, number: int) -> torch.Tensor:
        return torch.linspace(0.0, 1.0 + number % 7, 512).sin()


def _trained(model: nn.Module, batch: int, steps: int, device: torch.device) -> Losses:
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    for _ in range(steps):
        yield _updated(model, optimizer, torch.randn(batch, 64).to(device))
        torch_xla.sync()


def _updated(model: nn.Module, optimizer: torch.optim.Optimizer, inputs: Any) -> torch.Tensor:
    optimizer.zero_grad()
    loss: torch.Tensor = (model(inputs) ** 2).mean()
    loss.backward()
    optimizer.step()
    return loss


def _with_hash(losses: Losses, steps: int) -> Iterator[tuple[torch.Tensor, str]]:
    """Each loss; with the last the hash of its graph, which is still pending."""
    for number, loss in enumerate(losses, 1):
        yield loss, torch_xla._XLAC._get_graph_hash([loss]).hex() if number == steps else ""


def _last(loss: tuple[torch.Tensor, str]) -> dict[str, Any]:
    value = loss[0].item()
    counters = {
        name: torch_xla._XLAC._xla_counter_value(name)
        for name in ("UncachedCompile", "CachedCompile")
    }
    return {"same": {"loss": value, **counters}, "graph": loss[1]}


KINDS: dict[str, Callable[[int, torch.device], Losses]] = {
    kind.__name__: kind for kind in (tiny, large, reading, graph, loader)
}


def main(kind: str, steps: int) -> None:
    """Run the loop and print what it took."""
    os.setpgid(0, 0)  # so that it can be stopped with the loader's workers, and nothing else
    torch.manual_seed(0)
    device = torch_xla.device()
    ready_ns = timed_loop.start()
    timed_loop.run(ready_ns, _with_hash(KINDS[kind](steps, device), steps), _last)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
