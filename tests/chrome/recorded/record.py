"""Records what PyTorch's guide "Profiling to understand torch.compile performance" looks at.

python record.py    # writes NAME-RELEASE.json.gz beside itself, on the CPU
"""

from __future__ import annotations

import gzip
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.profiler import profile, record_function

WIDTH, STEPS = 64, 3


def block() -> nn.Sequential:
    return nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH), nn.ReLU())


class Whole(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.Sequential(block(), block())

    def forward(self, x: torch.Tensor) -> Any:
        return self.blocks(x)


class Broken(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.third, self.last = block(), block(), block(), block()

    def forward(self, x: torch.Tensor) -> Any:
        x = self.first(x)
        torch._dynamo.graph_break()
        x = self.second(x)
        torch._dynamo.graph_break()
        x = self.third(x)
        torch._dynamo.graph_break()
        return self.last(x)


class BrokenInALoop(nn.Module):
    """Nothing of it is compiled but its layers, one by one."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Whole() for _ in range(4))

    def forward(self, x: torch.Tensor) -> Any:
        for layer in self.layers:
            x = layer(x)
            torch._dynamo.graph_break()
        return x


class Modal(nn.Module):
    """Compiled once for each mode."""

    mode = 0

    def __init__(self) -> None:
        super().__init__()
        self.block = block()

    def forward(self, x: torch.Tensor) -> Any:
        return self.block(x) * (self.mode + 1)


def trained(model: Callable[[torch.Tensor], torch.Tensor]) -> Callable[[], None]:
    """A step without an update."""
    inputs = torch.randn(32, WIDTH)
    return lambda: model(inputs).sum().backward()


def in_modes(model: Modal) -> Callable[[], None]:
    step = trained(torch.compile(model))

    def all_modes() -> None:
        for model.mode in range(3):
            step()

    return all_modes


def warmed_up(step: Callable[[], None], **options: bool) -> profile:
    """A few steps after one that is not recorded."""
    step()
    with profile(**options) as recorded:
        for _ in range(STEPS):
            step()
            recorded.step()
    return recorded


def one_by_one() -> Callable[[], None]:
    """Functions that are compiled each by itself."""
    first, second = torch.compile(Whole()), torch.compile(block())
    return trained(lambda x: second(first(x)))


def first_call() -> profile:
    """Compiling, after another function was compiled."""
    step = trained(torch.compile(Whole()))
    with profile() as recorded:
        with record_function("another function"):
            torch.compile(torch.sin)(torch.ones(2))
        with record_function("the model"):
            step()
    return recorded


def small_operators() -> Callable[[], None]:
    """Nothing compiled, and little to compute."""
    return trained(nn.Sequential(*(nn.LayerNorm(WIDTH) for _ in range(20))))


def main() -> None:
    torch.set_num_threads(1)
    examples: dict[str, Callable[[], profile]] = {
        "whole": lambda: warmed_up(trained(torch.compile(Whole()))),
        "broken": lambda: warmed_up(trained(torch.compile(Broken()))),
        "broken-in-a-loop": lambda: warmed_up(trained(torch.compile(BrokenInALoop()))),
        "broken-with-stacks": lambda: warmed_up(trained(torch.compile(Broken())), with_stack=True),
        "modes": lambda: warmed_up(in_modes(Modal())),
        "one-by-one": lambda: warmed_up(one_by_one()),
        "first-call": first_call,
        "small-operators": lambda: warmed_up(small_operators()),
    }
    release = ".".join(torch.__version__.split(".")[:2])
    with tempfile.TemporaryDirectory() as folder:
        for name, record in examples.items():
            torch._dynamo.reset()  # numbers its functions from 0 on
            path = Path(folder, "trace.json")
            record().export_chrome_trace(str(path))
            packed = Path(__file__).with_name(f"{name}-{release}.json.gz")
            packed.write_bytes(gzip.compress(path.read_bytes(), mtime=0))


if __name__ == "__main__":
    main()
