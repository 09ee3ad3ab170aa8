"""The capture of one process: asleep until the program uses a device, then awake until its end.

While asleep it has wrappers but no file and no thread. So processes that import a framework but
compute nothing (workers of data loaders, the parent of a launcher) stay as they are. A forked child
starts asleep too, and becomes a captured process of its own if it uses a device.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from dataclasses import replace
from typing import Any, Callable

from . import (
    clock,
    disguise,
    frontend,
    options,
    other_names,
    process,
    results,
    settings,
    termination,
)
from .asked import Requests
from .call_site import CallSites
from .calls import Calls
from .compilation_log import CompilationLog
from .description import Description
from .events import Events
from .files import announce, give_room_back, keep_room_for_faults, note_fault
from .graphs import Graphs
from .profiler import Profiler
from .recorder import Recorder
from .records import Records
from .run_queue import RunQueue
from .sampler import Sampler
from .tally import Tally
from .timeline import Timeline
from .writer import Writer

#: Frameworks may crash the program if they record lines of such a file.
_UNDECODABLE = "the name of {} is not UTF-8; so the lines of operations are missing, too"
_FINISHED_S = 10.0  # the most that the program's exit waits for the writer's thread to finish
_LATE = "graphs had been compiled before the capture began"


class Session:
    """Owns the parts of the capture, and the files of ``process-<pid>/``.

    Attributes:
        awake: whether a device is in use and the program is being recorded.
        awake_once: whether it was ever awake.
        tally: counts of what happened so far, while awake.
    """

    def __init__(
        self,
        run_directory: str,
        framework: str,
        watch: settings.SettingsWatch,
        given: options.Options | None = None,
    ) -> None:
        self._run = run_directory
        self._options = given or options.read()
        self._own_process = given is None  # otherwise a part of a program that goes on
        self._frontend = known = frontend.load(framework)
        self._sites = CallSites(known.packages, known.entries, known.wrappers)
        self.awake_once = self._gone = False
        self._description = Description(known, watch, self._sites)
        self._frontend.before_import()
        announce(run_directory, f"imported {framework}")

    @property
    def awake(self) -> bool:
        return self._events.awake

    @property
    def uses_device(self) -> bool:
        """Whether the program uses a device of the framework's, awake or not."""
        return bool(self._framework.devices())

    @property
    def running(self) -> bool:
        """Whether the wrappers are installed."""
        return self in captures

    @property
    def framework(self) -> str:
        """The name of the framework's module."""
        return self._frontend.name

    def start(self, module: Any) -> None:
        """Wrap the framework once its module has run. A fault here leaves the program as it is."""
        undo: list[Callable[[], None]] = []
        try:
            self._framework = framework = self._frontend.attach(module)
            self._recorder = Recorder(framework.counters, self._sites)
            self._graphs = Graphs(self._recorder)
            self._profiler = Profiler(framework.profiles)
            self._events = Events(framework, self._recorder, self._sites, self.fail)
            self._events.wake, self._events.leave_worker = self.wake, self.leave_worker
            self._reset()
            undo += [self._lines.end, framework.uninstall]
            parts = self._recorder, self._sites, self._events, self._graphs
            framework.install(Calls(*parts, framework.hooks))
            self._profiler.hand_over(self._give_way, self._take)
            captures.append(self)
            if self._frontend.replaces and not self._options.counts_only:
                process.at_exit(self._note_names)
        except Exception as fault:
            announce(self._run, f"fault {fault!r}")
            for action in reversed(undo):
                with contextlib.suppress(Exception):
                    action()

    def _reset(self) -> None:
        """Create everything that needs no files or threads: the state while asleep."""
        self._finished = self._named = False
        self._unnoted: Exception | None = None
        self._exit_ns: int | None = None
        self._pid = os.getpid()
        self._began_ns = clock.time_ns()
        self._waking = threading.Lock()
        self._lines = self._framework.source_lines()
        (self._lines.end if process.undecodable_file() else self._lines.begin)()
        self._events.reset(self._lines)

    def before_fork(self) -> None:
        """Called when the process is about to be forked."""
        if self.awake:
            self._guarded(self._timeline.before_fork)

    def begin_anew(self) -> None:
        """Start anew in a forked child, which shares no files, locks or faults with the parent."""
        if self._gone:
            return
        if self.awake:
            self._sampler.leave()
            self._probe.stop()
        self._lines.forget()
        self._recorder.reset()
        self._graphs.reset()
        self._profiler.forget()
        self._reset()

    # -- while it is awake -------------------------------------------------------------------

    def wake(self) -> None:
        """Create the folder and begin to record. Called when the program first uses a device."""
        with self._waking:
            if not self.awake and not self._recorder.off:
                self._guarded(self._wake)

    def _wake(self) -> None:
        state, began = self._recorder.thread(), clock.perf_counter_ns()
        self._folder = process.make_folder(self._run, self._pid)
        self._requests = asked = Requests(self._run, self._folder)
        keep_room_for_faults(self._folder)
        late = bool(self._framework.counters.compiled())
        self._no_log = self._begin_log(late)
        self._make_parts(late)
        if late:
            self._recorder.forget_the_past()
            self._modules.collect_earlier()
        disguise.install()
        self._events.listen(self._timeline, self._probe, self._options, asked)
        self.awake_once = True
        self._records.write_process(ended=False)
        asked.listen(self._recorder.threads)
        self._timeline.used()
        self._writer.thread.start()
        if not self._options.counts_only:
            self._sampler.thread.start()
            process.at_exit(self.finish)
            if self._own_process:
                termination.hold()
        state.step.begin += clock.perf_counter_ns() - began

    def _begin_log(self, late: bool) -> str | None:
        """Start the framework's log of its compilations; return why there is none, if so."""
        if undecodable := process.undecodable_file():
            self._lines.end()
            settings.unset_for_capture()
            return _UNDECODABLE.format(undecodable)
        if late or self._options.counts_only:
            return _LATE if late else "counts were asked for alone"
        if not self._frontend.logs:
            return None
        path = os.path.join(self._folder, "analysis.log")
        why_not = self._frontend.begin_log(path, settings.users(self._frontend.recorded))
        if why_not is None:
            self._recorder.log = CompilationLog(path)
        return why_not

    def _make_parts(self, late: bool) -> None:
        framework, recorder, sites = self._framework, self._recorder, self._sites
        profiles = os.path.join(self._run, "plugins", "profile")
        name = f"{socket.gethostname()}_{os.path.basename(self._folder)[8:]}"
        name += framework.profiles.suffix
        steps = self._options.trace_steps if framework.profiles.open else 0
        tracing = replace(self._options, trace_steps=steps)
        self._timeline = Timeline(self._profiler, tracing, profiles, name)
        most = self._options.trace_bytes
        self._modules = framework.modules(self._profiler, recorder, self._folder, most)
        if not self._options.counts_only:
            self._graphs.keep(self._folder, self._options.graph_bytes)
        self._probe = framework.probe(recorder, sites, self.fail)
        self.tally = Tally(framework.counters, recorder, self._probe, sites)
        report = None if late or self._options.counts_only else framework.counters.report
        self._writer = Writer(recorder, self._folder, self._tick, report, self.fail)
        self._run_queue = RunQueue(recorder, self._folder)
        self._sampler = Sampler(recorder, sites, self._writer.thread, self.fail)
        self._records = Records(
            self._folder,
            self._describe,
            sites,
            self._probe,
            self._sampler,
            self._timeline,
            self._modules,
        )

    def _tick(self) -> None:
        waiting = any(each.inside for each in self._recorder.threads if each.index or each.main)
        self._recorder.note_compilations()
        compilations = self._recorder.compilations
        self._timeline.tick(waiting or compilations.under_way(), compilations.ended())
        if self._finished:  # in the meantime: ending the timeline may take seconds
            return
        if not self._options.counts_only:
            self._modules.tick()
            self._graphs.write()
            self._events.memory.write()
        self._run_queue.tick()
        self._records.tick()
        self._obey()

    def _obey(self) -> None:
        """Do what the launcher asks for."""
        self._requests.listen(self._recorder.threads)
        if termination.is_due():
            for session in captures:
                session.finish()
        elif self._requests.flush():
            self._timeline.close("the end that was asked for")
            self._timeline.write()
            self._write_all()
            self._writer.write_metrics()
            self._records.write_samples()
            self._requests.flushed()

    def _describe(self) -> dict[str, Any]:
        """The contents of ``process.json`` about the process and its framework."""
        return {
            **self._description.of(self._framework, self._graphs),
            "pid": self._pid,
            "used_device": self._has_used_device(),
            "began_ns": self._began_ns,
            "exit_ns": self._exit_ns,
            "no_analysis_log": self._no_log,
        }

    def _has_used_device(self) -> bool:
        """Whether anything was uploaded, compiled or run, unlike in a launcher's parent process."""
        return bool(self._recorder.emitted or self._framework.counters.compiled())

    def flush(self) -> str:
        """Write everything recorded so far, with the compiled modules; return the folder."""
        self._timeline.make_room()
        self._write_all()
        return self._folder

    def _write_all(self) -> None:
        self._modules.collect()
        self._graphs.write()
        self._writer.drain()
        self._records.write_call_sites()
        self._records.write_process(ended=False)

    # -- its end -----------------------------------------------------------------------------

    def _give_way(self) -> None:
        if self.awake:
            self._guarded(self._timeline.give_way)

    def _take(self, file: str | None) -> None:
        if self.awake:
            self._guarded(lambda: self._timeline.take(file))

    def _guarded(self, action: Any) -> None:
        try:
            action()
        except Exception as fault:
            self.fail(fault)

    def fail(self, fault: Exception) -> None:
        """End the capture after a fault of its own; the program goes on.

        An exception raised by the program's signal handler is not such a fault, and is passed on.
        """
        disguise.pass_on(fault)
        self._recorder.off = True
        ends = (self._timeline.abandon, self._probe.stop) if self.awake else ()
        for action in (self._lines.end, lambda: self._note(fault), *ends):
            with contextlib.suppress(Exception):  # functions that the program replaced may raise
                action()
        termination.release()

    def _note(self, fault: Exception) -> None:
        """Write a fault down: now, or at the end if no file can be opened now."""
        noted = (
            note_fault(self._folder, fault)
            if self.awake
            else announce(self._run, f"fault {fault!r}")
        ) or note_fault(self._run, fault)
        self._unnoted = None if noted else fault

    def leave_worker(self) -> None:
        """Remove all traces of the capture: the process turned out to be a data loader's worker."""
        self._recorder.off = self._gone = True
        self._lines.end()
        self._framework.uninstall()

    def finish(self) -> None:
        """Finish the capture: the program, or the part to capture, has ended or is about to."""
        if not self.awake or os.getpid() != self._pid:
            return
        if self._finished:  # by the writer's thread, which a signal has asked to
            self._writer.thread.ended(_FINISHED_S)
            return
        self._finished = True
        self._exit_ns = clock.time_ns()
        self._recorder.off = True
        self._lines.end()
        records = self._records
        for action in (
            self._writer.stop,
            self._probe.stop,
            self._timeline.close,
            self._modules.collect,
            self._graphs.before_end,
            self._graphs.write,
            self._events.memory.write,
            lambda: self._recorder.tails() if self._has_used_device() else None,
            self._timeline.write,
            self._writer.close,
            self._run_queue.write,
            records.write_call_sites,
            records.write_samples,
            self._note_names,
            lambda: records.write_process(ended=True),
        ):
            self._guarded(action)
        if self._unnoted is not None:
            self._note(self._unnoted)
        give_room_back(self._folder)
        if all(session._finished for session in captures if session.awake):
            results.write()
            termination.release()

    def _note_names(self) -> None:
        """Note where the program uses names of a package that its framework has replaced; also if
        it used no device, as those names may be what ended it.
        """
        package, self._named = None if self._named else self._frontend.replaces, True
        if package is not None and not self._gone and os.getpid() == self._pid:
            other_names.announce_uses(self._run, package, self._description.main, self._sites)

    def uninstall(self) -> None:
        """Remove the wrappers, if the program outlives its capture."""
        self._recorder.off = self._gone = True
        if self.awake:
            self._writer.stop()
        self._events.awake = False
        captures.remove(self)
        self._lines.end()
        self._framework.uninstall()
        self._profiler.take_back()


#: The sessions of this process, awake or asleep.
captures: list[Session] = []


def _before_fork() -> None:
    for session in captures:
        session.before_fork()


def _after_fork() -> None:
    termination.forget()
    for session in captures:
        session.begin_anew()


os.register_at_fork(before=_before_fork, after_in_child=_after_fork)
