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
        self,
        name: str,
        at: float,
        lasted: float,
        category: str = "cpu_op",
        thread: int = HOST,
        process: int = HOST,
        **args: Any,
    ) -> Trace:
        values = ", ".join(
            f'"{key.replace("_", " ")}": {json.dumps(value)}' for key, value in args.items()
        )
        self.events.append(
            _EVENT.format(
                category=category,
                name=name,
                process=process,
                thread=thread,
                at=f"{at:.3f}",
                lasted=f"{lasted:.3f}",
                args=values,
            )
        )
        return self

    def label(self, name: str, at: float, lasted: float) -> Trace:
        return self.event(name, at, lasted, "user_annotation")

    def step(self, number: int, at: float, lasted: float) -> Trace:
        return self.label(f"ProfilerStep#{number}", at, lasted)

    def call(self, name: str, at: float, lasted: float = 5, thread: int = HOST) -> Trace:
        """A call of the runtime that leads to no work."""
        return self.event(name, at, lasted, "cuda_runtime", thread)

    def launch(
        self,
        kernel: str,
        at: float,
        begin: float,
        lasted: float,
        stream: int = 7,
        thread: int = HOST,
        by: str = "cudaLaunchKernel",
        category: str = "kernel",
        takes: float = 5,
        **args: Any,
    ) -> Trace:
        """A kernel that the host launches at one instant and that begins at another."""
        self.correlation += 1
        joined = {"correlation": self.correlation, **args}
        self.event(by, at, takes, "cuda_runtime", thread, cbid=211, correlation=self.correlation)
        self.event(
            kernel,
            begin,
            lasted,
            category,
            stream,
            self.device,
            device=self.device,
            stream=stream,
            **joined,
        )
        for phase, process, row, when in (
            ("s", HOST, thread, at),
            ("f", self.device, stream, begin),
        ):
            self.events.append(_FLOW % (phase, self.correlation, process, row, when))
        return self

    def copy(self, kind: str, at: float, begin: float, lasted: float, takes: float = 5) -> Trace:
        """A copy, such as ``DtoH (Device -> Pageable)``."""
        return self.launch(
            f"Memcpy {kind}",
            at,
            begin,
            lasted,
            by="cudaMemcpyAsync",
            category="gpu_memcpy",
            takes=takes,
            bytes=4,
        )

    def named(self, what: str, name: str, thread: int, process: int = HOST) -> Trace:
        self.events.append(
            f'  {{\n    "name": "{what}", "ph": "M", "ts": 0.000, "pid": {process},'
            f' "tid": {thread},\n    "args": {{\n      "name": "{name}"\n    }}\n  }}'
        )
        return self

    def text(self) -> str:
        named = [*self.events]
        self.named("process_name", "python", 0).named("thread_name", "thread 4242 (python)", HOST)
        self.events.append(
            '  {\n    "name": "Record Window End", "ph": "i", "s": "g", "pid": "",'
            ' "tid": "", "ts": 99.0\n  }'
        )
        events, self.events = self.events, named
        return (
            _HEAD.format(facts=self.facts)
            + '  "traceEvents": [\n'
            + ",\n".join(events)
            + '\n  ],\n  "traceName": "trace.json"\n}\n'
        )

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


def launch_bound(steps: int = 8) -> Trace:
    """An eager loop on a GPU: 300 kernels of 6 µs a step, 20 µs apart; it reads its loss."""
    trace = Trace()
    for number in range(steps):
        at = number * 10_000.0
        trace.step(number, at, 9_990)
        trace.label("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", at + 5, 300)
        trace.event("train.py(21): train", at, 9_990, "python_function")
        trace.copy("HtoD (Pinned -> Device)", at + 320, at + 330, 40)
        for kernel in range(300):
            begin = at + 400 + 26 * kernel
            trace.event("aten::mul" if kernel % 2 else "aten::mm", begin - 4, 20)
            name = (
                "vectorized_elementwise_kernel" if kernel % 2 else "ampere_sgemm_32x32_sliced1x4_tn"
            )
            trace.launch(name, begin, begin + 6, 6)
        end = at + 8_400
        trace.label("Optimizer.step#SGD.step", end, 400)
        trace.event("aten::_foreach_add_", end + 10, 200)
        trace.launch("multi_tensor_apply_kernel", end + 20, end + 60, 200)
        trace.event("aten::item", end + 500, 300).event("aten::_local_scalar_dense", end + 502, 296)
        trace.copy("DtoH (Device -> Pageable)", end + 510, end + 760, 2, takes=260)
        trace.call("cudaStreamSynchronize", end + 775, 20)
    return trace
