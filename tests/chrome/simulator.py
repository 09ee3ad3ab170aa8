"""A host that launches on one stream, simulated: the trace of a loop, and how long a step takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.chrome.builder import Trace

#: What the host does, and figures of it; see :class:`Machine`.
Act = tuple[Any, ...]
LATENCY = 4.0  # µs from the launch to the kernel's begin on an idle device
LAUNCH, COPY = 5.0, 2.0  # µs that a launch takes the host, and a scalar the copy engine
RETURN = 8.0  # µs from the end of a copy to the host's going on


@dataclass
class Machine:
    """Runs acts in order; times in microseconds.

    Acts: ``("python", µs)``, ``("op", host µs, kernel µs)``, ``("item",)``; ``("copy",)`` to the
    host, or ``("copy", False)``, which does not wait; ``("input", µs)``, or ``("ahead", µs)`` where
    a worker makes batches; ``("graph", kernel µs, …)`` of kernels that one launch runs.
    """

    trace: Trace = field(default_factory=Trace)
    now: float = 0.0
    free: float = 0.0
    made: float = 0.0

    def run(self, acts: Sequence[Act], steps: int) -> float:
        """Run so many steps. Returns how long one takes once the loop has settled."""
        ends = []
        for number in range(steps):
            begin = self.now
            for what, *figures in acts:
                getattr(self, f"_{what}")(*figures)
            self.trace.step(number, begin, self.now - begin)
            ends.append(max(self.now, self.free))
        half = steps // 2
        return (ends[-1] - ends[half - 1]) / (steps - half)

    def _python(self, lasts: float) -> None:
        self.now += lasts

    def _input(self, lasts: float) -> None:
        self.trace.label(
            "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", self.now, lasts
        )
        self.now += lasts

    def _ahead(self, lasts: float) -> None:
        self.made = max(self.made + lasts, self.now)
        self._input(self.made - self.now)

    def _op(self, host: float, kernel: float) -> None:
        self.trace.event("aten::mm", self.now, host)
        self._launch(self.now + host - LAUNCH - 1, kernel)
        self.now += host

    def _launch(self, at: float, kernel: float) -> None:
        begin = max(at + LAUNCH + LATENCY, self.free)
        self.trace.launch("gemm", at, begin, kernel, takes=LAUNCH)
        self.free = begin + kernel

    def _graph(self, *kernels: float) -> None:
        at, self.now = self.now, self.now + 10
        begin = max(self.now + LATENCY, self.free)
        for kernel in kernels:
            self.trace.launch("gemm", at, begin, kernel, by="cudaGraphLaunch", takes=10)
            begin += kernel
        self.free = begin

    def _item(self) -> None:
        self.trace.event("aten::item", self.now, self._copied(self.now + 2) + 4 - self.now)
        self._copy()

    def _copy(self, waits: bool = True) -> None:
        begin = max(self.now + LAUNCH + LATENCY, self.free)
        end = self._copied(self.now) if waits else self.now + 2 + LAUNCH
        self.trace.event("aten::copy_", self.now, end + 4 - self.now)
        kind = "Pageable" if waits else "Pinned"
        self.trace.copy(f"DtoH (Device -> {kind})", self.now + 1, begin, COPY, end - self.now - 1)
        if waits:
            self.trace.call("cudaStreamSynchronize", end, 3)
        self.free, self.now = begin + COPY, end + 4

    def _copied(self, asked: float) -> float:
        """When a copy to the host that waits has come back."""
        return max(asked + LAUNCH + LATENCY, self.free) + COPY + RETURN
