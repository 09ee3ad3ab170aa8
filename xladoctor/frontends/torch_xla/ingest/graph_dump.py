"""Reads torch_xla's dump of the graphs that it hands over (``XLA_SAVE_TENSORS_FILE``).

There is a block for each graph, compiled or not (``torch_xla/csrc/debug_util.cc``)::

    [ScheduleSyncTensorsGraph]
    TensorsGraphInfo:
      sync (/usr/lib/python3/torch_xla/torch_xla.py:87)
      <module> (/home/ada/train.py:8)

    Root Hashes: (b151c371867654b08ba968a654e93a7f)

    ## BEGIN_GRAPH
    …
    Graph Hash: 5403090ebe79f4e5cb81c47561418188

    ## END_GRAPH
"""

from __future__ import annotations

import re

from xladoctor.frontends.torch_xla.ingest.analysis_log import cause_of
from xladoctor.ingest.frames import Frame, frame_in
from xladoctor.ingest.graph_log import Block

_QUOTE = re.compile(r"(?:> ?|\d{1,9}[:|] ?)+")  # as people quote and number lines
#: Graphs that are handed over, also by TorchDynamo.
_MARKS = ("[ScheduleSyncTensorsGraph]", "[dynamo]")
_HASH = re.compile(r"Graph Hash: ([0-9a-f]{1,32})\s*$", re.ASCII)
_ROOTS = re.compile(r"(?:Root )?Hashes: \(([0-9a-f, ]*)\)", re.ASCII)


class GraphDump:
    """Takes the lines of such a dump, and turns its graphs into the blocks of an analysis log.

    Attributes:
        blocks: a block for each launch, and one for a compilation at a graph's first launch.
        inside: whether the next line may belong to the open graph; a graph begins with a mark at
            the end of a line.
    """

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self._known: set[str] = set()
        self._frames: list[Frame] = []
        self._roots = ""
        self._offset = 0
        self.inside = self._in_graph = False

    def take(self, line: str) -> bool:
        """Take a line; False if it is not part of a graph."""
        quote = _QUOTE.match(line)
        line = line[quote.end() :] if quote else line
        if line.rstrip() in _MARKS:
            self._end()
            self.inside, self._in_graph = True, False
            self._frames, self._roots = [], ""
            return True
        if not self.inside:
            return False
        if match := _HASH.match(line):
            self._end(match[1])
        elif line.startswith("## "):
            self._in_graph = line.startswith("## BEGIN_GRAPH")
            if not self._in_graph:
                self._end()
        elif self._in_graph or not line.startswith("  "):
            match = _ROOTS.match(line)
            self._roots = match[1] if match else self._roots
        elif frame := frame_in(line[2:].rstrip()):
            self._frames.append(frame)
        return True

    def _end(self, graph_hash: str = "") -> None:
        """Add a complete graph; older releases print only the hashes of its results."""
        graph = graph_hash or self._roots
        self.inside = self.inside and bool(graph_hash)  # the graph's last lines still follow
        if not graph:
            return
        self._roots = ""
        self._offset += 1
        cause, frames = cause_of(self._frames), list(self._frames)
        for kind in ["execution"] if graph in self._known else ["compilation", "execution"]:
            self.blocks.append(
                Block(kind, self._offset, cause, graph, frames=frames, at_barrier="sync" in cause)
            )
        self._known.add(graph)
