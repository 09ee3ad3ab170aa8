"""What the operations of an executable write, and which of them communicate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from xladoctor.facts.tpu import TpuOperation
from xladoctor.ingest.hlo.communication import COLLECTIVE, Exchanges
from xladoctor.ingest.hlo.groups import Mesh, group_of
from xladoctor.ingest.hlo.layout import Array, arrays
from xladoctor.ingest.hlo.sites import Site, Sites
from xladoctor.ingest.hlo.walk import Run, called, root_of, written_shapes

#: Operations that write nothing of their own, or whose result another one writes.
_NO_WRITE = (
    *("parameter", "constant", "tuple", "get-tuple-element", "bitcast", "after-all", "while"),
    *("conditional", "call", "opt-barrier", "partition-id", "replica-id", "add-dependency"),
    "async-update",
)
#: Targets of custom calls that write nothing.
_FREE = ("AllocateBuffer", "AssumeGatherIndicesInBound", "ConcatBitcast")
_MOVES = ("copy", "transpose", "reshape")
_TRANSFERS = ("copy-done", "slice-done", "dynamic-slice-done", "dynamic-update-slice-done")
#: The compiler's computation for a sum of which each device keeps a part.
_SCATTER = "all-reduce-scatter"


class _Kind(NamedTuple):
    """What operations have in common that are added up."""

    array: Array
    opcode: str
    does: str
    asynchronous: bool
    in_loop: bool
    group: int | None
    axes: str
    reason: str
    site: Site


class Operations:
    """The operations outside of fusions, and those inside that communicate.

    Args:
        runs: all instructions; ``computations``: by their numbers.
        mesh: of the program; ``sites``: of the instructions; ``exchanges``: why they communicate.
    """

    def __init__(
        self,
        runs: Sequence[Run],
        computations: Mapping[int, Any],
        mesh: Mesh,
        sites: Sites,
        exchanges: Exchanges,
    ) -> None:
        self._computations, self._mesh, self._sites = computations, mesh, sites
        self._exchanges = exchanges
        self._started: dict[int, Any] = {}
        self._names: dict[_Kind, str] = {}
        self._times: Counter[_Kind] = Counter()
        self._operations: Counter[_Kind] = Counter()
        fused = (
            inner.channel_id
            for run in runs
            if run.instruction.opcode == "fusion"
            and (inner := self._communicating(run.instruction))
        )
        self._channels, self._seen = Counter(fused), set[int]()
        for run in runs:
            if not run.fused:
                self._add(run)

    def facts(self, of: Mapping[str, Any]) -> list[TpuOperation]:
        """A fact for each kind.

        Args:
            of: graph and topology.
        """
        return [
            TpuOperation(
                **of,
                operation=self._names[kind],
                opcode=kind.opcode,
                does=kind.does,
                **vars(kind.array),
                times=times,
                operations=self._operations[kind],
                in_loop=kind.in_loop,
                group=kind.group,
                axes=kind.axes,
                reason=kind.reason,
                asynchronous=kind.asynchronous,
                **kind.site.columns(),
            )
            for kind, times in self._times.items()
        ]

    def _add(self, run: Run) -> None:
        instruction, opcode = run.instruction, run.instruction.opcode
        if opcode == "async-start":
            self._started[instruction.id] = instruction
        if opcode in _NO_WRITE or opcode.endswith("-start"):
            return
        if opcode == "custom-call" and instruction.custom_call_target in _FREE:
            return
        inner = self._communicating(instruction) if opcode == "fusion" else None
        if inner is not None:
            self._add_fused(run, inner)
            return
        done = self._wrapped(instruction) if opcode == "async-done" else None
        named = opcode if done is None else f"{done.opcode}-done"
        if collective := COLLECTIVE.fullmatch(named):
            waits = bool(collective[2])
            begun = done or self._exchanges.begun(instruction)
            self._count(run, [instruction.shape], collective[1], begun, waits)
            return
        shapes = written_shapes(instruction, self._computations)
        self._count(run, shapes, named)

    def _add_fused(self, run: Run, inner: Any) -> None:
        """A fusion that communicates: the first of those with its channel stands for all."""
        instruction = run.instruction
        body = called(instruction, self._computations)
        channel = inner.channel_id
        if channel not in self._seen:
            self._seen.add(channel)
            scatters = body.name.startswith(_SCATTER)
            opcode = "reduce-scatter" if scatters else COLLECTIVE.fullmatch(inner.opcode)[1]  # type: ignore[index]
            shape = instruction.shape if scatters else inner.shape
            self._count(run, [shape], opcode, inner, self._channels[channel] > 1)
            if scatters:
                return
        root = root_of(body)
        if root is not None and root.opcode == "tuple":  # it computes something beside
            self._count(run, written_shapes(instruction, self._computations), "fusion")

    def _count(
        self,
        run: Run,
        shapes: Sequence[Any],
        opcode: str,
        collective: Any = None,
        asynchronous: bool = False,
    ) -> None:
        """Count arrays that an instruction writes.

        Args:
            collective: the operation that communicates, if one does.
        """
        group, axes = (None, "") if collective is None else group_of(collective, self._mesh)
        site = self._sites.of(run.instruction if collective is None else collective)
        does = _does(opcode) if collective is None else "communicates"
        written = [array for shape in shapes for array in arrays(shape)]
        reasons = [""] * len(written)
        if collective is not None:
            reasons = self._exchanges.reasons_of(collective, len(written))
        for number, (array, reason) in enumerate(zip(written, reasons, strict=True)):
            kind = _Kind(array, opcode, does, asynchronous, run.in_loop, group, axes, reason, site)
            self._names.setdefault(kind, run.instruction.name)
            self._times[kind] += run.times
            if number == 0:
                self._operations[kind] += run.times

    def _wrapped(self, done: Any) -> Any:
        """The operation that an ``async-done`` ends; None if it cannot be found."""
        begin = next((self._started.get(number) for number in done.operand_ids), None)
        inner = None if begin is None else called(begin, self._computations)
        return None if inner is None else root_of(inner)

    def _communicating(self, fusion: Any) -> Any:
        """The operation in a fusion that communicates; None if there is none."""
        body = called(fusion, self._computations)
        found: Iterator[Any] = (
            each
            for each in (body.instructions if body else ())
            if COLLECTIVE.fullmatch(each.opcode)
        )
        return next(found, None)


def _does(opcode: str) -> str:
    if opcode in _MOVES:
        return "moves"
    return "transfers" if opcode in _TRANSFERS else "computes"
