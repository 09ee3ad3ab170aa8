"""The operators that TorchTPU launches outside of compiled functions.

TorchTPU keeps a record of each launch in a buffer, for the log that ``TORCH_TRACE`` asks for: the
operator, whether its executable was in the cache, why it was launched, and of a new executable the
operators and shapes in it with the lines of the program. The buffer is switched on without the log.
It holds the latest 10,000 launches, and taking them out costs some 5 µs each: that is done only
where something was compiled, and at the end, when the latest stand for all. What is in it goes to
the log as well, if the program asked for one.

That each operator notes its line costs 8 µs, nearly as much as calling it. So lines are noted until
nothing has been compiled for some hundred steps, and again once something is; what is compiled late
gets the line at which the operator was compiled before.

Executables are compiled on threads of the runtime: the host goes on, and waits where it reads a
value. Their times come from the cache's statistics, which have no names: executables that were
compiled together get the mean.
"""

from __future__ import annotations

import os
import threading
from typing import Any, Callable

from .. import clock
from ..call_site import LIBRARY, USER
from ..calls import Calls, Installer
from ..facts import Phases
from ..step import ThreadState
from ..warmup import WARMUP
from .counters import Counters
from .executables import COMPILED, PREFIX, Place, executable, is_deferred
from .grouping import Compiling, Grouping

_SWITCH = "TORCH_TRACE"
_QUIET_STEPS = 200


def _nothing() -> None: ...


def switch_on() -> None:
    """Have TorchTPU fill its buffer: it asks for the variable once, when it is loaded, which is
    after torch has asked for it.
    """
    if _SWITCH not in os.environ:
        os.environ[_SWITCH] = os.devnull


def switch_back() -> bool:
    """Leave the variable as the program has it; return whether it is set."""
    if os.environ.get(_SWITCH) == os.devnull:
        del os.environ[_SWITCH]
    return _SWITCH in os.environ


class Launches(Installer):
    """Empties the buffer, and reports what was compiled to the recorder."""

    def __init__(self, calls: Calls, counters: Counters, latest: Callable[[], int | None]) -> None:
        """``latest``: the number of the latest compilation of a function, if there was one."""
        super().__init__(calls)
        self._counters = counters
        self._latest = latest
        self._lock = threading.Lock()
        self._drain: Callable[[], dict[str, Any]] | None = None
        self._switch: tuple[Callable[[bool], Any], Callable[[], Any]] | None = None
        self._lines = True
        self._off_ns = self._on_ns = 0  # when lines were noted no more, and again
        self._quiet = 0  # steps without a compilation
        self._log: tuple[Callable[[dict[str, Any]], None], ...] = ()
        self._groups = Grouping(self._is_named, self._site_of, calls.sites.operations.add)
        self._pending = self._groups.pending
        self._taken: list[dict[str, Any]] = []  # events of new executables
        self._shares: dict[int | None, float] = {}  # launches by site
        self._functions: int | None = None  # the latest compilation of a function that was seen
        self._steps = 0  # of the launches counted so far
        self._misses = 0  # seen
        self._asked = 0  # executables that were ever pending
        self._timed = (0, 0.0)  # executables whose compilation had ended, and nanoseconds in all
        self._ended = (0, 0.0)  # of these, not recorded yet
        self.cycles = self._groups.cycles
        self._scale = 1.0  # launches for which each of the latest stands

    def install(self, tracing: Any) -> None:
        """Take what comes from now on.

        Args:
            tracing: TorchTPU's module that writes the log.

        Raises:
            RuntimeError: the buffer could not be switched on.
        """
        buffer = tracing._tpu_torch_tracing
        on, users = buffer._structured_log_enabled(), switch_back()
        if not on:
            raise RuntimeError("TorchTPU's buffer of launches stays off")
        self._drain = buffer._drain_structured_log_buffer
        if users:
            self._log = (tracing._emit_chromium, tracing._emit_event_artifacts)
        flush = self.empty if users else _nothing
        self._hooks.put(tracing, "_flush", flush)  # called every 5 s, and at exit

    def switch_lines(self, switches: Any) -> None:
        """Use TorchTPU's switch for lines: its module of ``torch.compile``."""
        self._switch = switches.push_enable_tracebacks, switches.pop_enable_tracebacks

    def step_ended(self) -> None:
        """Called at each step, to note lines only while something is compiled."""
        self._quiet += 1
        if self._quiet == _QUIET_STEPS and self._switch is not None and not self._log:
            self._switch[0](False)
            self._lines, self._off_ns = False, clock.time_ns()

    def _compiled(self) -> None:
        self._quiet = 0
        if not self._lines and self._switch is not None:
            self._lines, self._on_ns = True, clock.time_ns()
            self._switch[1]()

    def backward(self, site: int | None) -> None:
        """A backward pass begins at a line: its operators have none of their own."""
        self._groups.backward = site

    def read(self, site: int | None, values: Any) -> None:
        """A value is about to be read at a line."""
        self._groups.read = site

    def empty(self) -> None:
        """Take what is in the buffer, on any thread."""
        if self._drain is None:
            return
        with self._lock:
            drained = self._drain()
            events = drained.get("events") or []
            dropped = int(drained.get("dropped_since_last_drain") or 0)
            self._scale = (dropped + len(events)) / len(events) if events else 1.0
            self.cycles.skip(dropped)
            self._taken += [event for event in events if self._count(event)]
        for write in self._log:
            for event in events:
                write(event)

    def _count(self, event: dict[str, Any]) -> bool:
        """Count a launch; return whether it needed a new executable."""
        if event["reason"] == COMPILED:
            return False
        name = event["name"].removeprefix(PREFIX)
        found = None if event["cache_hit"] else executable(event["aten_graph"], name)
        event["executable"] = found
        event["step"] = self.cycles.step_of(name, found, is_deferred(event))
        self._steps = max(self._steps, (event["step"] or 0) + 1)
        event["noted"] = not self._off_ns <= event["ts_us"] * 1000 < self._on_ns
        site = self._groups.launched_at(event)
        self._shares[site] = self._shares.get(site, 0.0) + self._scale
        self._calls.sites.launches[site] = round(self._shares[site])
        return not event["cache_hit"]

    # -- compilations ------------------------------------------------------------------------

    def forget_the_past(self) -> None:
        """Leave out what was compiled before the capture."""
        self._misses = self._asked = self._counters.misses()
        self._timed = self._counters.compile_statistics()

    def look(self, waited_ns: int = 0, last: bool = False) -> None:
        """Record what was compiled since the last look, on the thread of the program.

        Args:
            waited_ns: how long the host has just waited for a value.
            last: whether nothing comes any more.
        """
        misses = self._counters.misses()
        if misses == self._misses and not (self._pending or self._taken):
            return
        if misses != self._misses:
            self._compiled()
        self._misses = misses
        self.empty()
        with self._lock:
            new, self._taken = self._taken, []
        state = self._recorder.thread()
        if not self.cycles.ended:
            self._steps = max(self._steps, state.index + 1)
        self._add(new, state, last)
        ended, total = self._counters.compile_statistics()
        spent = max(0.0, total - self._timed[1])
        self._ended = self._ended[0] + ended - self._timed[0], self._ended[1] + spent
        self._timed = ended, total
        if waited_ns:
            self._recorder.compilations.add_time(state, int(min(spent, waited_ns)))
        self._record(state, "read" if waited_ns else "launch")

    def finish(self) -> None:
        """Record what is left, at the program's end."""
        self.empty()
        self.look(last=True)
        pending = sum(each.executables for each in self._pending)
        self._ended = max(self._ended[0], pending), self._ended[1]
        self._record(self._recorder.thread(), "launch")

    def _add(self, events: list[dict[str, Any]], state: ThreadState, last: bool) -> None:
        """Group new executables; add those of compiled functions, which have no record."""
        later = self._groups.add(events, state.index, last)
        if later:
            with self._lock:
                self._taken[:0] = later
        self._asked += len(events) - len(later)
        others = self._misses - self._asked - len(self._taken)
        compiled, self._functions = self._functions, self._latest()
        of_function = self._functions is not None if self._drain else compiled != self._functions
        if others > 0 and (of_function or self._drain is None):
            group = Compiling()
            group.function, group.executables, group.step = of_function, others, state.index
            group.site = None if of_function else self._calls.line(5)
            group.operator = "operators"
            self._pending.append(group)
            self._asked += others

    def _is_named(self, file: str) -> bool:
        return self._calls.sites.kind(file) in (USER, LIBRARY)

    def _site_of(self, place: Place) -> int | None:
        return self._calls.sites.intern((*place, None, None, None, ""))

    def _record(self, state: ThreadState, during: str) -> None:
        """Record compilations that have ended, in the order in which they were asked for."""
        ended, spent = self._ended
        while self._pending and ended >= self._pending[0].executables:
            group = self._pending.pop(0)
            share = spent * group.executables / ended
            ended, spent = ended - group.executables, spent - share
            if group.function:
                self._record_function(state, int(share))
            else:
                self._record_group(state, during, group, int(share))
        self._ended = ended, spent

    def _record_group(self, state: ThreadState, during: str, group: Compiling, share: int) -> None:
        lasted = min(share + group.own_ns, max(0, clock.time_ns() - group.began_ns))
        against = group.against.number if group.against is not None else 0
        group.number = self._recorder.compilations.record(
            state,
            during,
            group.site,
            lasted,
            {
                "step": group.step,
                "function": group.operator,
                "ordinal": self._launches_before(group),
                "against": against or None,
                "changes": [[*change] for change in group.changes] if against else [],
            },
            waited=0,
        )

    def _launches_before(self, group: Compiling) -> int:
        """Launches at its line before, as its steps have so many; in warm-up its steps."""
        launched = self._calls.sites.launches.get(group.site, 0)
        each = launched / max(1, self._steps)
        return group.ordinal if group.ordinal < WARMUP else round(group.ordinal * max(1.0, each))

    def _record_function(self, state: ThreadState, spent: int) -> None:
        """Add the time of XLA to the latest compilation of a function."""
        self._recorder.log_fact(
            Phases(
                thread=state.id,
                number=self._latest(),
                end_ns=clock.time_ns(),
                phases={"xla": spent},
            )
        )
