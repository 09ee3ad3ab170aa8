"""What came of compiling a graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

#: Why a graph has no executable.
Kind = Literal[
    "dynamic_shape",
    "host_callback",
    "custom_call",
    "optimized",
    "not_a_graph",
    "flatbuffers",
    "topology",
    "devices",
    "lock",
    "interface",
    "failed",
    "crashed",
    "timed_out",
    "interrupted",
    "out_of_memory",
    "no_result",
]


@dataclass(frozen=True, slots=True)
class Memory:
    """Memory of a device that the executable needs, in bytes; None if the compiler does not say.

    Attributes:
        peak: the most at any moment: of HBM, or in older releases with the vector memory.
        arguments: parameters, the donated ones among them.
        outputs: results, those in the place of donated parameters among them.
        aliased: results in the place of donated parameters.
        temporaries: what lives only while it runs.
    """

    peak: int | None = None
    arguments: int | None = None
    outputs: int | None = None
    aliased: int | None = None
    temporaries: int | None = None


@dataclass(frozen=True, slots=True)
class Buffer:
    """An argument or a result of the graph before optimization, of all devices together.

    Attributes:
        role: ``argument`` or ``result``.
        number: its position.
        name: as the program names it; empty if the graph does not say.
        type: of its elements, as MLIR writes it.
        shape: dimensions.
        donated: whether a result may take its place.
    """

    role: str
    number: int
    name: str
    type: str
    shape: tuple[int, ...]
    donated: bool


@dataclass(frozen=True, slots=True)
class Least:
    """What a device must hold, whatever the compiler does, in bytes: a lower bound; see ``child/``.

    Attributes:
        bytes: all of it.
        arguments: of which arguments.
        results: results that take the place of no argument.
    """

    bytes: int
    arguments: int = 0
    results: int = 0


#: How far the compiler went: not at all, as a lower bound says no; to its plan of memory; to code.
Stage = Literal["bound", "plan", "code"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What the compiler found.

    Attributes:
        topology: what it was compiled for, with its shape: ``v5e:2x2``.
        devices: how many devices run it.
        operations: operations of the graph before optimization.
        seconds: how long it took; ``processor``: of the processor, with what came before.
        stage: how far the compiler went.
        least: a lower bound, where one could be found.
        cached: whether this was found earlier; the times are of then.
        mesh: axis -> devices along it, if the graph has a mesh.
        buffers: arguments, then results.
        plan: the file of an HloProto with the plan of memory, packed by gzip, if the compiler wrote
            that.
        memory: of one device.
    """

    topology: str
    devices: int
    operations: int
    seconds: float
    processor: float = 0.0
    stage: Stage = "code"
    least: Least | None = None
    cached: bool = False
    mesh: Mapping[str, int] = field(default_factory=dict)
    buffers: tuple[Buffer, ...] = ()
    plan: Path | None = None
    memory: Memory = Memory()


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiled(Verdict):
    """An executable.

    Attributes:
        module: the file of the module after optimization, an HloModuleProto packed by gzip.
    """

    module: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class DoesNotFit(Verdict):
    """The compiler found that a device's memory does not suffice.

    Attributes:
        needed: bytes that the compiler says are needed, or its plan; None if neither is known.
        available: bytes that programs can have; None if the compiler does not say.
        note: what to know about ``needed``.
    """

    needed: int | None
    available: int | None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Refused:
    """There is no verdict about the graph.

    Attributes:
        kind: why.
        what: a sentence: what happened, and where.
        hint: what to do about it.
        least: a lower bound of what it needs, if one was found before.
    """

    kind: Kind
    what: str
    hint: str = ""
    least: Least | None = None


Outcome = Compiled | DoesNotFit | Refused
