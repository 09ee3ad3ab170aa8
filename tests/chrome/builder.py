"""Writes Chrome traces as Kineto does (``output_json.cpp``), names not escaped as in torch 2.9."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HOST, BACKWARD = 4242, 4243
BASE_NS = 1_790_857_026_000_000_000
_HEAD = '\n  {{\n    "schemaVersion": 1,\n    "deviceProperties": [],\n{facts}'
_EVENT = (
    '  {{\n    "ph": "X", "cat": "{category}", "name": "{name}", "pid": {process},'
    ' "tid": {thread},\n'
    '    "ts": {at}, "dur": {lasted},\n    "args": {{\n      {args}\n    }}\n  }}'
)


_FLOW = (
    '  {\n    "ph": "%s", "id": %d, "pid": %d, "tid": %d, "ts": %.3f,\n'
    '    "cat": "ac2g", "name": "ac2g"\n  }'
)


@dataclass
class Trace:
    """A program's trace; times in microseconds. Host and device run on the same clock."""

    device: int = 0
    facts: str = f'  "displayTimeUnit": "ms",\n  "baseTimeNanoseconds": {BASE_NS},\n'
    events: list[str] = field(default_factory=list)
    correlation: int = 100

    def event(
        self, name: str, at: float, lasted: float, category: str = "cpu_op",
        thread: int = HOST, process: int = HOST, **args: Any,
    ) -> Trace:  # fmt: skip
        values = ", ".join(f'"{key.replace("_", " ")}": {json.dumps(value)}'
                           for key, value in args.items())  # fmt: skip
        self.events.append(_EVENT.format(
            category=category, name=name, process=process, thread=thread, at=f"{at:.3f}",
            lasted=f"{lasted:.3f}", args=values,
        ))  # fmt: skip
        return self

    def label(self, name: str, at: float, lasted: float) -> Trace:
        return self.event(name, at, lasted, "user_annotation")

    def step(self, number: int, at: float, lasted: float) -> Trace:
        return self.label(f"ProfilerStep#{number}", at, lasted)

    def call(self, name: str, at: float, lasted: float = 5, thread: int = HOST) -> Trace:
        """A call of the runtime that leads to no work."""
        return self.event(name, at, lasted, "cuda_runtime", thread)

    def launch(
        self, kernel: str, at: float, begin: float, lasted: float, stream: int = 7,
        thread: int = HOST, by: str = "cudaLaunchKernel", category: str = "kernel",
        takes: float = 5, **args: Any,
    ) -> Trace:  # fmt: skip
        """A kernel that the host launches at one instant and that begins at another."""
        self.correlation += 1
        joined = {"correlation": self.correlation, **args}
        self.event(by, at, takes, "cuda_runtime", thread, cbid=211, correlation=self.correlation)
        self.event(kernel, begin, lasted, category, stream, self.device, device=self.device,
                   stream=stream, **joined)  # fmt: skip
        for phase, process, row, when in (("s", HOST, thread, at),
                                          ("f", self.device, stream, begin)):  # fmt: skip
            self.events.append(_FLOW % (phase, self.correlation, process, row, when))
        return self

    def copy(self, kind: str, at: float, begin: float, lasted: float, takes: float = 5) -> Trace:
        """A copy, such as ``DtoH (Device -> Pageable)``."""
        return self.launch(f"Memcpy {kind}", at, begin, lasted, by="cudaMemcpyAsync",
                           category="gpu_memcpy", takes=takes, bytes=4)  # fmt: skip

    def named(self, what: str, name: str, thread: int, process: int = HOST) -> Trace:
        self.events.append(
            f'  {{\n    "name": "{what}", "ph": "M", "ts": 0.000, "pid": {process},'
            f' "tid": {thread},\n    "args": {{\n      "name": "{name}"\n    }}\n  }}'
        )
        return self

    def text(self) -> str:
        named = [*self.events]
        self.named("process_name", "python", 0).named("thread_name", "thread 4242 (python)", HOST)
        self.events.append('  {\n    "name": "Record Window End", "ph": "i", "s": "g", "pid": "",'
                           ' "tid": "", "ts": 99.0\n  }')  # fmt: skip
        events, self.events = self.events, named
        return (_HEAD.format(facts=self.facts) + '  "traceEvents": [\n' + ",\n".join(events)
                + '\n  ],\n  "traceName": "trace.json"\n}\n')  # fmt: skip

    def write(self, path: Path) -> Path:
        path.write_text(self.text(), encoding="utf-8")
        return path


def training(steps: int = 5, kernels: int = 20, step_us: float = 10_000) -> Trace:
    """Steps whose device is busy from the first kernel to the last, and nothing is awaited."""
    trace = Trace()
    each = step_us / kernels
    for number in range(steps):
        at = number * step_us
        trace.step(number, at, step_us).event("aten::linear", at + 10, step_us / 2)
        for kernel in range(kernels):
            trace.launch("gemm", at + 20 + 20 * kernel, at + 30 + each * kernel, each)
    return trace
