"""The capture of one process, from ``import torch_xla`` to the end of the interpreter."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import platform
import socket
import sys
import time
from typing import Any

from . import disguise, settings
from .adapter import Adapter
from .call_site import CallSites
from .probe import Probe
from .recorder import Recorder, ThreadState
from .sampler import PERIOD_MS, Sampler
from .timeline import Limits, Timeline
from .writer import Writer, note_fault, replace_file

_SAMPLES_EVERY_S = 3.0
_NOTHING = contextlib.nullcontext()


def prepare(run_directory: str, watch: settings.SettingsWatch) -> Session | None:
    """Before torch_xla runs: make the process folder and set the variables that it reads."""
    try:
        return Session(run_directory, watch)
    except OSError as fault:
        sys.stderr.write(f"xladoctor: capture could not start: {fault}\n")
        return None


class Session:
    """Owns the parts of the capture, and the files of ``process-<pid>/``."""

    def __init__(self, run_directory: str, watch: settings.SettingsWatch) -> None:
        self._pid = os.getpid()
        self._run = run_directory
        self._folder = os.path.join(run_directory, f"process-{self._pid}")
        os.makedirs(self._folder)
        self._sites = CallSites()
        self._settings = settings.user_settings()
        self._watch = watch
        log = os.path.join(self._folder, "analysis.log")
        self._no_log = settings.apply_capture_settings(log)
        self._log = None if self._no_log else log
        self._began_ns = time.time_ns()
        self._used = self._finished = False
        self._described = (0, 0)
        self._sites_written = 0
        self._samples_written = time.monotonic()
        main = getattr(sys.modules.get("__main__"), "__file__", None)
        self._main = os.path.abspath(main) if main else None  # gone at the interpreter's end

    def start(self, torch_xla: Any) -> None:
        """After torch_xla ran: wrap it. A fault here leaves the program as it would be."""
        try:
            self._start(torch_xla)
        except Exception as fault:
            note_fault(self._folder, fault)

    def _start(self, torch_xla: Any) -> None:
        self._torch_xla = torch_xla
        self._xlac = xlac = torch_xla._XLAC
        self._recorder = Recorder(xlac, self._sites, self._log)
        self._timeline = Timeline(xlac, self._timeline_path(), _limits(), settings.user_debugs_ir())
        self._probe = Probe(xlac, self._sites, self._recorder)
        self._writer = Writer(self._recorder, self._folder, self._tick, xlac._xla_metrics_report)
        self._sampler = Sampler(self._recorder, self._sites, self._folder, self._writer)
        disguise.install()
        Adapter(torch_xla, self._recorder, self._sites, self).install()
        xlac.profiler.TslProfilerSessionWrapper = self._give_way
        self._timeline.arm()
        self._write_process(ended=False)
        self._writer.start()
        self._sampler.start()
        os.register_at_fork(after_in_child=self._leave_child)
        atexit.register(self._finish)

    # -- called by the adapter, on the user's threads ---------------------------------------

    def uploaded(self, state: ThreadState) -> None:
        """The first tensor on the device opens the timeline's window."""
        if not self._used:
            self._used = True
            began = time.perf_counter_ns()
            self._guarded(self._timeline.begin)
            state.begin += time.perf_counter_ns() - began

    def entering(self, state: ThreadState) -> None:
        """A call that may wait for the device begins."""
        try:
            self.uploaded(state)
            self._settle(state)
        except Exception as fault:
            self.fail(fault)

    def saving(self, state: ThreadState) -> None:
        """A save begins; what is saved need not be of the device's."""
        try:
            if self._used:
                self._settle(state)
        except Exception as fault:
            self.fail(fault)

    def _settle(self, state: ThreadState) -> None:
        state.traced |= self._timeline.active
        since = time.perf_counter_ns() - state.begin
        self._recorder.compilations(state, "other", None, since)  # not of the call to come

    def barrier_left(self, state: ThreadState, site: int | None, begin: int, end: int) -> None:
        try:
            if self._recorder.barrier(state, site, begin, end):
                state.traced = False
                self._timeline.step()
                self._probe.at_barrier(state)
            now = time.perf_counter_ns()
            state.capture_ns += now - end
            state.begin += now - max(end, state.begin)
        except Exception as fault:
            self.fail(fault)

    def read_left(
        self, state: ThreadState, site: int | None, kind: str, begin: int, end: int
    ) -> None:
        """A read ended. In a program without barriers, reads are where its loop can be cut."""
        try:
            self._recorder.read(state, site, kind, begin, end)
            if state.index == 0 and state.main:
                self._probe.at_barrier(state)
        except Exception as fault:
            self.fail(fault)

    @property
    def annotates(self) -> bool:
        """Whether the timeline's window is open."""
        return self._timeline.active

    def annotation(self, name: str, site: int | None, **more: str) -> Any:
        """Encloses a call in the timeline, with its line, while the window is open."""
        if not self._timeline.active:
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
        waiting = any(state.inside for state in self._recorder.threads)
        self._timeline.tick(waiting or self._recorder.compiling())
        known = (len(self._sites.rows) - self._sites.sampled, len(self._probe.rows))
        if known != self._described:  # so that a program that is killed leaves its lines behind
            self._described = known
            self._write_call_sites()
        if time.monotonic() - self._samples_written >= _SAMPLES_EVERY_S:
            self._write_samples()

    def _give_way(self, *args: Any, **kwargs: Any) -> Any:
        """The program starts a profile of its own: there can only be one session."""
        self._guarded(lambda: self._timeline.end("the program's own profile"))
        return self._timeline._make_session(*args, **kwargs)

    def _guarded(self, action: Any) -> None:
        try:
            action()
        except Exception as fault:
            note_fault(self._folder, fault)

    def fail(self, fault: Exception) -> None:
        """A fault of the capture: it ends here, and the program goes on."""
        self._recorder.off = True
        note_fault(self._folder, fault)

    def _leave_child(self) -> None:
        self._recorder.off = True  # a forked child shares our files: it must not write to them
        self._sampler.leave()

    def _finish(self) -> None:
        if self._finished or os.getpid() != self._pid:
            return
        self._finished = True
        self._guarded(lambda: self._timeline.end("end of program"))
        used = self._has_used_xla()
        self._guarded(lambda: self._recorder.tails() if used else None)
        self._recorder.off = True
        self._guarded(self._writer.finish)
        self._guarded(self._write_call_sites)
        self._guarded(self._write_samples)
        self._guarded(lambda: self._write_process(ended=True))

    def _write_call_sites(self) -> None:
        fallbacks = [
            {"op": op, "site": site, "count": row[0], "duration_ns": row[1], "compile_ns": row[2]}
            for (op, site), row in list(self._probe.rows.items())
        ]
        sites = self._sites.describe()
        self._sites_written = len(sites)
        self._write_json("call_sites.json", {"sites": sites, "fallbacks": fallbacks})

    def _write_samples(self) -> None:
        """The samples; before them the call sites, which they point at."""
        samples = self._sampler.rows()
        if len(self._sites.rows) != self._sites_written:
            self._write_call_sites()
        self._write_json("host_samples.json", {"period_ms": PERIOD_MS, "samples": samples})
        self._samples_written = time.monotonic()

    def _write_process(self, ended: bool) -> None:
        initialized = bool(self._xlac._xla_runtime_is_initialized())
        self._write_json("process.json", {
            "pid": self._pid, "parent": os.getppid(), "rank": _rank(), "argv": sys.argv,
            "main": self._main, "cwd": os.getcwd(),
            "host": socket.gethostname(), "python": platform.python_version(),
            "torch": sys.modules["torch"].__version__, "torch_xla": self._torch_xla.__version__,
            "used_xla": self._has_used_xla(),
            "began_ns": self._began_ns,
            "devices": self._xlac._xla_real_devices() if initialized else [],
            "ended_ns": time.time_ns(), "ended": ended,
            "settings": {**self._settings, **settings.user_settings()},
            "settings_lines": self._watch.set_at, "folders": self._sites.folders,
            "timeline": self._timeline.window, "no_analysis_log": self._no_log,
            "fallback_ops": list(self._xlac._get_executed_fallback_ops()) if initialized else [],
        })  # fmt: skip

    def _has_used_xla(self) -> bool:
        """Whether anything was sent, compiled or run: the parent of `launch` only looks."""
        return bool(self._recorder.emitted or self._xlac._xla_counter_value("UncachedCompile"))

    def _write_json(self, name: str, value: Any) -> None:
        replace_file(os.path.join(self._folder, name), json.dumps(value))

    def _timeline_path(self) -> str:
        session = os.environ.get("XLADOCTOR_SESSION", "run")
        name = f"{socket.gethostname()}_{self._pid}.xplane.pb"
        return os.path.join(self._run, "plugins", "profile", session, name)


def _limits() -> Limits:
    return Limits(
        steps=int(os.environ.get("XLADOCTOR_TRACE_STEPS", "60")),
        seconds=float(os.environ.get("XLADOCTOR_TRACE_SECONDS", "15")),
    )


def _rank() -> int | None:
    for name in ("RANK", "PJRT_LOCAL_PROCESS_RANK", "LOCAL_RANK"):
        value = os.environ.get(name, "")
        if value.isdigit():
            return int(value)
    return None
