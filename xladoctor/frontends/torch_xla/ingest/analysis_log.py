"""Reads the analysis log of torch_xla (``PT_XLA_DEBUG_FILE``): why each graph was compiled or run.

It has a block for each compilation and execution, written by the thread that caused it. Threads of
one process write without a lock, so blocks can be torn: a torn block is counted, never guessed.
``PT_XLA_DEBUG=1`` prints the same blocks to standard error, between other output.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from sys import intern

from xladoctor.ingest.frames import Frame, frame_in
from xladoctor.ingest.graph_log import Block, GraphLog

_PREFIX = re.compile(r"(?<!Post )(Compilation|Execution) Analysis: (.*)$")
_HASH = re.compile(r"Graph Hash: ([0-9a-f]{1,32})$")
_NUMBER = re.compile(r"Number of Graph (Input|Output)s?: (\d{1,18})$", re.ASCII)  # singular in 2.2
_MEMORY = re.compile(
    r"Post Compilation Analysis: (Graph input|Graph output|Aliased Input|Intermediate tensor)"
    r" size: (\d{1,9}(?:\.\d{1,18})?) GB$",
    re.ASCII,
)
_MEMORY_PARTS = 4
_GRAPH = "Graph Info:"
_CAPTURE = "/bootstrap/_xladoctor/"
_GIBIBYTE = 2**30  # torch_xla calls it GB (``debug_util.cc``)


@dataclass(slots=True)
class _Draft(Block):
    """A block that is being read.

    Attributes:
        mixed: whether it began inside another one, so that its lines may be from both.
        has_graph: whether it has a part about the graph; in 2023's releases executions had none.
        memory: bytes by part, under torch_xla's names.
    """

    mixed: bool = False
    has_graph: bool = False
    memory: dict[str, int] = field(default_factory=dict)

    @property
    def whole(self) -> bool:
        """Whether all required parts of the block were read."""
        known = bool(self.cause and self.graph_hash) and self.outputs is not None
        return known and not self.mixed

    @property
    def identifies(self) -> bool:
        """Whether the part that was read names the graph, or a line."""
        return not self.mixed and bool(self.graph_hash or self.frames)

    def add_memory(self, part: str, size: int) -> None:
        """Add a part's bytes; the graph's total is known with the last part."""
        self.memory[part] = size
        if len(self.memory) == _MEMORY_PARTS:
            self.memory_bytes = sum(self.memory.values()) - 2 * self.memory["Aliased Input"]

    def forget_memory(self) -> None:
        """Drop all parts."""
        self.memory.clear()
        self.memory_bytes = None

    def end(self) -> None:
        """Finish the block, and correct its cause.

        torch_xla derives the cause from the two innermost frames (``debug_util.cc``), one of which
        may be the capture's: the cause becomes what it would be without that frame.
        """
        frames = [frame for frame in self.frames if _CAPTURE not in frame.file]
        if frames and len(frames) < len(self.frames):
            self.cause = _barrier(frames) or self.cause
        self.at_barrier = "sync" in self.cause


def cause_of(frames: Sequence[Frame]) -> str:
    """The cause that torch_xla gives for a graph handed over by these frames, innermost first."""
    return _barrier(frames) or "most likely user code trying to access tensor value"


def _barrier(frames: Sequence[Frame]) -> str | None:
    """The kind of barrier that these frames belong to, in torch_xla's words; None if to none."""
    if not frames or frames[0].function not in ("sync", "mark_step"):
        return None
    outer = frames[1] if len(frames) > 1 else Frame("", 0, "")
    if outer.function == "next" and outer.file.endswith("parallel_loader.py"):
        return "torch_xla.sync in parallel loader at step end"
    if outer.function == "__exit__" and outer.file.endswith("profiler.py"):
        return "torch_xla.sync when exiting a profiler StepTrace region"
    return "user torch_xla.sync"


def read_analysis_log(lines: Iterable[str], begin: int = 0) -> GraphLog:
    """Read a log of any length; other lines between the blocks are skipped.

    Args:
        begin: bytes of the log before them, in other files.
    """
    reader = AnalysisReader(begin)
    for line in lines:
        reader.take(line)
    return reader.log


class AnalysisReader:
    """Takes an analysis log line by line.

    Repeated texts, frames and whole stacks are kept once.

    Args:
        begin: bytes of the log before the lines, in other files.
        excerpt: whether somebody may have cut the text, so that the first block may lack its
            beginning, and the last its end; the rest counts if it names the graph or a line.
    """

    def __init__(self, begin: int = 0, *, excerpt: bool = False) -> None:
        self._excerpt = self._cut = excerpt  # _cut: before the first block
        self._offset = begin
        self._blocks: list[Block] = []
        self._torn = 0
        self._block: _Draft | None = None
        self._compiled: _Draft | None = None  # a compilation whose sizes follow
        self._texts: dict[str, str] = {}
        self._frames: dict[str, Frame] = {}
        self._stacks: dict[tuple[Frame, ...], list[Frame]] = {}

    @property
    def log(self) -> GraphLog:
        """The blocks read so far."""
        last = self._block
        if last and self._excerpt and last.identifies:
            last.end()
            return GraphLog((*self._blocks, last), self._torn)
        return GraphLog(tuple(self._blocks), self._torn + (last is not None))

    def take(self, line: str) -> None:
        """Take a line, which need not be part of the log."""
        ended = line.rstrip()
        if match := _PREFIX.search(ended):
            self._take(match[1].lower(), match[2].strip())
        elif self._compiled and (size := _MEMORY.search(ended)):
            if size[1] in self._compiled.memory:  # two threads compiled at once: ambiguous
                self._compiled.forget_memory()
                self._compiled = None
            else:
                self._compiled.add_memory(intern(size[1]), round(float(size[2]) * _GIBIBYTE))
        self._offset += len(line) if line.isascii() else len(line.encode(errors="replace"))

    def _take(self, kind: str, text: str) -> None:
        self._block = block = self._block or _begun(kind, text, self._offset, self._cut)
        self._cut = self._cut and block is None and not text.endswith(" Cause")
        if text.endswith(" Cause"):
            self._torn += block is not None
            self._block = _Draft(intern(kind), self._offset, mixed=block is not None)
            self._compiled = None
        elif text.startswith("-----"):
            self._end(kind)
        elif block is not None and block.kind == kind:
            self._fill(block, text)

    def _end(self, kind: str) -> None:
        block, self._block, self._compiled = self._block, None, None
        if block is None:
            return
        begins = self._excerpt and not self._blocks and not block.cause
        older = self._excerpt and not block.has_graph and block.cause and block.identifies
        if block.kind != kind or not (block.whole or begins or older):
            self._torn += 1
            return
        block.end()
        block.frames = self._stacks.setdefault(tuple(block.frames), block.frames)
        self._blocks.append(block)
        if kind == "compilation":
            self._compiled = block

    def _fill(self, block: _Draft, text: str) -> None:
        if match := _HASH.match(text):
            block.graph_hash = self._texts.setdefault(match[1], match[1])
        elif match := _NUMBER.match(text):
            if match[1] == "Input":
                block.inputs = int(match[2])
            else:
                block.outputs = int(match[2])
        elif not text or text.endswith(":") or set(text) <= {"=", "."}:
            block.has_graph |= text == _GRAPH
        elif frame := self._frames.get(text) or frame_in(text):
            block.frames.append(self._frames.setdefault(text, frame))
        elif not block.cause:
            block.cause = self._texts.setdefault(text, text)


def _begun(kind: str, text: str, offset: int, cut: bool) -> _Draft | None:
    """The block of a line whose beginning was cut off, if the line is part of one."""
    inside = _HASH.match(text) or _NUMBER.match(text) or frame_in(text)
    return _Draft(kind, offset) if cut and inside else None
