"""What the capture must know about a framework: the protocol of a *frontend*, and all frontends.

The capture of a frontend is a package, named after the module whose import starts it. It holds
``FRONTEND``, imports only the standard library, and is imported only when the program imports the
framework. Nothing outside of it knows the framework.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from typing import TYPE_CHECKING, Any, Callable, NamedTuple, Protocol, Sequence

from . import options
from .originals import Loader

if TYPE_CHECKING:
    from .framework import Framework

#: A value that the program's code gave to a setting, and where: file, line and function.
Setting = tuple[str, tuple[str, int, str]]
#: All frontends. One whose capture is not beside this file has its folder (``FOLDER/capture``).
FRONTENDS: dict[str, str | None] = dict.fromkeys(("torch_xla", "jax", "torch_tpu", "torch"))
#: Other frontends may be built on this one; it records only if none of them is in use.
BASE = "torch"
#: The folder of what its capture and those of the frontends that are built on it share.
BASE_FOLDER = "pytorch"
#: Names the frontends in other folders for child processes: ``NAME=FOLDER``, separated as in
#: ``PATH``.
VARIABLE = "XLADOCTOR_FRONTENDS"
_RUN_EACH = (
    "xladoctor: --lower-only is not for {}: run the program at each size with `xladoctor run`, then"
    " `xladoctor tpu-check` each run"
)


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


class Frontend:
    """What is known before the framework is imported.

    Attributes:
        name: the module whose import starts the capture.
        imported: its class of the imported framework, in its module ``framework``.
        packages: installed packages whose frames are the framework's own.
        recorded: environment variables that change how it works, and may be written to disk.
        ranks: environment variables that may hold a process's rank, and how many processes there
            are, the most reliable first.
        entries: its functions that do not name a call, and neither does what they call.
        wrappers: its functions that do not name a call, while what they call may.
        stages: its functions, by name, that start-up is spent in, and what it is then: backend,
            tracing, compile, or cache, where compiled code is read from a disk.
        logs: whether it can log its compilations.
        lowers: whether its computations can be lowered, and neither compiled nor executed.
        replaces: the package that its programs may still name, as they were written for it; None
            if there is none.
    """

    name: str
    imported: str
    packages: frozenset[str]
    recorded: tuple[str, ...]
    ranks: tuple[tuple[str, str], ...]
    entries: frozenset[str] = frozenset()
    wrappers: frozenset[str] = frozenset()
    stages: dict[str, str] = {}  # noqa: RUF012 - never changed
    logs: bool = False
    lowers: bool = False
    replaces: str | None = None

    def before_import(self) -> None:
        """Called before the module runs, to set what it reads then."""

    def attach(self, module: Any) -> Framework:
        """The framework whose ``module`` has just been imported. Wraps nothing yet.

        Raises:
            SystemExit: computations are to be lowered only, and cannot be.
        """
        if options.read().lower_only and not self.lowers and self.name != BASE:
            raise SystemExit(_RUN_EACH.format(self.name))
        own = import_module(f"{type(self).__module__}.framework")
        framework: Framework = getattr(own, self.imported)(module)
        return framework

    def begin_log(self, path: str, users: dict[str, str]) -> str | None:
        """Have the framework log its compilations, and set what else the capture wants set.

        Args:
            path: the log; see :class:`.compilation_log.CompilationLog`.
            users: the recorded variables that the program or its environment set.

        Returns:
            Why there will be no such log; None if there will be one, or if it has no logs.
        """
        return None


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


#: A serialized XSpace, or a function that writes the timeline to a given path.
Recorded = bytes | Callable[[str], None]


class ProfilerSession(Protocol):
    def stop(self) -> Recorded:
        """End the session; return what it recorded.

        Raises:
            RuntimeError: another session was open.
        """


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


def watch_first_steps() -> None:
    """Watch a program for the values of its first steps alone, without the capture."""
    import_module(f".{BASE_FOLDER}.first_steps", __package__).begin()
