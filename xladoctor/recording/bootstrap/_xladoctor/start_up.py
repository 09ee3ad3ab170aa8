"""What the main thread does until the program's first step has ended: imports, the device, lines.

Imports of installed packages are timed from the start of the process by a finder that comes before
all others: the outermost of those under way. From the framework's import on, a thread looks at the
main thread's stack, less often as time passes: what it sees took the time since its last look. It
ends with the first step, or with the first fork before a device is in use, as a process with
several threads is warned when it forks.
"""

from __future__ import annotations

import _thread
import functools
import gc
import importlib.util
import os
import sys
from importlib.machinery import ExtensionFileLoader, ModuleSpec, SourceFileLoader
from types import FrameType, ModuleType
from typing import TYPE_CHECKING, Any, Mapping, Sequence

from . import clock
from .background import Background
from .disguise import hide_frames

if TYPE_CHECKING:
    from .call_site import CallSites

_PERIOD_S = 0.05
_SHARE = 0.005  # of the time so far, between two looks
_MOST_ROWS = 2000
_WAIT_S = 1.0  # for the thread to end, which takes microseconds
_MOMENT_S = 2e-3
_INSTALLED = "-packages" + os.sep
_NOT_USERS = ("<", os.path.dirname(os.__file__) + os.sep, os.path.dirname(__file__) + os.sep)

_Line = tuple[str, int, str]


class Imports:
    """A finder that finds nothing itself: it times what the others find.

    Attributes:
        under_way: whether the main thread imports an installed package.
        rows: nanoseconds by package and line of the program.
    """

    def __init__(self) -> None:
        self.under_way = self._looking = False
        self.rows: dict[tuple[str, _Line | None], int] = {}
        self._main = _thread.get_ident()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if self.under_way or self._looking or target or _thread.get_ident() != self._main:
            return None
        self._looking, begin = True, clock.perf_counter_ns()
        try:
            spec = importlib.util.find_spec(fullname)
        finally:
            self._looking = False
        loader: Any = spec and spec.loader
        if spec and type(loader) in _LOADERS and _INSTALLED in (spec.origin or ""):
            timed = functools.partial(self._execute, loader, vars(loader).copy(), begin)
            loader.exec_module = timed
        return spec

    def _execute(self, loader: Any, before: dict[str, Any], begin: int, module: ModuleType) -> None:
        vars(loader).pop("exec_module", None)
        vars(loader).update(before)  # as the capture's own finder has left it
        outermost, self.under_way = not self.under_way, True
        try:
            loader.exec_module(module)
        except BaseException as error:
            hide_frames(error)
            raise
        finally:
            if outermost:
                self.under_way = False
                key = module.__name__.partition(".")[0], _users(sys._getframe(1))
                self.rows[key] = self.rows.get(key, 0) + clock.perf_counter_ns() - begin


_LOADERS = (SourceFileLoader, ExtensionFileLoader)  # one for each module, as others may not be


class StartUp:
    """Times the imports of this process, and looks at its main thread once asked to."""

    def __init__(self) -> None:
        self._imports = Imports()
        sys.meta_path.insert(0, self._imports)
        self._main = _thread.get_ident()
        self._thread = Background(self._run)
        self._stopped = _thread.allocate_lock()
        self._begun = False
        self._stages: dict[str, str] = {}
        self._rows: dict[tuple[str | None, _Line | None], list[int]] = {}

    def begin(self, stages: Mapping[str, str]) -> None:
        """The program is about to import a framework, which has these stages: see :mod:`.frontend`.

        Workers that the program starts as processes of their own are left alone.
        """
        self._stages.update(stages)
        worker = "--multiprocessing-fork" in sys.orig_argv
        if not (self._begun or worker) and _thread.get_ident() == self._main:
            self._begun = True
            self._looked, self._read = clock.perf_counter_ns(), _bytes_read()
            self._stopped.acquire()
            self._thread.start()

    def stop(self) -> None:
        """Look no more, and wait until the thread has ended."""
        if self._begun and self._stopped.locked():
            self._stopped.release()
            self._thread.ended(_WAIT_S)
            clock.sleep(_MOMENT_S)  # the interpreter's part of it ends after ours

    def leave(self) -> None:
        """Time no more imports; also called in a forked child, which has no thread to wait for."""
        if self._imports in sys.meta_path:
            sys.meta_path.remove(self._imports)

    def _run(self) -> None:
        begin, pause = self._looked, _PERIOD_S
        try:
            while not self._stopped.acquire(timeout=pause) and not _stepped():
                self._look()
                pause = max(_PERIOD_S, _SHARE * (self._looked - begin) / 1e9)
        except Exception:  # what is not known is reported as that
            return

    def _look(self) -> None:
        now, read = clock.perf_counter_ns(), _bytes_read()
        if not self._imports.under_way:
            collects = sys.version_info < (3, 12) and gc.isenabled()  # see the sampler
            if collects:
                gc.disable()
            try:
                key = _stage(sys._current_frames().get(self._main), self._stages)
            finally:
                if collects:
                    gc.enable()
            if key in self._rows or len(self._rows) < _MOST_ROWS:
                row = self._rows.setdefault(key, [0, 0])
                row[0] += now - self._looked
                row[1] += read - self._read
        self._looked, self._read = now, read

    def rows(self, sites: CallSites) -> list[dict[str, Any]]:
        """What was seen so far, as in ``host_samples.json``."""
        names = "what", "package", "duration_ns", "read_bytes", "site"
        rows: list[tuple[Any, ...]] = [
            ("import", package, spent, None, _site(line, sites))
            for (package, line), spent in self._imports.rows.copy().items()
        ]
        rows += [
            (what, None, *spent, _site(line, sites))
            for (what, line), spent in self._rows.copy().items()
        ]
        return [dict(zip(names, row)) for row in rows]


def _site(line: _Line | None, sites: CallSites) -> int | None:
    return line and sites.intern((*line, None, None, None, ""), sample=True)


def _stage(frame: FrameType | None, stages: Mapping[str, str]) -> tuple[str | None, _Line | None]:
    """What the innermost of these functions on the stack is, and the program's line that led to the
    outermost; without one the program's line.
    """
    what, entered, outer = None, frame, frame
    while outer is not None:
        code = outer.f_code
        if code.co_name in stages and _INSTALLED in code.co_filename:
            what, entered = what or stages[code.co_name], outer
        outer = outer.f_back
    return what, _users(entered)


def _users(frame: FrameType | None) -> _Line | None:
    """The innermost line of the program's own."""
    while frame is not None and not _is_users(frame):
        frame = frame.f_back
    return frame and _line(frame)


def _is_users(frame: FrameType) -> bool:
    file = frame.f_code.co_filename
    own = not file.startswith(_NOT_USERS) and _INSTALLED not in file
    return own or frame.f_globals.get("__name__") == "__main__"


def _line(frame: FrameType) -> _Line:
    code = frame.f_code
    name = getattr(code, "co_qualname", code.co_name)
    return code.co_filename, frame.f_lineno or code.co_firstlineno, name


def _bytes_read() -> int:
    """Bytes that this process has read so far, of files and whatever else; 0 if unknown."""
    try:
        with open("/proc/self/io", "rb") as file:
            return int(file.readline().split()[1])
    except (OSError, ValueError, IndexError):
        return 0


#: What is seen of this process, if ``xladoctor run`` has started it.
_watched: list[StartUp] = []


def watch() -> None:
    """Begin to time imports, until the process ends."""
    _watched.append(StartUp())
    os.register_at_fork(before=_before_fork, after_in_child=_after_fork)


def watched() -> StartUp | None:
    """What was seen of this process; None if it was not started by ``xladoctor run``."""
    return _watched[0] if _watched else None


def _captures() -> list[Any]:
    return getattr(sys.modules.get(f"{__package__}.session"), "captures", [])


def _stepped() -> bool:
    """Whether a step of the program has ended."""
    return any(state.index for each in _captures() for state in each._recorder.threads)


def _before_fork() -> None:
    if not any(each.awake for each in _captures()):
        for each in _watched:
            each.stop()


def _after_fork() -> None:
    while _watched:
        _watched.pop().leave()
