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
    "out_of_memory",
    "no_result",
]


@dataclass(frozen=True, slots=True)
class Memory:
    """Memory of a device that the executable needs, in bytes; None if the compiler does not say.

    Attributes:
        peak: the most at any moment.
        arguments: parameters, the donated ones among them.
        outputs: results, those in the place of donated parameters among them.
        aliased: results in the place of donated parameters.
        temporaries: what lives only while it runs.
        code: the program itself.
        host: what lies in the host's memory.
        unknown: the compiler's names of the numbers that were left out.
    """

    peak: int | None = None
    arguments: int | None = None
    outputs: int | None = None
    aliased: int | None = None
    temporaries: int | None = None
    code: int | None = None
    host: int | None = None
    unknown: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Compiled:
    """An executable.

    Attributes:
        module: the file of the module after optimization, an HloModuleProto packed by gzip.
        memory: of one device.
        topology: what it was compiled for, with its shape: ``v5e:2x2``.
        device_kind: as libtpu names the device: ``TPU v5 lite``.
        devices: how many devices run it.
        operations: operations of the graph before optimization.
        seconds: how long compiling took.
        cpu_seconds: processor time of compiling.
        flops: floating-point operations, as the compiler estimates; None if it does not.
        bytes_accessed: bytes read and written, as the compiler estimates; None if it does not.
        versions: package -> version, of jax, jaxlib and libtpu.
        cached: whether it was compiled earlier; the times are of then.
    """

    module: Path
    memory: Memory
    topology: str
    device_kind: str
    devices: int
    operations: int
    seconds: float
    cpu_seconds: float
    flops: float | None = None
    bytes_accessed: float | None = None
    versions: Mapping[str, str] = field(default_factory=dict)
    cached: bool = False


@dataclass(frozen=True, slots=True)
class DoesNotFit:
    """The compiler found that a device's memory does not suffice.

    Attributes:
        message: its own words.
        what: what needs that much: ``HLO temporaries``; empty if the compiler does not say.
        needed: bytes, of which the verdict is reliable and the size is not; None likewise.
        available: bytes that programs can have; None likewise.
        topology: what it was compiled for, with its shape.
        devices: how many devices would run it.
        operations: operations of the graph before optimization.
        seconds: how long it took to find out.
        versions: package -> version, of jax, jaxlib and libtpu.
        cached: whether this was found earlier.
    """

    message: str
    what: str
    needed: int | None
    available: int | None
    topology: str
    devices: int
    operations: int
    seconds: float
    versions: Mapping[str, str] = field(default_factory=dict)
    cached: bool = False


@dataclass(frozen=True, slots=True)
class Refused:
    """There is no verdict about the graph.

    Attributes:
        kind: why.
        what: a sentence: what happened, and where.
        hint: what to do about it.
    """

    kind: Kind
    what: str
    hint: str = ""


Outcome = Compiled | DoesNotFit | Refused
