"""Finds graphs as they were before any compiler optimized them, in files that people have.

StableHLO (text, or bytecode), functions that ``jax.export`` serialized, modules in HLO (protocol
buffers, or text) that XLA dumped, folders of JAX's dumps, and logs that TorchTPU adds graphs to.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from xladoctor.errors import XladoctorError
from xladoctor.frontends.torch.ingest.structured_records import is_structured_log
from xladoctor.ingest.compressed import PACKED, Unpacked, head_of
from xladoctor.ingest.hlo.dump import is_dumped
from xladoctor.regular_files import MESSAGE, files_below
from xladoctor.tpu_check.forms import Form, Recognised, recognise
from xladoctor.tpu_check.logged import read_logged

#: How many graphs are compiled unless somebody asks for more.
MOST = 4
_LEAST = 0.05  # of the work of the largest; others do not matter beside it
_GRAPH_FILES = (".mlir", ".mlirbc", ".stablehlo", ".jax_export", ".jaxexport", ".hlo", ".hlo.pb")
_DUMPED = "module_"
_LOGS = (".log", ".txt")
#: Names of modules of PyTorch/XLA: of graphs that ran, and of those that are exported.
_TORCH_XLA = ("SyncTensorsGraph", "IrToHlo")
_BEGINNINGS = (b"HloModule ", b"module ")
_BYTES_OF_OPERATION = 40  # in bytecode, roughly: only to order graphs by size
NEEDED = (
    "expected a run (last, a script's name, or its directory), a graph before optimization, or a"
    " folder with some: StableHLO (.mlir), what jax.export serializes, what JAX_DUMP_IR_TO=DIR or"
    " XLA_FLAGS=--xla_dump_to=DIR leave, or the folder of TORCH_TRACE=DIR of TorchTPU"
)


class GraphsError(XladoctorError):
    """A path in which there is no graph that can be compiled."""


@dataclass(frozen=True, slots=True)
class Graph:
    """A graph before optimization.

    Attributes:
        name: of its module, or of the file.
        content: what the compiler's interpreter reads.
        form: how it is written.
        source: the file.
        replicas: how many devices run it with inputs of their own; None if only MLIR can say.
        partitions: how many devices share its arrays; None likewise.
        launches: how often it ran, on average if it is one of several graphs of an operator; None
            if the file does not show it.
        operations: how many it has; None if only MLIR can say.
        found: how many times the same graph was found.
        donated: types, as MLIR writes them, of arguments that it may overwrite although it does not
            say so itself.
        frontend: the framework that made it.
        role: its part in the program, in words, if that is known.
        versions: package -> version, of those in its run that decide about the compiler.
    """

    name: str
    content: bytes = field(repr=False)
    form: Form
    source: Path
    replicas: int | None = None
    partitions: int | None = None
    launches: int | None = None
    operations: int | None = None
    found: int = 1
    donated: tuple[str, ...] = ()
    frontend: str = ""
    role: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)

    @property
    def devices(self) -> int | None:
        """How many devices run it; None if only MLIR can say."""
        if self.replicas is None and self.partitions is None:
            return None
        return (self.replicas or 1) * (self.partitions or 1)

    @property
    def work(self) -> int:
        """Operations in all launches: a measure of how much it matters in the program."""
        size = self.operations
        if size is None:
            size = len(self.content) // _BYTES_OF_OPERATION
        return max(size, 1) * (self.launches or self.found)


@dataclass(frozen=True, slots=True)
class Found:
    """The graphs in a path, those with the most work first.

    Attributes:
        graphs: to be compiled.
        left_out: beyond the number that was asked for, or much smaller than the largest.
        notes: sentences about what is not among either.
    """

    graphs: tuple[Graph, ...]
    left_out: tuple[Graph, ...] = ()
    notes: tuple[str, ...] = ()


def find_graphs(path: Path, most: int = MOST) -> Found:
    """The graphs in a file, or below a folder; the same graph in several places is one.

    Args:
        most: how many to compile at most; much smaller ones than the largest are not.

    Raises:
        GraphsError: it does not exist, cannot be read, or has no graph before optimization.
    """
    collected = _Collected()
    if path.is_dir():
        for file in sorted(files_below(path)):
            if _may_be_graph(file):
                collected.add(file, alone=False)
        collected.prefer_protos()
    else:
        collected.add(path, alone=True)
    if not collected.graphs:
        raise GraphsError([f"{path}: no graph in it", *collected.notes], NEEDED)
    graphs = sorted(collected.graphs.values(), key=lambda graph: (-graph.work, str(graph.source)))
    matter = [graph for graph in graphs if graph.work >= _LEAST * graphs[0].work][:most]
    left_out = [graph for graph in graphs if graph not in matter]
    return Found(tuple(matter), tuple(left_out), tuple(collected.notes))


def _may_be_graph(file: Path) -> bool:
    """Whether a file in a folder is read: by its name, since there may be thousands."""
    name = file.name.removesuffix(PACKED)
    # XLA dumps ten files and a folder for each module.
    if file.parent.name.startswith(_DUMPED):
        return False
    if name.startswith(_DUMPED):
        return is_dumped(file)
    return name.endswith((*_GRAPH_FILES, *_LOGS))


class _Collected:
    """Graphs by the hash of their content."""

    def __init__(self) -> None:
        self.graphs: dict[bytes, Graph] = {}
        self.notes: list[str] = []

    def add(self, file: Path, *, alone: bool) -> None:
        """Add the graphs in a file. Raises GraphsError if it is ``alone`` and has none."""
        try:
            head = head_of(file)
            if is_structured_log(head):
                self._log(file)
                return
            is_log = file.name.removesuffix(PACKED).endswith(_LOGS)
            if not alone and is_log and not head.lstrip().startswith(_BEGINNINGS):
                return  # of any size, and anybody's
            with Unpacked(file, MESSAGE) as source:
                content = source.readall()
                damage = source.damage
        except (OSError, EOFError) as error:
            self._unread(f"{file}: cannot be read: {error}", alone=alone)
            return
        graph = recognise(content)
        if damage:
            self._unread(f"{file}: {damage}", alone=alone)
        elif graph is None:
            self._unread(f"{file}: no graph that can be recognised", alone=alone)
        elif graph.optimized:
            self._unread(
                f"{file}: a compiler has already optimized this graph for another device, and it"
                " can no longer be compiled for a TPU",
                alone=alone,
            )
        else:
            self._keep(_graph(graph, file))

    def _log(self, file: Path) -> None:
        logged = read_logged(file)
        damaged = logged.cut
        for text, operator in logged.texts.items():
            graph = recognise(text.encode("utf-8", "replace"))
            if graph is None or graph.form != "stablehlo":
                damaged += 1
                continue
            launches = logged.launches_of(operator)
            logged_graph = replace(_graph(graph, file), launches=launches, frontend="torch_tpu")
            self._keep(logged_graph)
        if damaged:
            self.notes.append(f"{file}: {damaged} graphs are cut off or damaged, and left out")

    def _keep(self, graph: Graph) -> None:
        key = hashlib.sha256(graph.content).digest()
        if same := self.graphs.get(key):
            launches = (same.launches or 0) + (graph.launches or 0)
            graph = replace(same, launches=launches or None, found=same.found + 1)
        self.graphs[key] = graph

    def _unread(self, what: str, *, alone: bool) -> None:
        if alone:
            raise GraphsError(what, NEEDED)
        self.notes.append(what)

    def prefer_protos(self) -> None:
        """Drop the text of modules that XLA dumped as protocol buffers, too."""
        protos = {
            _dumped_as(graph.source) for graph in self.graphs.values() if graph.form == "hlo_proto"
        }
        for key, graph in [*self.graphs.items()]:
            if graph.form == "hlo_text" and _dumped_as(graph.source) in protos:
                del self.graphs[key]


def _graph(graph: Recognised, file: Path) -> Graph:
    name = graph.name or file.name.removesuffix(PACKED).partition(".")[0]
    return Graph(
        name,
        graph.content,
        graph.form,
        file,
        graph.replicas,
        graph.partitions,
        operations=graph.operations,
        frontend="torch_xla" if name.startswith(_TORCH_XLA) else "jax",
    )


def _dumped_as(file: Path) -> tuple[Path, str]:
    """The folder and the name of a module, without the suffixes of its forms."""
    return file.parent, file.name.partition(".before_optimizations.")[0]
