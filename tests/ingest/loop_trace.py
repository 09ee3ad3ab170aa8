"""A loop's trace as torch_xla writes it, and what is read of it: segments, executions, calls."""

from __future__ import annotations

from typing import Any

from tests.xspace import builder
from xladoctor.evidence.database import Database

FILE = builder.Ref("/home/ada/train.py")
LINE: dict[str, Any] = {"file": FILE, "line": 35}
#: activity, region, begin and end in microseconds, launches, awaits
Segment = tuple[str, str | None, float, float, int | None, int | None]


class Trace:
    """A trace as torch_xla writes it on the CPU client; times in microseconds from 0.

    A loop whose steps are 1000 apart: far more than what the runtime may be late.
    """

    def __init__(self) -> None:
        self.space = builder.Space()
        self.python = self.thread("python").event("interpreter", 0)
        self.runtime = self.thread("tf_pytorchxla/1")
        self.client = self.thread("tf_XLAPjRtCpuClient/2")

    def thread(self, name: str) -> builder.Line:
        return self.space.plane("/host:CPU").line(name)

    def graph(self, at: float, line: builder.Line | None = None) -> Trace:
        """A graph of 20: it waits from 5 to 7, is handed over at 15, and taken up at 16."""
        line = line or self.python
        line.event("SyncTensorsGraphInternal", at, 20)
        line.event("ScheduleSyncTensorsGraph", at + 5, 10)
        line.event("TensorCollectionBarrier", at + 5, 2)
        self.runtime.event("PjRtComputationClient::ExecuteComputation", at + 16, 3)
        return self

    def barrier(self, at: float, line: builder.Line | None = None) -> Trace:
        """A barrier of 30, whose graph comes 4 after it."""
        (line or self.python).event("StepMarker", at, 30).event("SyncTensorsGraph", at + 2, 26)
        return self.graph(at + 4, line)

    def call(self, kind: str, begin: float, end: float) -> Trace:
        self.python.event(f"xladoctor.{kind}", begin, end - begin, **LINE)
        return self

    def transfer(self, way: str, begin: float, end: float) -> Trace:
        self.python.event(f"PjRtComputationClient::Transfer{way}Device", begin, end - begin)
        return self

    def run(self, begin: float, end: float) -> Trace:
        """The device is busy."""
        self.client.event("ThunkExecutor::Execute", begin, end - begin)
        return self


def loop(steps: int = 3) -> Trace:
    """Barriers at 100, 1100, …, whose graphs run from 50 to 550 after them."""
    trace = Trace()
    for at in range(100, 1000 * steps, 1000):
        trace.barrier(at).run(at + 50, at + 550)
    return trace


def segments(database: Database, condition: str = "true") -> list[Segment]:
    return database.table(
        "SELECT activity, region, begin_ns / 1e3, (begin_ns + duration_ns) / 1e3, launches, awaits"
        f" FROM host_segment WHERE {condition} ORDER BY segment"
    )[1]


def executions(database: Database, origin: int = 0) -> list[tuple[float, float, float]]:
    """When each was launched, began and ended, in microseconds."""
    times = ", ".join(f"({column}_ns - {origin}) / 1e3" for column in ("launched", "begin", "end"))
    return database.table(f"SELECT {times} FROM device_execution ORDER BY execution")[1]


def calls(database: Database) -> list[tuple[str, float, float]]:
    """The region of each call, its begin and its end."""
    return database.table(
        "SELECT any_value(region), min(begin_ns) / 1e3, max(begin_ns + duration_ns) / 1e3"
        " FROM host_segment WHERE call IS NOT NULL GROUP BY call ORDER BY 2"
    )[1]
