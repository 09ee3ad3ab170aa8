"""The imported framework, as the capture uses it.

The classes here are those of a framework that has nothing of the kind: no profiler, no switch for
source lines, no fallbacks, no modules to keep. A frontend derives its own from them.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Callable

from .frontend import Counters, InJob, ProfilerSession, Setting
from .hooks import Hooks
from .live_memory import Arrays

if TYPE_CHECKING:
    from .call_site import CallSites
    from .calls import Calls
    from .profiler import Profiler
    from .recorder import Recorder
    from .step import ThreadState


class Profiles:
    """The profiler. A process can have one session at a time.

    Attributes:
        hooks: those of :meth:`hand_over`.
        suffix: how the names of its timeline files end.
        light: whether sessions are cheap: they can be repeated, even just to warm up, end at once
            whatever they have recorded, and record nothing in a forked child.
        open: begins a session; None if there is no profiler with useful timelines.
    """

    suffix = ".xplane.pb"
    light = True
    open: Callable[[], ProfilerSession] | None = None

    def __init__(self) -> None:
        self.hooks = Hooks()

    def hand_over(self, begin: Callable[[], int], end: Callable[[int, str | None], None]) -> None:
        """Report the profiles that the program itself records of this process.

        Args:
            begin: called before a profile begins; returns its number.
            end: called after it, with its number and the timeline file, if it wrote one.
        """

    def take_back(self) -> None:
        """Undo :meth:`hand_over`."""
        self.hooks.undo()


class SourceLines:
    """Switches source lines in graphs at run time, unless the program set them itself.

    Attributes:
        recording: whether operations get their Python lines now.
    """

    recording = False

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


class Probe:
    """Looks for the lines of fallbacks, in some steps, which it marks (``ThreadState.probed``).

    Attributes:
        rows: by operator and call site: fallbacks, nanoseconds, nanoseconds of compiling.
        calls: calls into the framework that were examined.
    """

    def __init__(self) -> None:
        self.rows: dict[tuple[str, int | None], list[int]] = {}
        self.calls = 0

    def is_due(self, state: ThreadState) -> bool:
        """Whether :meth:`at_barrier` has to be called at this barrier."""
        return False

    def at_barrier(self, state: ThreadState) -> None:
        """End the probe of a step; begin another if some fallbacks have no line yet."""

    def begin(self, state: ThreadState) -> bool:
        """Probe until the next barrier or :meth:`end`; return whether that is possible."""
        return False

    def end(self, state: ThreadState) -> None:
        """Stop probing, if no barrier has ended it."""

    def stop(self) -> None:
        """Stop probing, on whatever thread."""


class KeptModules:
    """Writes compiled modules; see :class:`.modules.Modules`.

    Attributes:
        files: for each file written: its name, the process's compilations until then, bytes.
        too_large: whether modules were left out for their size.
    """

    def __init__(self) -> None:
        self.files: list[dict[str, Any]] = []
        self.too_large = False

    def tick(self) -> None:
        """Called four times a second."""

    def collect(self) -> None:
        """Write modules that are new."""

    def collect_earlier(self) -> None:
        """Collect modules from before the capture, to distinguish them from later ones."""


class Framework:
    """The imported framework.

    Attributes:
        counters: the framework's counters.
        profiles: its profiler.
        hooks: those of :meth:`install`.
        meshes: of devices that the program divides arrays over: the sizes of axes by name.
    """

    counters: Counters
    profiles: Profiles

    def __init__(self, module: Any) -> None:
        self._module = module
        self.hooks = Hooks()
        self.meshes: list[dict[str, int]] = []

    def install(self, calls: Calls) -> None:
        """Wrap barriers (or launches), reads, uploads, waits for input and saves."""
        raise NotImplementedError

    def uninstall(self) -> None:
        """Undo :meth:`install`, except where the program has replaced a wrapper since."""
        self.hooks.undo()

    def source_lines(self) -> SourceLines:
        """The switch for source lines in graphs, as the program has set it."""
        return SourceLines()

    def probe(
        self, recorder: Recorder, sites: CallSites, fail: Callable[[Exception], None]
    ) -> Probe:
        """The probe that finds the lines of fallbacks."""
        return Probe()

    def annotation(self, name: str, **values: Any) -> AbstractContextManager[Any]:
        """A context that records an event with this name and these values in the timeline."""
        raise NotImplementedError

    def versions(self) -> dict[str, str]:
        """The versions of the framework's packages."""
        return {}

    def settings(self) -> dict[str, Setting]:
        """What the program has set in its code, by name; the environment is read elsewhere."""
        return {}

    @property
    def misplaces_lines(self) -> bool:
        """Whether its compiler gives operations of programs of several devices wrong lines."""
        return False

    @property
    def accelerators(self) -> list[str] | None:
        """Kinds of accelerators, named as in :meth:`devices`, that the machine has and the
        framework can drive; None if unknown.
        """
        return None

    def devices(self) -> list[str]:
        """Devices in use, such as ``CPU:0``; empty while there are none."""
        raise NotImplementedError

    @property
    def in_job(self) -> InJob:
        """Where this process is in a distributed job, as far as the framework knows it."""
        return InJob()

    @property
    def unheard(self) -> str | None:
        """Why not all that the compiler says of shardings was heard; None if nobody listens."""
        return None

    @property
    def missing(self) -> dict[str, str]:
        """Hooks that this release of the framework does not support, with reasons."""
        return {**self.hooks.missing, **self.profiles.hooks.missing}

    def arrays(self) -> Arrays:
        """What is known of the arrays on its devices."""
        return Arrays()

    def modules(
        self, profiler: Profiler, recorder: Recorder, folder: str, limit: int
    ) -> KeptModules:
        """A writer of the compiled modules to a folder, at most ``limit`` bytes."""
        return KeptModules()
