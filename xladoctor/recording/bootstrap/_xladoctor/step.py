"""What a thread of the program does from one barrier to the next."""

from __future__ import annotations

from threading import current_thread, get_ident, get_native_id, main_thread
from typing import Any

from . import clock
from .outlier import StepTimes

#: What is logged as it is, unless it is zero or false.
_NUMBERS = (
    "steps",
    "barrier_ns",
    "compile_ns",
    "capture_ns",
    "executions",
    "compilations",
    "launches",
    "log",
    "traced",
    "probed",
    "input",
)


class Step:
    """What one thread did from one barrier to the next, or a part of that; what is zero or nothing
    is not set.

    It becomes a line of the log only when it is written, on another thread: made in the loop,
    whose code and data have filled the caches meanwhile, that takes three times as long.
    """

    index = end_ns = duration_ns = steps = barrier_ns = compile_ns = capture_ns = 0
    executions = compilations = log = launches = 0
    traced = probed = False
    event = "step"
    reads: dict[tuple[int | None, str, bool], list[int]] | None = None
    input: list[int] | None = None
    uploads: dict[int | None, list[int]] | None = None
    saves: dict[int | None, list[int]] | None = None
    optimizers: dict[int, int] | None = None
    grown: dict[str, Any] | None = None  # the framework's counters
    site: int | None = None

    def __init__(self, thread: ThreadState, begin: int) -> None:
        self.thread = thread
        self.begin = begin

    def end(self, end: int) -> None:
        """It is over; nothing changes any more."""
        self.end_ns = clock.time_ns()
        self.duration_ns = end - self.begin
        self.probed = self.thread.probed

    def line(self) -> dict[str, Any]:
        """As it is logged: with what is not zero or false, so that plain steps stay short."""
        line: dict[str, Any] = {
            "event": self.event,
            "thread": self.thread.id,
            "index": self.index,
            "end_ns": self.end_ns,
            "duration_ns": self.duration_ns,
        }
        if self.thread.main:
            line["main"] = True
        for name in _NUMBERS:
            if value := getattr(self, name):
                line[name] = value
        if self.optimizers:
            line["optimizers"] = [[*update] for update in self.optimizers.items()]
        if self.reads:
            line["reads"] = [
                [site, kind, int(closure), *row]
                for (site, kind, closure), row in self.reads.items()
            ]
        for name, rows in (("uploads", self.uploads), ("saves", self.saves)):
            if rows:
                line[name] = [[site, *row] for site, row in rows.items()]
        if self.event != "tail":
            line["site"] = self.site
        if self.grown:
            line.update(self.grown)
        return line


class ThreadState:
    """One thread of the program: its current step, and where it is in it."""

    def __init__(self, begin: int) -> None:
        self.id = get_native_id()
        self.ident = get_ident()
        self.main = current_thread() is main_thread()
        self.inside = ""  # barrier, read, batch or save: within one, which is being timed
        self.outer = ""  # of what a barrier is part
        self.watched = False  # within a call that the probe examines: it notes what that compiles
        self.touched = False  # that call met a tensor of the device
        self.closure = False  # within the closures that a barrier runs after itself
        self.index = self.cuts = self.graphs = self.compiled = 0
        self.checked = 0  # compilations of the process that were noted or are not its own
        #: By site: step and launches of the process, after the line's last barrier.
        self.barriers: dict[int | None, tuple[int, int]] = {}
        self.probed = self.saved = False
        self.previous = 0  # when the last barrier returned
        self.seen = 0  # compilations of the process at the last barrier
        self.times = StepTimes()
        self.anchors: Any = None  # of a framework without barriers: which launches end a step
        self.compiling = 0  # nanoseconds of compiling since its last call
        self.compiles = False  # within a call that has to, where that is known
        self.step = Step(self, begin)

    def leave_out(self, nanoseconds: int, step: Step) -> None:
        """The capture took so long of a step, unless that has ended, which leaves its own out."""
        if self.step is step:
            step.capture_ns += nanoseconds
            step.begin += nanoseconds

    @property
    def turns(self) -> int:
        """Steps, or where there are no barriers the reads that launched work."""
        return self.index or self.cuts
