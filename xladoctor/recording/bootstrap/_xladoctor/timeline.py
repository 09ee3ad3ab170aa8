"""Records the timeline: the profiler over a window of steps.

By default the window opens when the loop is steady: warm-up compiles, fills caches, and says
nothing about the steps that follow. A program whose loop never becomes steady is traced anyway.
Until then a provisional window is open from the start. It is dropped once the loop is steady; a
program without barriers, or one that ends after three steps, has no other.

A program may profile itself. Its own profile has priority, and is kept beside ours: it is the
timeline of the run if ours has little or nothing.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import threading
from typing import Any

from . import clock
from .files import replace_file
from .frontend import Recorded
from .options import Options
from .profiler import Profiler
from .recorded_size import RecordedSize
from .warmup import WARMUP

_AT_REST = 2  # barriers in a row that compiled nothing
_RESTLESS = 10  # barriers after which the window opens whatever the loop does
_OUTLIER_STEPS = 20
#: Bytes of the file for each second that ending the recording takes.
_ENDED_A_SECOND = 13e6
#: If ending would take longer than this, in seconds and as a share of the run so far, few steps are
#: enough. In a compiled loop each operation of each iteration is an event: thousands per step.
_END_S, _END_SHARE = 1.0, 0.05
#: Once it has a few steps, the window is open for at most this many times its seconds, with
#: compiling and waiting: what is not written is lost if somebody kills the slow program.
_LONGEST = 4
_WITHOUT_BARRIERS_S = 5.0  # then the modules are collected, which needs the profiler
#: Steps that are enough after so many seconds, if the profiler is not light: ending it takes about
#: half the time for which calls without a pause were recorded.
_SHORT = ((10, 1.5), (4, 4.0))
#: Steps before the size closes the window, as the memory may be the program's own. If it is
#: _BEYOND times the limit, fewer steps are enough, and without barriers none.
_LEAST_STEPS, _LEAST_STEPS_BEYOND, _BEYOND = 10, 3, 24
_LEAST_STEPS_OF_COSTLY = 5
_ENOUGH = 10  # steady steps in the program's own profile that make ours unnecessary


class Timeline:
    """One window, and a second one after an outlier step. Thread-safe."""

    def __init__(self, profiler: Profiler, options: Options, folder: str, name: str) -> None:
        """Writes to ``<folder>/<session>/<name>``."""
        self._profiler = profiler
        self._options = options
        self._folder = folder
        self._name = name
        self._lock = profiler.lock  # shared, since both would be taken together
        self._writing = threading.Lock()
        self._session: Any = None
        self._limit = options.trace_steps
        self._waiting = options.trace_steps > 0
        self._second = self._waiting and profiler.light
        self._provisional = self._barriers = self._too_large = False
        self._spent = self._opened = 0.0
        self._began = self._last_tick = clock.monotonic()
        self._size = RecordedSize(0)
        self._compiled = 0
        self._unwritten: list[tuple[dict[str, Any], str, Recorded]] = []
        self._wanted = options.trace_steps > 0
        self.windows: list[dict[str, Any]] = []
        self._following: dict[str, Any] | None = None  # the program's profile, while it lasts
        self._steady = 0  # steady steps in it
        self._programs: dict[str, Any] | None = None  # the program's profile that is kept

    def described(self) -> list[dict[str, Any]]:
        """The windows, and the profile of the program that is kept."""
        return self.windows + ([self._programs] if self._programs else [])

    @property
    def active(self) -> bool:
        return self._session is not None

    @property
    def watches(self) -> bool:
        """Whether :meth:`barrier` has to be called now."""
        watching = self._waiting or self._session is not None or self._following is not None
        return watching or not self._barriers

    def used(self) -> None:
        """Called when the program first uses a device."""
        with self._lock:
            self._began = clock.monotonic()
            if self._profiler.is_the_programs:
                self.give_way()
            after = self._options.trace_after
            at_once = self._profiler.light if after is None else after == 0
            if self._waiting and at_once:
                self._waiting = not self._open()
                self._provisional = self.active and after is None

    def barrier(self, barriers: int, quiet: int) -> None:
        """Called when a thread closes a step.

        Args:
            barriers: the steps that it has closed.
            quiet: the steps since the last compilation.
        """
        self._barriers = True
        if self._following is not None:
            self._following["steps"] += 1
            self._steady += self._is_due(barriers, quiet)
        elif (self._provisional or self._waiting) and self._is_due(barriers, quiet):
            self._begin()
        elif self.active:
            self._count()

    def _is_due(self, barriers: int, quiet: int) -> bool:
        after = self._options.trace_after
        if after is not None:
            return barriers >= after
        return (barriers >= WARMUP and quiet >= _AT_REST) or barriers >= _RESTLESS

    def begin_anew(self) -> None:
        """Called when the main loop is found: everything so far was set-up."""
        with self._lock:
            over = self._profiler.light and not self._second
            fixed = self._options.trace_after is not None or self._following or over
            if fixed or self._waiting or self._provisional:
                return
            if self.active:
                session, self._session = self._session, None
                self._profiler.stop(session)
            self._forget()
            self._too_large = False
            self._waiting = self._wanted and self._profiler.light

    def _forget(self) -> None:
        """Drop the window that has ended."""
        if not self.windows:
            return
        with self._writing:
            window = self.windows.pop()
            self._unwritten = [row for row in self._unwritten if row[0] is not window]
            if "file" in window:
                with contextlib.suppress(OSError):
                    os.remove(os.path.join(self._folder, window["session"], self._name))

    def read(self) -> None:
        """Called after a read: in a program without barriers, its loop is cut at reads."""
        if self.active and not self._barriers:
            self._count()

    def _count(self) -> None:
        with self._lock:
            if self.active:
                self.windows[-1]["steps"] += 1
                if self.windows[-1]["steps"] >= self._limit and not self._in_warm_up:
                    self._reach_limit("step limit")
                elif not self._profiler.light and self._is_long_enough():
                    self.end("time limit")

    def _is_long_enough(self) -> bool:
        passed, had = clock.monotonic() - self._opened, self.windows[-1]["steps"]
        return any(had >= steps and passed >= seconds for steps, seconds in _SHORT)

    @property
    def _in_warm_up(self) -> bool:
        """Whether the recording will be dropped once the loop is steady."""
        return self._provisional and self._barriers

    def outlier(self) -> bool:
        """Open a second window after an outlier step, once; return whether it is open."""
        with self._lock:
            if self._waiting or self.active or self._too_large or not self._second:
                return False
            self._second, self._limit = False, _OUTLIER_STEPS
            return self._open()

    def _begin(self) -> None:
        """Open the window, and drop what was recorded so far."""
        with self._lock:
            self._drop()
            if self._waiting:
                self._forget()
                self._waiting = not self._open()

    def _drop(self) -> None:
        with self._lock:
            if self._provisional:
                session, self._session = self._session, None
                self._provisional, self._waiting = False, True
                self.windows.pop()
                self._profiler.stop(session)

    def before_fork(self) -> None:
        """Drop the recording: in the child it would go on, in its memory, and never end."""
        with self._lock:
            if self.active and not self._profiler.light:
                self.end("a fork of the process")

    def _open(self) -> bool:
        session = self._profiler.start()
        if session is None:  # modules are being collected, or the program profiles itself
            return False
        self.windows.append(_begun())
        self._last_tick, self._spent = clock.monotonic(), 0.0
        self._opened = self._last_tick
        self._size = RecordedSize(self._compiled)
        self._session = session
        return True

    def tick(self, busy: bool, compiled: int) -> None:
        """Called four times a second.

        Args:
            busy: whether the program is inside a compilation or a wait.
            compiled: compilations that have ended so far.
        """
        self._compiled = compiled
        now = clock.monotonic()
        passed, self._last_tick = now - self._last_tick, now
        if self.active:
            self._spent += 0.0 if busy else passed
            spent = not busy and self._spent >= self._options.trace_seconds
            if spent or self._is_long_open(now):
                self._reach_limit("time limit")
            elif limit := self._limit_of_size():
                self._reach_limit(limit)
            elif self._lacks_barriers(now):
                self._do_without_barriers()
        self.write()

    def _is_long_open(self, now: float) -> bool:
        longest = _LONGEST * self._options.trace_seconds
        return (
            now - self._opened >= longest
            and self.windows[-1]["steps"] >= WARMUP
            and not self._in_warm_up
        )

    def _lacks_barriers(self, now: float) -> bool:
        """Whether only reads cut the program's graphs, so that its loop may never be steady."""
        return (
            self._provisional
            and not self._barriers
            and now - self._opened >= _WITHOUT_BARRIERS_S
            and self.windows[-1]["steps"] >= WARMUP
        )

    def _do_without_barriers(self, why: str = "no barrier") -> None:
        """Keep the recording so far, unless a loop with barriers follows after all."""
        with self._lock:
            self.end(why)
            self._waiting = True

    def _reach_limit(self, which: str) -> None:
        with self._lock:
            self._too_large |= which in ("size limit", "slow end")
            if self._in_warm_up:
                self._drop()
            elif self._provisional:  # it shows the set-up; no loop has followed yet
                self._do_without_barriers(which)
            else:
                self.end(which)

    def make_room(self) -> None:
        """Free the profiler, so that the compiled modules can be collected now."""
        if self.active:
            self._reach_limit("a failed expectation")

    def _limit_of_size(self) -> str | None:
        """The limit that the size of the recording has reached, if any."""
        steps = self.windows[-1]["steps"]
        self._size.measure(self._compiled, steps)
        size, limit = self._size.bytes, self._options.trace_bytes
        beyond = size > _BEYOND * limit
        if not self._barriers:
            return "size limit" if beyond else None
        if size > limit and steps >= (_LEAST_STEPS_BEYOND if beyond else _LEAST_STEPS):
            return "size limit"
        if steps >= _LEAST_STEPS_OF_COSTLY and self._ends_slowly(size):
            return "slow end"
        return None

    def _ends_slowly(self, size: float) -> bool:
        """Whether ending a timeline of so many bytes takes a noticeable part of the run.

        Somebody who asks for more steps than usual has asked for that.
        """
        passed = clock.monotonic() - self._began
        usual = self._limit <= Options.trace_steps
        return usual and size / _ENDED_A_SECOND > max(_END_S, _END_SHARE * passed)

    def end(self, why: str) -> None:
        """Close the window. :meth:`write` writes its contents, on the writer's thread."""
        with self._lock:
            session, self._session = self._session, None
            self._waiting = self._provisional = False
            if session is None:
                return
            window = self.windows[-1]
            window |= _ended(window, why)
            space, spent = self._profiler.stop(session)
            if space is None:
                window["ended_by"] = "another profile of the program"
                return
            name = self._options.session + ("-outlier" if len(self.windows) > 1 else "")
            window |= {"stop_ns": spent, "session": name}
            self._unwritten.append((window, os.path.join(self._folder, name, self._name), space))

    def give_way(self) -> None:
        """Called when the program starts a profile of its own."""
        with self._lock:
            self._second = False
            if self._in_warm_up or (self._provisional and not self.windows[-1]["steps"]):
                self._drop()
            elif self.active:
                self.end("the program's own profile")
            if self._wanted and self._following is None:
                self._steady = 0
                self._following = {**_begun(), "of_program": True}

    def take(self, file: str | None, ended_by: str = "the program") -> None:
        """Called when the program's profile is over; ``file``: where it was written, if it was."""
        with self._lock:
            window, self._following = self._following, None
            if window is None:
                return
            window |= _ended(window, ended_by)
            kept = self._programs or {"steps": -1}
            if (file is not None, window["steps"]) >= ("session" in kept, kept["steps"]):
                self._programs = window
                if file is not None:
                    self._keep(file, window)

    def _keep(self, file: str, window: dict[str, Any]) -> None:
        """Copy or link the program's profile at once, before the program can delete it."""
        folder = os.path.join(self._folder, f"{self._options.session}-program")
        path = os.path.join(folder, self._name)
        os.makedirs(folder, exist_ok=True)
        with contextlib.suppress(FileNotFoundError):
            os.remove(path)
        try:
            os.link(file, path)
        except OSError:  # on another file system
            shutil.copyfile(file, path)
        window |= {
            "session": os.path.basename(folder),
            "bytes": os.path.getsize(path),
            "file": self._name,
        }
        if self._steady >= _ENOUGH:
            self._waiting = False

    def close(self, why: str = "end of program") -> None:
        """End the window for good."""
        with self._lock:
            self._second = False
            self.end(why)
            self.take(None, why)

    def abandon(self) -> None:
        """Stop after a fault of the capture: nothing more is recorded or written."""
        with self._lock:
            session, self._session = self._session, None
            self._waiting = self._second = self._provisional = False
            if session is not None:
                self._profiler.stop(session)

    def write(self) -> None:
        """Write the windows that are closed; a reader sees the whole file or none."""
        with self._writing:
            while self._unwritten:
                window, path, space = self._unwritten[0]
                began = clock.perf_counter_ns()
                os.makedirs(os.path.dirname(path), exist_ok=True)
                if callable(space):
                    space(path)
                else:
                    replace_file(path, space)
                window |= {
                    "bytes": os.path.getsize(path),
                    "file": self._name,
                    "write_ns": clock.perf_counter_ns() - began,
                }
                del self._unwritten[0]


def _begun() -> dict[str, Any]:
    return {"begin_ns": clock.time_ns(), "jumped_ns": clock.jumped_ns(), "steps": 0}


def _ended(window: dict[str, Any], why: str) -> dict[str, Any]:
    """The fields of a window's end. ``jumped_ns``: how far the wall clock, which the profiler also
    uses, was set during the window.
    """
    jumped = clock.jumped_ns() - window.pop("jumped_ns")
    return {"end_ns": clock.time_ns(), "ended_by": why, **({"jumped_ns": jumped} if jumped else {})}
