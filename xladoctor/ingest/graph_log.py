"""A log of the graphs that a process compiled and ran, in the order in which it did: what a
frontend's own format says of them, read.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xladoctor.ingest.frames import Frame


@dataclass(slots=True)
class Block:
    """One compilation or execution.

    Attributes:
        kind: ``compilation`` or ``execution``.
        offset: byte position of the block's first line in the log.
        cause: what asked for it, in the framework's words.
        graph_hash: equals the hash in the timeline.
        frames: Python frames, innermost first.
        at_barrier: whether it was handed over by a barrier.
        memory_bytes: device memory the graph takes: inputs, outputs and intermediates; to a KiB.
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
    """All whole blocks in order, and the number of torn ones."""

    blocks: tuple[Block, ...]
    torn: int = 0
