"""A graph that was compiled for a TPU, as reports show it; see ``xladoctor tpu-check``."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from xladoctor.diagnosis.finding import Location


@dataclass(frozen=True, slots=True)
class TpuLine:
    """A line, and bytes of what its operations write in one run.

    Attributes:
        location: None if the graph does not say.
        what: where it is not: what the operation is.
        bytes: sum, on one device.
        arrays: how many arrays.
        largest: the operation and the array with the most of them, such as
            ``fusion f32[515,515]{1,0:T(8,128)}``.
    """

    location: Location | None
    what: str
    bytes: int
    arrays: int
    largest: str


@dataclass(frozen=True, slots=True)
class TpuCollective:
    """Operations of one kind between the same devices.

    Attributes:
        opcode: such as ``all-reduce``.
        axes: of the mesh, if they are known.
        devices: how many communicate with one another; None if the operation does not say.
        count: operations in one run.
        bytes: of their results on each device, with padding.
        asynchronous: how many of them others can run beside.
        reasons: why they are there, as in ``communication``, that of most bytes first.
    """

    opcode: str
    axes: str
    devices: int | None
    count: int
    bytes: int
    asynchronous: int
    reasons: list[str]


@dataclass(frozen=True, slots=True)
class TpuGraph:
    """A graph, compiled for a TPU. Bytes are of one device; None if the compiler does not say.

    Attributes:
        graph: its number; each may be compiled for several TPUs.
        topology: as it was asked for; ``compiled_for`` has the shape.
        source: the file that the graph was read from.
        role: its part in the program, if that is known.
        verdict: whether it fits into the memory of a device; ``unknown`` if another release of the
            compiler may decide otherwise, ``refused`` if it cannot be compiled.
        reason: why that is not known, and ``hint`` what to do about it; or what to know about it.
        launches: how often the graph ran, if that is known.
        available_bytes: memory of a device that programs can have.
        least_bytes: a lower bound of what it needs, found before compiling; ``least_parts``: of
            what that is made.
        stage: how far the compiler went: not at all, to its plan of memory, or to code.
        peak_bytes: the most that it needs at a time.
        needed_bytes: the same of a graph that does not fit.
        temporary_bytes: of all between arguments and results.
        written_bytes: that one run writes, padding not included.
        padding_bytes: that one run writes to fill tiles.
        moved_bytes: of copies, transposes and reshapes, with padding.
        twice_bytes: of those among them that copy arguments which results could overwrite.
        unknown_layouts: arrays whose layout is not understood, and that count without padding.
        padded: the lines with the most padding.
        moved: the lines with the most copies, transposes and reshapes.
        resharded: the lines at which devices exchange most to divide values otherwise.
        seconds: that compiling took, perhaps ``cached`` from an earlier time.
        processor_seconds: of a processor, with reading the graph.
        compiler: packages and versions.
        flags: of the compiler, from ``LIBTPU_INIT_ARGS``.
        recorded: versions of such packages in the run that it is from.
        of_job: whether the job is known to have this compiler.
    """

    graph: int
    name: str
    topology: str
    compiled_for: str
    source: str
    role: str
    verdict: Literal["fits", "does_not_fit", "unknown", "refused"]
    reason: str
    hint: str
    devices: int
    operations: int
    launches: int | None
    available_bytes: int | None
    least_bytes: int | None
    least_parts: str
    stage: Literal["bound", "plan", "code"]
    peak_bytes: int | None
    needed_bytes: int | None
    argument_bytes: int | None
    result_bytes: int | None
    aliased_bytes: int | None
    temporary_bytes: int | None
    written_bytes: int | None
    padding_bytes: int | None
    unknown_layouts: int
    seconds: float
    processor_seconds: float
    cached: bool
    compiler: str
    flags: str
    recorded: str
    of_job: bool
    moved_bytes: int | None = None
    twice_bytes: int | None = None
    padded: list[TpuLine] = field(default_factory=list)
    moved: list[TpuLine] = field(default_factory=list)
    resharded: list[TpuLine] = field(default_factory=list)
    collectives: list[TpuCollective] = field(default_factory=list)

    @property
    def hbm_share(self) -> float | None:
        """The peak, or what is needed, as a share of what a device has."""
        most = self.needed_bytes if self.peak_bytes is None else self.peak_bytes
        return most / self.available_bytes if most is not None and self.available_bytes else None

    @property
    def padding_share(self) -> float | None:
        """The share of what is written that fills tiles."""
        return self._share(self.padding_bytes)

    @property
    def moved_share(self) -> float | None:
        """The share of what is written that only moves data."""
        return self._share(self.moved_bytes)

    @property
    def twice_share(self) -> float:
        """The share of what is written that copies arguments, as they are not donated."""
        return self._share(self.twice_bytes) or 0.0

    def _share(self, part: int | None) -> float | None:
        if part is None or self.written_bytes is None or self.padding_bytes is None:
            return None
        return part / max(1, self.written_bytes + self.padding_bytes)
