"""What the capture must know about a framework: the protocol of a *frontend*, and all frontends.

The capture of a frontend is a package, named after the module whose import starts it. It holds
``FRONTEND``, imports nothing but the standard library, and is itself imported only when the program
imports the framework. Nothing outside of it knows the framework.
"""

from __future__ import annotations

import os
import sys
from contextlib import AbstractContextManager
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from typing import TYPE_CHECKING, Any, Callable, Protocol, Sequence

if TYPE_CHECKING:
    from .call_site import CallSites
    from .calls import Calls
    from .profiler import Profiler
    from .recorder import Recorder
    from .step import ThreadState

#: A value that the program's code gave to a setting, and the line: file, number and function.
Setting = tuple[str, tuple[str, int, str]]
#: All there are, each with its folder if that is elsewhere (``FOLDER/capture``, not beside this
#: file).
FRONTENDS: dict[str, str | None] = {"torch_xla": None, "jax": None, "torch": None}
#: Others may be built on this one, which records where none of them is in use.
BASE = "torch"
#: Hands down those elsewhere to the processes of a program: ``NAME=FOLDER``, as in ``PATH``.
VARIABLE = "XLADOCTOR_FRONTENDS"


class Frontend(Protocol):
    """What is known before the framework is imported.

    Attributes:
        name: the module whose import starts the capture.
        packages: installed packages whose frames are the framework's own.
        recorded: environment variables that change how it works, and may be written to disk.
        ranks: environment variables that may number a process of several, the surest first.
        entries: functions of it that are no name of a call, nor is what they call.
        wrappers: functions of it that are no name of a call.
        logs: whether it can log its compilations.
    """

    name: str
    packages: frozenset[str]
    recorded: tuple[str, ...]
    ranks: tuple[str, ...]
    entries: frozenset[str]
    wrappers: frozenset[str]
    logs: bool

    def attach(self, module: Any) -> Framework:
        """The framework, whose ``module`` has just been imported. Wraps nothing yet."""

    def begin_log(self, path: str, users: dict[str, str]) -> str | None:
        """Have the framework log its compilations, and set what else the capture wants set.

        Args:
            path: the log; see :class:`.compilation_log.CompilationLog`.
            users: the recorded variables that the program or its environment set.

        Returns:
            Why there will be no such log, if there will be none.
        """


class Framework(Protocol):
    """The imported framework."""

    @property
    def counters(self) -> Counters:
        """What it counts."""

    @property
    def profiles(self) -> Profiles:
        """Its profiler."""

    def install(self, calls: Calls) -> None:
        """Wrap barriers (or launches), reads, uploads, waits for input and saves."""

    def uninstall(self) -> None:
        """Put everything back, unless the program has replaced it since."""

    def source_lines(self) -> SourceLines:
        """The switch of its IR locations, as the program has it."""

    def probe(
        self, recorder: Recorder, sites: CallSites, fail: Callable[[Exception], None]
    ) -> Probe:
        """What finds the lines of fallbacks."""

    def annotation(self, name: str, **values: Any) -> AbstractContextManager[Any]:
        """An event of this name and these values in the timeline."""

    def versions(self) -> dict[str, str]:
        """Its packages and their versions."""

    def settings(self) -> dict[str, Setting]:
        """What the program has set in its code, by name; the environment is read elsewhere."""

    @property
    def accelerators(self) -> list[str] | None:
        """Kinds of accelerators, as in :meth:`devices`, that the machine has and the framework can
        drive; None where that cannot be told.
        """

    def devices(self) -> list[str]:
        """As ``CPU:0``; none while no device is in use."""

    @property
    def rank(self) -> int | None:
        """The number of this process among several; None where only the environment may tell."""

    @property
    def missing(self) -> dict[str, str]:
        """Hooks that this release of it has no place for, each with the reason."""

    def modules(
        self, profiler: Profiler, recorder: Recorder, folder: str, limit: int
    ) -> KeptModules:
        """What writes the compiled modules to a folder, at most ``limit`` bytes."""


class KeptModules(Protocol):
    """Writes compiled modules; see :class:`.modules.Modules`.

    Attributes:
        files: what was written: file, compilations of the process until then, bytes.
        too_large: whether some were left out.
    """

    files: list[dict[str, Any]]
    too_large: bool

    def tick(self) -> None:
        """Called four times a second."""

    def collect(self) -> None:
        """Write what is new."""

    def collect_earlier(self) -> None:
        """Those from before the capture, to tell them from what is compiled from now on."""


class Counters(Protocol):
    """Counts of the whole process, each asked for in well under a microsecond.

    Attributes:
        tells_each: whether the frontend tells of each compilation when it has ended.
        compiled: compilations begun; None for none.
        relaunched: launches of graphs that had been compiled before; None for none.
        value: that of a counter; None where nothing was counted yet.
        reads: names of those among :meth:`fallbacks` that count reads of values.
        report: the metrics report, as the framework prints it; None where it has none.
    """

    tells_each: bool
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
        """Compilations ended, their nanoseconds together, and of the latest each when it ended (in
        seconds of the wall clock) and its nanoseconds; none of these where each is told of.
        """

    def names(self) -> list[str]:
        """All counters."""

    def fallbacks(self) -> list[str]:
        """Counters of operators that ran on the host instead of the device so far."""

    def is_fallback(self, name: str) -> bool:
        """Whether a counter is such a one."""


class Profiles(Protocol):
    """The profiler, of which a process can have one session at a time.

    Attributes:
        open: begins one; None if there is none whose timelines are of use.
        suffix: how the names of its timelines end.
        light: whether it can record again and again, as a warm-up only to throw it away, ends at
            once whatever it has recorded, and records nothing in a forked child.
    """

    suffix: str
    light: bool

    @property
    def open(self) -> Callable[[], ProfilerSession] | None: ...

    def hand_over(self, begin: Callable[[], int], end: Callable[[int, str | None], None]) -> None:
        """Tell of the program's own profiles of this process.

        Args:
            begin: called before one begins; returns its number.
            end: called when it is over, with its number and the timeline that it wrote, if it did.
        """

    def take_back(self) -> None:
        """As it was before."""


#: A serialized XSpace, or what writes a timeline to a file of this path.
Recorded = bytes | Callable[[str], None]


class ProfilerSession(Protocol):
    def stop(self) -> Recorded:
        """What it recorded. Raises RuntimeError where another session was open."""


class SourceLines(Protocol):
    """Switches IR locations at run time; never where the program asked for them itself.

    Attributes:
        recording: whether operations get their Python lines now.
    """

    recording: bool

    def begin(self) -> None:
        """On from the start, so that the first graph has lines."""

    def before_call(self) -> None:
        """A call begins that may compile."""

    def after_call(self) -> None:
        """It returned."""

    def step(self, quiet: int) -> None:
        """A step ended, the last of N without a compilation."""

    def forget(self) -> None:
        """In a forked child, where another thread's lock may be held."""

    def end(self) -> None:
        """As the program would have it without us."""


class Probe(Protocol):
    """Looks for the lines of fallbacks in some steps, which are marked (``ThreadState.probed``).

    Attributes:
        rows: fallbacks, nanoseconds, and those of compiling, by operator and call site.
        calls: calls of the framework that were looked at.
    """

    rows: dict[tuple[str, int | None], list[int]]
    calls: int

    def is_due(self, state: ThreadState) -> bool:
        """Whether :meth:`at_barrier` has to be called at this one."""

    def at_barrier(self, state: ThreadState) -> None:
        """End the look at a step; begin one where fallbacks have no line yet."""

    def begin(self, state: ThreadState) -> bool:
        """Look up to the next barrier or :meth:`end`; whether that is possible."""

    def end(self, state: ThreadState) -> None:
        """Stop looking, if no barrier has ended it."""

    def stop(self) -> None:
        """Stop looking, on whatever thread."""


def handed_down() -> str:
    """The value of ``VARIABLE`` for child processes."""
    return os.pathsep.join(f"{name}={folder}" for name, folder in FRONTENDS.items() if folder)


def inherit() -> None:
    """Know the frontends that the process which started the program knew."""
    for entry in filter(None, os.environ.get(VARIABLE, "").split(os.pathsep)):
        name, _, folder = entry.partition("=")
        FRONTENDS[name] = folder


def load(name: str) -> Frontend:
    """The frontend of a framework, by the name of its module."""
    package = f"{__package__}.{name}"
    if (folder := FRONTENDS.get(name)) and package not in sys.modules:
        path = os.path.join(folder, "capture")
        spec: Any = spec_from_file_location(
            package, os.path.join(path, "__init__.py"), submodule_search_locations=[path]
        )
        sys.modules[package] = module_from_spec(spec)
        spec.loader.exec_module(sys.modules[package])
    frontend: Frontend = import_module(package).FRONTEND
    return frontend
