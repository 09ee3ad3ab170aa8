"""TorchTPU programs of three kinds, which time ten of their steps at a time, as these end with a
wait; `capture_overhead --frontend torch_tpu` runs them in pairs.

    python -m benchmarks.torch_tpu_programs KIND STEPS
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

import torch

from benchmarks import timed_loop

_TOGETHER = 10  # steps that are timed as one: the runtime may be so far behind the host


def eager(steps: int) -> Iterator[torch.Tensor]:
    """A small network with SGD: some sixty operators a step, launched one by one."""
    yield from _trained(steps, 16, 64, lambda function: function)


def compiled(steps: int) -> Iterator[torch.Tensor]:
    """The loss and its gradient as one compiled function, the optimizer's operators one by one."""
    yield from _trained(steps, 1024, 64, torch.compile)


def inference(steps: int) -> Iterator[torch.Tensor]:
    """Steps of about one millisecond, one compiled function each."""
    network = _network(128).to("tpu")
    inputs = torch.randn(1024, 128).to("tpu")
    function = torch.compile(lambda batch: network(batch).square().mean())
    with torch.no_grad():
        for _ in range(steps):
            for _ in range(_TOGETHER):
                loss = function(inputs)
            torch.accelerator.synchronize()
            yield loss


def _network(width: int) -> torch.nn.Sequential:
    torch.manual_seed(0)
    layers: list[torch.nn.Module] = []
    for _ in range(4):
        layers += [torch.nn.Linear(width, width), torch.nn.GELU()]
    return torch.nn.Sequential(*layers, torch.nn.Linear(width, 1))


def _trained(
    steps: int, batch: int, width: int, compiler: Callable[[Any], Any]
) -> Iterator[torch.Tensor]:
    network = _network(width).to("tpu")
    optimizer = torch.optim.SGD(network.parameters(), lr=1e-3)
    inputs = torch.randn(batch, width).to("tpu")
    function = compiler(lambda batch: network(batch).square().mean())
    for _ in range(steps):
        for _ in range(_TOGETHER):
            loss = function(inputs)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        torch.accelerator.synchronize()
        yield loss


KINDS: dict[str, Callable[[int], Iterator[torch.Tensor]]] = {
    kind.__name__: kind for kind in (eager, compiled, inference)
}


def _last(loss: Any) -> dict[str, Any]:
    return {"same": {"loss": float(loss), "compiled": torch.tpu._get_cache_misses()}, "graph": ""}


def main(kind: str, steps: int) -> None:
    """Run the loop and print what it took."""
    os.setpgid(0, 0)
    torch.compiler.config.force_disable_caches = True  # the first program would fill them
    torch.zeros(1).to("tpu")
    timed_loop.run(timed_loop.start(), KINDS[kind](steps), _last)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
