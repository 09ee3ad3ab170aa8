"""The capture of one process: asleep until the program uses a device, then until its end.

Asleep it has wrappers and nothing else: no file, no thread. So processes that import torch_xla but
compute nothing (workers of data loaders, the parent of ``torch_xla.launch``) stay as they are. A
forked child begins anew, asleep, and becomes a captured process of its own if it uses a device.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sys
import threading
from typing import Any, Callable

from . import clock, disguise, options, record, settings
from .adapter import Adapter
from .call_site import CallSites
from .files import (
    announce,
    give_room_back,
    keep_room_for_faults,
    note_fault,
    replace_file,
)
from .modules import Modules
from .probe import Probe
from .profiler import Profiler
from .recorder import Recorder
from .redaction import redact
from .sampler import PERIOD_MS, Sampler
from .source_lines import SourceLines
from .step import ThreadState
from .tally import Tally
from .timeline import Timeline
from .writer import Writer

_SAMPLES_EVERY_S = 3.0
_MOST_OUTLIERS = 50  # written down
_LATE = "graphs had been compiled before the capture began"
_NOTHING = contextlib.nullcontext()


class Session:
    """Owns the parts of the capture, and the files of ``process-<pid>/``."""

    def __init__(
        self, run_directory: str, watch: settings.SettingsWatch,
        asked: options.Options | None = None,
    ) -> None:  # fmt: skip
        self._run = run_directory
        self._watch = watch
        self._options = asked or options.read()
        self._settings = settings.user_settings()
        self._sites = CallSites()
        self._waking = threading.Lock()
        self.awake = self.awake_once = self._gone = False
        self._main = record.main_file()
        announce(run_directory, "imported torch_xla")

    def start(self, torch_xla: Any) -> None:
        """After torch_xla ran: wrap it. A fault here leaves the program as it would be."""
        undo: list[Callable[[], None]] = []
        try:
            self._torch_xla = torch_xla
            self._xlac = torch_xla._XLAC
            self._recorder = Recorder(self._xlac, self._sites)
            self._profiler = Profiler(self._xlac)
            self._lie_down()
            undo.append(self._lines.end)
            self._adapter = Adapter(torch_xla, self._recorder, self._sites, self)
            undo.append(self._adapter.uninstall)
            self._adapter.install()
            self._profiler.hand_over(self._xlac, self._give_way)
            captures.append(self)
        except Exception as fault:
            announce(self._run, f"fault {fault!r}")
            for action in reversed(undo):
                with contextlib.suppress(Exception):
                    action()

    def _lie_down(self) -> None:
        """All that does not need files or threads."""
        self.awake = self._finished = False
        self._pid = os.getpid()
        self._began_ns = clock.time_ns()
        self._lines = SourceLines(self._xlac)
        self._lines.begin()
        self._outliers = 0
        self._described = (0, 0)
        self._noted: tuple[int, int, bool] = (0, 0, False)
        self._sites_written = 0
        self._samples_written = clock.monotonic()

    def begin_anew(self) -> None:
        """In a forked child: it shares files and locks with nobody, nor the parent's faults."""
        if self._gone:
            return
        if self.awake:
            self._sampler.leave()
            self._probe.stop()
        self._lines.forget()
        self._waking = threading.Lock()
        self._recorder.__init__(self._xlac, self._sites)  # type: ignore[misc]
        self._profiler.forget()
        self._lie_down()

    # -- waking up ---------------------------------------------------------------------------

    def wake(self) -> None:
        """The program uses a device: make the folder, begin to record."""
        with self._waking:
            if not self.awake and not self._recorder.off:
                self._guarded(self._wake)

    def _wake(self) -> None:
        state, began = self._recorder.thread(), clock.perf_counter_ns()
        self._folder = record.make_folder(self._run, self._pid)
        keep_room_for_faults(self._folder)
        recorder, xlac = self._recorder, self._xlac
        late = bool(xlac._xla_counter_value("UncachedCompile"))
        log, counts_only = os.path.join(self._folder, "analysis.log"), self._options.counts_only
        no_log = _LATE if late else "counts were asked for alone" if counts_only else None
        self._no_log = no_log or settings.apply_capture_settings(log)
        recorder.analysis_log = None if self._no_log else log
        profiles = os.path.join(self._run, "plugins", "profile")
        name = f"{socket.gethostname()}_{os.path.basename(self._folder)[8:]}.xplane.pb"
        self._timeline = Timeline(self._profiler, self._options, profiles, name)
        self._modules = Modules(self._profiler, recorder, self._folder, self._options.trace_bytes)
        self._probe = Probe(xlac, self._sites, recorder, self.fail)
        self.tally = Tally(xlac, recorder, self._probe, self._sites)
        if late:
            recorder.forget_the_past()
            self._modules.collect_earlier()
        report = None if late or counts_only else xlac._xla_metrics_report  # of the whole process
        self._writer = Writer(recorder, self._folder, self._tick, report, self.fail)
        self._sampler = Sampler(recorder, self._sites, self._writer.thread, self.fail)
        disguise.install()
        self.awake = self.awake_once = True
        self._write_process(ended=False)
        self._timeline.used()
        self._writer.thread.start()
        if not counts_only:
            self._sampler.thread.start()
            record.at_exit(self.finish)
        state.step.begin += clock.perf_counter_ns() - began

    # -- called by the adapter, on the user's threads ---------------------------------------

    def entering(self, state: ThreadState) -> None:
        """A call that may wait for the device begins."""
        try:
            if not self.awake:
                self.wake()
            self._lines.before_call()
            if self.awake:
                self._settle(state)
        except Exception as fault:
            self.fail(fault)

    def saving(self, state: ThreadState) -> None:
        """A save begins; what is saved need not be of the device's."""
        try:
            self._lines.before_call()
            if self.awake:
                self._settle(state)
        except Exception as fault:
            self.fail(fault)

    def saved(self) -> None:
        """It ended."""
        self._lines.after_call()

    def _settle(self, state: ThreadState) -> None:
        if self._timeline.active:
            state.step.traced = True
        self._recorder.settle(state)

    def barrier_left(self, state: ThreadState, site: int | None, begin: int, end: int) -> None:
        """A barrier returned. What follows runs at each step, in caches that hold other things: a
        call that is not made saves half a microsecond.
        """
        self._lines.after_call()
        recorder = self._recorder
        if recorder.off:
            return
        try:
            looked_at = state.step.traced or state.probed
            if recorder.barrier(state, site, begin, end):
                self._step_closed(state, looked_at, end)
            step, now = state.step, clock.perf_counter_ns()
            step.capture_ns += now - end
            step.begin += now - max(end, step.begin)
            state.previous = now
        except Exception as fault:
            self.fail(fault)

    def _step_closed(self, state: ThreadState, looked_at: bool, end: int) -> None:
        compiled = self._recorder.compiled != state.seen
        state.seen = self._recorder.compiled
        if compiled or self._lines.recording:
            self._lines.step(compiled)
        if self._timeline.watches:
            self._timeline.barrier(state.index, self._lines.quiet)
        if not (compiled or state.saved or looked_at) and state.previous:
            duration = end - state.previous
            if state.times.is_outlier(duration):
                self._outlier(state, duration)
        state.saved = False
        if self._probe.is_due(state):
            self._probe.at_barrier(state)

    def _outlier(self, state: ThreadState, duration: int) -> None:
        """A step took much too long, for no reason that is known already."""
        if self._outliers < _MOST_OUTLIERS:
            self._outliers += 1
            looked = self._timeline.outlier()
            self._recorder.outlier(state, duration, state.times.typical_ns, looked)

    def enough(self, state: ThreadState) -> bool:
        """Whether the program has run for as many steps as were asked for."""
        return 0 < self._options.stop_after <= state.index and not self._recorder.off

    def read_left(
        self, state: ThreadState, site: int | None, kind: str, begin: int, end: int
    ) -> None:
        """A read ended. In a program without barriers, reads are where its loop can be cut."""
        self._lines.after_call()
        try:
            if self._recorder.off:
                return
            self._recorder.read(state, site, kind, begin, end)
            if state.index == 0 and state.main:
                self._probe.at_barrier(state)
                self._timeline.read()
        except Exception as fault:
            self.fail(fault)

    @property
    def annotates(self) -> bool:
        """Whether the timeline's window is open."""
        return self.awake and self._timeline.active

    def annotation(self, name: str, site: int | None, **more: str) -> Any:
        """Encloses a call in the timeline, with its line, while the window is open."""
        if not self.annotates:
            return _NOTHING
        try:
            row = () if site is None else self._sites.rows[site]
            place = dict(zip(("file", "line"), row))
            return self._xlac.profiler.TraceMe(f"xladoctor.{name}", **place, **more)
        except Exception as fault:
            self.fail(fault)
            return _NOTHING

    # -- the rest ----------------------------------------------------------------------------

    def _tick(self) -> None:
        loops = [state for state in self._recorder.threads if state.index or state.main]
        waiting = any(state.inside for state in loops)
        self._timeline.tick(waiting or self._recorder.compiling())
        if not self._options.counts_only:
            self._modules.tick()
        noted = (len(self._modules.files) and self._modules.files[-1]["compilations"],
                 len(self._timeline.windows), self._timeline.active)  # fmt: skip
        if noted != self._noted:
            self._noted = noted
            self._write_process(ended=False)
        known = (len(self._sites.rows) - self._sites.sampled, len(self._probe.rows))
        if known != self._described:  # so that a program that is killed leaves its lines behind
            self._described = known
            self._write_call_sites()
        if clock.monotonic() - self._samples_written >= _SAMPLES_EVERY_S:
            self._write_samples()

    def _give_way(self) -> None:
        if self.awake:
            self._guarded(self._timeline.give_way)

    def _guarded(self, action: Any) -> None:
        try:
            action()
        except Exception as fault:
            self.fail(fault)

    def fail(self, fault: Exception) -> None:
        """A fault of the capture: it ends here, and the program goes on.

        Unless it is none: what a signal handler of the program raises meanwhile is the program's.
        """
        if self._sites.raised_by_program(fault):
            raise fault
        self._recorder.off = True
        self._lines.end()
        if self.awake:
            note_fault(self._folder, fault)
            for stop in (self._timeline.abandon, self._probe.stop):
                with contextlib.suppress(Exception):
                    stop()
        else:
            announce(self._run, f"fault {fault!r}")

    def leave_worker(self) -> None:
        """This process turns out to be a worker of a data loader: leave no trace in it."""
        self._recorder.off = self._gone = True
        self._lines.end()
        self._adapter.uninstall()

    def flush(self) -> str:
        """Write down all that is known by now, the compiled modules too; the folder of it."""
        self._timeline.make_room()
        self._modules.collect()
        self._writer.drain()
        self._write_call_sites()
        self._write_process(ended=False)
        return self._folder

    def finish(self) -> None:
        """The end of the program, or of what was to be captured."""
        if not self.awake or self._finished or os.getpid() != self._pid:
            return
        self._finished = True
        self._recorder.off = True
        self._lines.end()
        for action in (
            self._writer.stop, self._probe.stop, self._timeline.close, self._modules.collect,
            lambda: self._recorder.tails() if self._has_used_xla() else None,
            self._timeline.write, self._writer.close, self._write_call_sites,
            self._write_samples, lambda: self._write_process(ended=True),
        ):  # fmt: skip
            self._guarded(action)
        give_room_back(self._folder)

    def uninstall(self) -> None:
        """Take the wrappers off again (where the program outlives its capture)."""
        self._recorder.off = self._gone = True
        if self.awake:
            self._writer.stop()
        self.awake = False
        captures.remove(self)
        self._lines.end()
        self._adapter.uninstall()
        self._profiler.take_back(self._xlac)
        self._watch.uninstall()

    def _write_call_sites(self) -> None:
        sites = self._sites.describe()
        self._sites_written = len(sites)
        self._write_json("call_sites.json", {"sites": sites, "fallbacks": self._probe.described()})

    def _write_samples(self) -> None:
        """The samples; before them the call sites, which they point at."""
        samples = self._sampler.rows()
        if len(self._sites.rows) != self._sites_written:
            self._write_call_sites()
        self._write_json("host_samples.json", {"period_ms": PERIOD_MS, "samples": samples})
        self._samples_written = clock.monotonic()

    def _write_process(self, ended: bool) -> None:
        self._write_json("process.json", {
            **record.describe(self._torch_xla), "pid": self._pid, "main": self._main,
            "argv": redact(sys.argv),
            "used_xla": self._has_used_xla(), "began_ns": self._began_ns,
            "ended_ns": clock.time_ns(), "ended": ended,
            "settings": {**self._settings, **settings.user_settings()},
            "settings_lines": self._watch.set_at, "folders": self._sites.folders,
            "windows": self._timeline.windows, "no_analysis_log": self._no_log,
            "modules": self._modules.files, "modules_too_large": self._modules.too_large,
        })  # fmt: skip

    def _has_used_xla(self) -> bool:
        """Whether anything was sent, compiled or run: the parent of `launch` only looks."""
        return bool(self._recorder.emitted or self._xlac._xla_counter_value("UncachedCompile"))

    def _write_json(self, name: str, value: Any) -> None:
        replace_file(os.path.join(self._folder, name), json.dumps(value))


#: Those of this process that are under way, awake or asleep.
captures: list[Session] = []


def _after_fork() -> None:
    for session in captures:
        session.begin_anew()


os.register_at_fork(after_in_child=_after_fork)


def prepare(run_directory: str, watch: settings.SettingsWatch) -> Session | None:
    """Before torch_xla runs."""
    try:
        return Session(run_directory, watch)
    except Exception as fault:
        sys.stderr.write(f"xladoctor: capture could not start: {fault!r}\n")
        return None
