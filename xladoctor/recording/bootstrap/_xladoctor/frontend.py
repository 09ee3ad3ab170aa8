"""What the capture must know about a framework: the protocol of a *frontend*, and all frontends.

The capture of a frontend is a package, named after the module whose import starts it. It holds
``FRONTEND``, imports only the standard library, and is imported only when the program imports the
framework. Nothing outside of it knows the framework.
"""

from __future__ import annotations

import os
import sys
from contextlib import AbstractContextManager
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from typing import TYPE_CHECKING, Any, Callable, NamedTuple, Protocol, Sequence

from .originals import Loader

if TYPE_CHECKING:
    from .call_site import CallSites
    from .calls import Calls
    from .profiler import Profiler
    from .recorder import Recorder
    from .step import ThreadState

#: A value that the program's code gave to a setting, and where: file, line and function.
Setting = tuple[str, tuple[str, int, str]]
#: All frontends. One whose capture is not beside this file has its folder (``FOLDER/capture``).
FRONTENDS: dict[str, str | None] = dict.fromkeys(("torch_xla", "jax", "torch_tpu", "torch"))
#: Other frontends may be built on this one; it records only if none of them is in use.
BASE = "torch"
#: Names the frontends in other folders for child processes: ``NAME=FOLDER``, separated as in
#: ``PATH``.
VARIABLE = "XLADOCTOR_FRONTENDS"


class InJob(NamedTuple):
    """Where a process is in a distributed job, as far as it is known.

    Attributes:
        rank: which of the processes it is.
        world_size: how many these are.
        slice: which slice of a pod of TPUs its devices are in.
    """

    rank: int | None = None
    world_size: int | None = None
    slice: int | None = None


class Frontend(Protocol):
    """What is known before the framework is imported.

    Attributes:
        name: the module whose import starts the capture.
        packages: installed packages whose frames are the framework's own.
        recorded: environment variables that change how it works, and may be written to disk.
        ranks: environment variables that may hold a process's rank, and how many processes there
            are, the most reliable first.
        entries: its functions that do not name a call, and neither does what they call.
        wrappers: its functions that do not name a call, while what they call may.
        logs: whether it can log its compilations.
        replaces: the package that its programs may still name, as they were written for it; None
            if there is none.
    """

    name: str
    packages: frozenset[str]
    recorded: tuple[str, ...]
    ranks: tuple[tuple[str, str], ...]
    entries: frozenset[str]
    wrappers: frozenset[str]
    logs: bool
    replaces: str | None

    def before_import(self) -> None:
        """Called before the module runs, to set what it reads then."""

    def attach(self, module: Any) -> Framework:
        """The framework whose ``module`` has just been imported. Wraps nothing yet."""

    def begin_log(self, path: str, users: dict[str, str]) -> str | None:
        """Have the framework log its compilations, and set what else the capture wants set.

        Args:
            path: the log; see :class:`.compilation_log.CompilationLog`.
            users: the recorded variables that the program or its environment set.

        Returns:
            Why there will be no such log; None if there will be one.
        """


class Framework(Protocol):
    """The imported framework."""

    @property
    def counters(self) -> Counters:
        """The framework's counters."""

    @property
    def profiles(self) -> Profiles:
        """The framework's profiler."""

    def install(self, calls: Calls) -> None:
        """Wrap barriers (or launches), reads, uploads, waits for input and saves."""

    def uninstall(self) -> None:
        """Undo :meth:`install`, except where the program has replaced a wrapper since."""

    def source_lines(self) -> SourceLines:
        """The switch for source lines in graphs, as the program has set it."""

    def probe(
        self, recorder: Recorder, sites: CallSites, fail: Callable[[Exception], None]
    ) -> Probe:
        """The probe that finds the lines of fallbacks."""

    def annotation(self, name: str, **values: Any) -> AbstractContextManager[Any]:
        """A context that records an event with this name and these values in the timeline."""

    def versions(self) -> dict[str, str]:
        """The versions of the framework's packages."""

    def settings(self) -> dict[str, Setting]:
        """What the program has set in its code, by name; the environment is read elsewhere."""

    @property
    def accelerators(self) -> list[str] | None:
        """Kinds of accelerators, named as in :meth:`devices`, that the machine has and the
        framework can drive; None if unknown.
        """

    def devices(self) -> list[str]:
        """Devices in use, such as ``CPU:0``; empty while there are none."""

    @property
    def in_job(self) -> InJob:
        """Where this process is in a distributed job, as far as the framework knows it."""

    @property
    def missing(self) -> dict[str, str]:
        """Hooks that this release of the framework does not support, with reasons."""

    def modules(
        self, profiler: Profiler, recorder: Recorder, folder: str, limit: int
    ) -> KeptModules:
        """A writer of the compiled modules to a folder, at most ``limit`` bytes."""


class KeptModules(Protocol):
    """Writes compiled modules; see :class:`.modules.Modules`.

    Attributes:
        files: for each file written: its name, the process's compilations until then, bytes.
        too_large: whether modules were left out for their size.
    """

    files: list[dict[str, Any]]
    too_large: bool

    def tick(self) -> None:
        """Called four times a second."""

    def collect(self) -> None:
        """Write modules that are new."""

    def collect_earlier(self) -> None:
        """Collect modules from before the capture, to distinguish them from later ones."""


class Counters(Protocol):
    """Counts of the whole process; reading one takes well under a microsecond.

    Attributes:
        reports_each: whether the frontend reports each compilation when it ends.
        compiled: returns the compilations begun; None for none.
        relaunched: returns the launches of graphs compiled earlier; None for none.
        value: returns a counter's value; None if it has counted nothing yet.
        reads: the names in :meth:`fallbacks` that count reads of values.
        report: returns the framework's metrics report as text; None if it has none.
    """

    reports_each: bool
    reads: frozenset[str]

    @property
    def compiled(self) -> Callable[[], int | None]: ...

    @property
    def relaunched(self) -> Callable[[], int | None]: ...

    @property
    def value(self) -> Callable[[str], int | None]: ...

    @property
    def report(self) -> Callable[[], str] | None: ...

    def compile_times(self) -> tuple[int, float, Sequence[tuple[float, float]]]:
        """The number of compilations that have ended, their total nanoseconds, and for the latest
        ones (end in seconds since 1970, nanoseconds). Empty if the frontend reports each.
        """

    def names(self) -> list[str]:
        """The names of all counters."""

    def fallbacks(self) -> list[str]:
        """Names of the counters of operators that ran on the host instead of the device so far."""

    def is_fallback(self, name: str) -> bool:
        """Whether a counter counts such an operator."""


class Profiles(Protocol):
    """The profiler. A process can have one session at a time.

    Attributes:
        open: begins a session; None if there is no profiler with useful timelines.
        suffix: how the names of its timeline files end.
        light: whether sessions are cheap: they can be repeated, even just to warm up, end at once
            whatever they have recorded, and record nothing in a forked child.
    """

    suffix: str
    light: bool

    @property
    def open(self) -> Callable[[], ProfilerSession] | None: ...

    def hand_over(self, begin: Callable[[], int], end: Callable[[int, str | None], None]) -> None:
        """Report the profiles that the program itself records of this process.

        Args:
            begin: called before a profile begins; returns its number.
            end: called after it, with its number and the timeline file, if it wrote one.
        """

    def take_back(self) -> None:
        """Undo :meth:`hand_over`."""


#: A serialized XSpace, or a function that writes the timeline to a given path.
Recorded = bytes | Callable[[str], None]


class ProfilerSession(Protocol):
    def stop(self) -> Recorded:
        """End the session; return what it recorded.

        Raises:
            RuntimeError: another session was open.
        """


class SourceLines(Protocol):
    """Switches source lines in graphs at run time, unless the program set them itself.

    Attributes:
        recording: whether operations get their Python lines now.
    """

    recording: bool

    def begin(self) -> None:
        """Switch lines on from the start, so that the first graph has them."""

    def before_call(self) -> None:
        """Called before a call that may compile."""

    def after_call(self) -> None:
        """Called after it."""

    def step(self, quiet: int) -> None:
        """Called after a step, with the number of steps since the last compilation."""

    def forget(self) -> None:
        """Called in a forked child, where another thread's lock may be held."""

    def end(self) -> None:
        """Restore the program's own setting."""


class Probe(Protocol):
    """Looks for the lines of fallbacks, in some steps, which it marks (``ThreadState.probed``).

    Attributes:
        rows: by operator and call site: fallbacks, nanoseconds, nanoseconds of compiling.
        calls: calls into the framework that were examined.
    """

    rows: dict[tuple[str, int | None], list[int]]
    calls: int

    def is_due(self, state: ThreadState) -> bool:
        """Whether :meth:`at_barrier` has to be called at this barrier."""

    def at_barrier(self, state: ThreadState) -> None:
        """End the probe of a step; begin another if some fallbacks have no line yet."""

    def begin(self, state: ThreadState) -> bool:
        """Probe until the next barrier or :meth:`end`; return whether that is possible."""

    def end(self, state: ThreadState) -> None:
        """Stop probing, if no barrier has ended it."""

    def stop(self) -> None:
        """Stop probing, on whatever thread."""


def handed_down() -> str:
    """The value of ``VARIABLE`` for child processes."""
    return os.pathsep.join(f"{name}={folder}" for name, folder in FRONTENDS.items() if folder)


def inherit() -> None:
    """Add the frontends that the parent process handed down in ``VARIABLE``."""
    for entry in filter(None, os.environ.get(VARIABLE, "").split(os.pathsep)):
        name, _, folder = entry.partition("=")
        FRONTENDS[name] = folder


def load(name: str) -> Frontend:
    """The frontend of a framework, by the name of its module."""
    package = f"{__package__}.{name}"
    if (folder := FRONTENDS.get(name)) and package not in sys.modules:
        path = os.path.join(folder, "capture")
        file = os.path.join(path, "__init__.py")
        spec: Any = spec_from_file_location(
            package, loader=Loader(package, file), submodule_search_locations=[path]
        )
        sys.modules[package] = module_from_spec(spec)
        spec.loader.exec_module(sys.modules[package])
    frontend: Frontend = import_module(package).FRONTEND
    return frontend
