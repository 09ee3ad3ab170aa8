"""A log of the graphs that a process compiled and ran, in order, read from a frontend's format."""

from __future__ import annotations

from dataclasses import dataclass, field

from xladoctor.ingest.frames import Frame


@dataclass(slots=True)
class Block:
    """One compilation or execution.

    Attributes:
        kind: ``compilation`` or ``execution``.
        offset: byte position of the block's first line in the log.
        cause: what requested it, in the framework's words.
        graph_hash: the same hash as in the timeline.
        frames: Python frames, innermost first.
        at_barrier: whether a barrier handed it over.
        memory_bytes: device memory of inputs, outputs and intermediates, accurate to a KiB.
    """

    kind: str
    offset: int
    cause: str = ""
    graph_hash: str = ""
    inputs: int | None = None
    outputs: int | None = None
    frames: list[Frame] = field(default_factory=list)
    at_barrier: bool = False
    memory_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class GraphLog:
    """All complete blocks in order, and the number of torn ones."""

    blocks: tuple[Block, ...]
    torn: int = 0
