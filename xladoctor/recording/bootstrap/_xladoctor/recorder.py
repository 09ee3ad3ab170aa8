"""The step log: what the program did between two barriers, thread by thread.

The user's threads only add to counters and append finished lines to a list; a background thread
(:mod:`.writer`) formats and writes them. All durations are nanoseconds of a monotonic clock, all
instants nanoseconds of the wall clock, which is the clock of the metrics and of the timeline.

Lines of ``steps.jsonl`` (one JSON object each; ``event`` says which):

``step``     a barrier that launched work: duration since the line before, and what happened
``cut``      the same for a read that launched work: its graph ends there, the step goes on (in a
             loop with barriers, for every eighth of them in a step); also where a step takes long,
             so that a program which is stopped has logged most of it
``tail``     what a thread did after its last barrier

The others are facts (:mod:`.facts`).

A step is the sum of its cuts and the line that ends it. In each of these, ``reads``, ``uploads``
and ``saves`` are lists with a row for each call site, ``optimizers`` one for each optimizer;
``counters`` and ``fallbacks`` are what the framework's counters grew by, operators that ran on the
host apart from the others.
"""

from __future__ import annotations

import threading
from typing import Any

from . import clock
from .call_site import CallSites
from .compilation_log import CompilationLog
from .compilations import Compilations, ReportedCompilations
from .facts import Fact, Optimizer, Transfer, as_line
from .frontend import Counters
from .growth import Growth
from .step import Step, ThreadState
from .warmup import WARMUP

_LINES_A_STRIDE = 20_000  # written with one barrier a line, then ten, a hundred, …
_LINES_A_LOOK = 1000  # at how fast they come: one takes some 10 µs to make and to write
_LINE_NS = 1_000_000  # of the program, for a line; for more, once it is known that steps are short
_MOST_EVENTS = 100_000  # compilations and shapes that have a line of their own
_SHAPES_A_SITE = 256
_LONG_NS = 1_000_000_000  # a step is cut where it has lasted longer
_MANY_LAUNCHES = 8  # by reads, after which a step is cut in a loop that has barriers


class Recorder:
    """Collects the step log of a process. All methods are called on the user's threads."""

    def __init__(self, counters: Counters, sites: CallSites) -> None:
        self._counters = counters
        self._sites = sites
        self.reset()

    def reset(self) -> None:
        """Begin anew, sharing nothing with what was before."""
        kind = ReportedCompilations if self._counters.reports_each else Compilations
        self.compilations: Any = kind(self._counters, self.log_fact)
        self.log = CompilationLog()
        self._growth = Growth(self._counters)
        self._local = threading.local()
        self.threads: list[ThreadState] = []
        self.by_ident: dict[int, ThreadState] = {}  # idents are reused, so this stays small
        self.lines: list[dict[str, Any] | Step] = []
        self.emitted = self._events = 0
        self._left = 0  # compilations ended when last no thread was in a call that notes its own
        #: How often each call site waited for the device's values, and how, closures left out.
        self.waits: dict[tuple[int | None, str], int] = {}
        self.off = False
        self.looking = threading.Lock()  # held while the sampler holds frames of the program
        self._optimizers: dict[int, int] = {}  # identity -> number
        self._logged_once: set[Any] = set()  # what :meth:`log_once` has
        self._shapes: set[Any] = set()  # site, shape and type of what was sent
        self._shapes_of: dict[int | None, int] = {}  # how many, of each site
        self.shapes = 0  # how many in all
        self._stride = 1
        self._looked = clock.perf_counter_ns()

    def thread(self) -> ThreadState:
        """The state of the thread that asks."""
        try:
            state: ThreadState = self._local.state
        except AttributeError:
            state = self._local.state = self._new_thread()
        return state

    def _new_thread(self) -> ThreadState:
        state = ThreadState(clock.perf_counter_ns())
        state.checked = self.compilations.ended()
        ended = self.by_ident.get(state.ident)
        if ended is not None and ended.id == state.id:
            return ended  # not Python's own: what Python knows of it lasts for one callback
        if ended is not None and ended in self.threads and not self.off:
            self.threads.remove(ended)
            self._tail(ended)
        self.threads.append(state)
        self.by_ident[state.ident] = state
        return state

    def touched(self) -> None:
        """The call under way on this thread meets a tensor of the device."""
        self.thread().touched = True

    def forget_the_past(self) -> None:
        """Leave out what was compiled and counted before the capture."""
        self.compilations.forget_the_past()
        self._growth.snapshot()

    def clearing(self) -> None:
        """The program is about to clear all counters."""
        self._growth.clearing()

    def settle(self, state: ThreadState) -> None:
        """Note what was compiled before a call, and so in none that is timed."""
        self.compilations.settle(state)
        if state.step.compile_ns > _LONG_NS:
            self._cut(state, None, clock.perf_counter_ns())

    def note_compilations(self) -> None:
        """The same for the log alone, on another thread: what no call has noted, nor will.

        A call notes what it compiled, with its line, only after it has ended, and on a busy machine
        its thread may be stopped in between. So this logs what had ended the last time that it was
        called while no thread was in such a call.
        """
        ended, threads = self.compilations.ended(), list(self.threads)
        if threads and not any(state.inside or state.watched for state in threads):
            self.compilations.log_ended(threads[0], self._left)
            self._left = ended

    # -- what happened ---------------------------------------------------------------------

    def barrier(self, state: ThreadState, site: int | None, begin: int, end: int) -> bool:
        """A step barrier returned. True if it closed a step: it launched a graph, or reads have
        since its line's last barrier, and no other line's barrier has closed a step since.

        A line's first barrier may stand after a whole loop of reads; after one it does not.
        """
        step = state.step
        compile_ns = self.compilations.note(state, "barrier", site, end - begin)
        step.barrier_ns += max(0, end - begin - compile_ns)
        launches = self.compilations.launched(state)
        launched, last = launches - state.graphs, (state.index, launches)
        new = (0, 0) if state.cuts == 1 else last
        previous, state.barriers[site] = state.barriers.get(site, new), last
        if launched:
            step.executions += max(launched, 1)  # the program may clear the counters meanwhile
        elif previous[0] != state.index or previous == last:
            return False
        state.barriers[site] = state.index + 1, launches
        step.steps += 1
        if (
            step.steps >= self._stride
            or state.probed
            or (step.compilations and self._events < _MOST_EVENTS)
        ):
            self._close(state, site, end)
        else:
            state.index += 1
        return True

    def launch(self, state: ThreadState, site: int | None) -> None:
        """A graph was launched within a step, in a framework without barriers."""
        step = state.step
        step.executions += 1
        end = clock.perf_counter_ns()
        if end - step.begin > _LONG_NS:
            self._cut(state, site, end)

    def step(self, state: ThreadState, site: int | None, end: int) -> None:
        """A step ended, in a framework without barriers."""
        step = state.step
        step.steps += 1
        if step.steps >= self._stride or (step.compilations and self._events < _MOST_EVENTS):
            self._close(state, site, end)
        else:
            state.index += 1

    def read(self, state: ThreadState, site: int | None, kind: str, begin: int, end: int) -> None:
        """The host read a device value, and was blocked from ``begin`` to ``end``."""
        if state.anchors is not None:
            state.anchors.went_on()
        compile_ns = self.compilations.note(state, "read", site, end - begin)
        step = state.step
        if step.reads is None:
            step.reads = {}
        row = step.reads.setdefault((site, kind, state.closure), [0, 0, 0])
        row[0] += 1
        row[1] += end - begin
        row[2] += compile_ns
        if not state.closure:
            self._count_wait(site, kind)
        step.launches += self.compilations.launched(state) - state.graphs
        most = 1 if state.index < WARMUP else _MANY_LAUNCHES  # steps that end soon need no cuts
        if step.launches >= most or end - step.begin > _LONG_NS:
            self._cut(state, site, end)

    def _count_wait(self, site: int | None, kind: str) -> None:
        self.waits[site, kind] = self.waits.get((site, kind), 0) + 1

    def input(self, state: ThreadState, begin: int, end: int) -> None:
        """The thread waited for the next batch."""
        if state.anchors is not None:
            state.anchors.went_on()
        step = state.step
        begin = max(begin, step.begin)  # a barrier inside it closed a step
        if step.input is None:
            step.input = [0, 0]
        step.input[0] += 1
        step.input[1] += end - begin
        if end - step.begin > _LONG_NS:
            self._cut(state, None, end)

    def uploads(self, site: int | None, arrays: Any, nanoseconds: int) -> None:
        """The host's arrays (with ``nbytes``, ``shape`` and ``dtype``) were sent to the device; a
        shape is logged when new at this site.
        """
        state = self.thread()
        step = state.step
        if step.uploads is None:
            step.uploads = {}
        row = step.uploads.setdefault(site, [0, 0, 0])
        if nanoseconds:
            row[2] += min(nanoseconds, clock.perf_counter_ns() - step.begin)
        for array in arrays:
            row[0] += 1
            row[1] += array.nbytes
            if (site, array.shape, array.dtype) not in self._shapes:
                self._log_shape(state, site, array)

    def _log_shape(self, state: ThreadState, site: int | None, array: Any) -> None:
        count = self._shapes_of.get(site, 0)
        if count >= _SHAPES_A_SITE:
            return
        self._shapes_of[site] = count + 1
        self.shapes += 1
        self._shapes.add((site, array.shape, array.dtype))
        dtype = str(array.dtype).rpartition(".")[2]  # without the framework's name
        self.log_fact(
            Transfer(
                thread=state.id, step=state.index, site=site, shape=tuple(array.shape), dtype=dtype
            )
        )

    def save(self, state: ThreadState, site: int | None, begin: int, end: int) -> None:
        """State of the device was saved."""
        step = state.step
        begin = max(begin, step.begin)  # a barrier inside it closed a step
        compile_ns = self.compilations.note(state, "save", site, end - begin)
        state.saved = True
        if step.saves is None:
            step.saves = {}
        row = step.saves.setdefault(site, [0, 0])
        row[0] += 1
        row[1] += max(0, end - begin - compile_ns)
        if not state.closure:
            self._count_wait(site, "save")

    def optimizer_of(self, identity: int, closure: int | None) -> int:
        """The number of an optimizer that is asked to step; the line that asks is logged once.

        Args:
            closure: the site of the program's function that it calls to compute the loss, if any.
        """
        number = self._optimizers.get(identity)
        if number is None:
            number = self._optimizers[identity] = len(self._optimizers)
            site = self._sites.here(5)
            self._emit(as_line(Optimizer(thread=self.thread().id, site=site, closure=closure)))
        return number

    def optimizer(self, state: ThreadState, identity: int) -> None:
        """An optimizer updated its parameters; the line that asked for it is logged once."""
        step = state.step
        number = self.optimizer_of(identity, None)
        if step.optimizers is None:
            step.optimizers = {}
        step.optimizers[number] = step.optimizers.get(number, 0) + 1
        now = clock.perf_counter_ns()
        if now - step.begin > _LONG_NS:
            self.compilations.settle(state)  # those of the backward pass belong above the cut
            self._cut(state, None, now)

    def log_once(self, fact: Fact, *key: Any) -> None:
        """Log a fact, unless one of its kind with the same key was logged."""
        if (type(fact), *key) not in self._logged_once:
            self._logged_once.add((type(fact), *key))
            self.log_fact(fact)

    # -- closing a step --------------------------------------------------------------------

    def _close(self, state: ThreadState, site: int | None, end: int) -> None:
        step = self._ended(state, end)
        step.site = site
        step.grown = self._growth.at_step(state.index)
        self._emit(step)
        state.index += 1
        state.step = Step(state, clock.perf_counter_ns())

    def _cut(self, state: ThreadState, site: int | None, end: int) -> None:
        """Log the step so far, unless there are too many lines: then it is logged with the rest."""
        state.cuts += 1
        if self._events >= _MOST_EVENTS:
            return
        self._events += 1
        step = self._ended(state, end)
        step.event, step.site = "cut", site
        step.grown = self._growth.now_and_then()
        self._emit(step)
        state.step = Step(state, clock.perf_counter_ns())
        state.step.capture_ns = state.step.begin - end

    def _ended(self, state: ThreadState, end: int) -> Step:
        """The thread's step, now over."""
        step = state.step
        step.index = state.index
        if step.compilations:
            step.log = self.log.size()
        step.end(end)
        return step

    def tails(self) -> None:
        """Emit what each thread did after its last barrier (at the end of the program)."""
        for state in self.threads:
            self._tail(state)

    def _tail(self, state: ThreadState) -> None:
        if state.main:
            self.compilations.cut_short(state)
        tail = self._ended(state, clock.perf_counter_ns())
        tail.event = "tail"
        line = tail.line()
        if state.main:
            self._emit({**line, **self._growth.snapshot()})
        elif state.index or line.keys() & {"reads", "uploads", "saves", "compilations", "input"}:
            self._emit_event(line)

    def log_fact(self, fact: Fact) -> None:
        """Log a fact."""
        self._emit_event(as_line(fact))

    def _emit_event(self, line: dict[str, Any]) -> None:
        self._events += 1
        if self._events <= _MOST_EVENTS:
            self._emit(line)

    def _emit(self, line: dict[str, Any] | Step) -> None:
        self.emitted += 1
        if self.emitted % _LINES_A_LOOK == 0:
            self._widen()
        self.lines.append(line)

    def _widen(self) -> None:
        """Have a line cover more steps, where there are many of them or they come fast."""
        now = clock.perf_counter_ns()
        if self.emitted % _LINES_A_STRIDE == 0:
            self._stride *= 10
        elif now - self._looked < _LINES_A_LOOK * _LINE_NS:
            self._stride *= 2
        self._looked = now
