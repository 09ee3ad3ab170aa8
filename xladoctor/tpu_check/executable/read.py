"""Reads an executable of a TPU: what its operations write, its products, arguments and results."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

from google.protobuf.message import DecodeError

from xladoctor.facts.tpu import TpuBuffer, TpuOperation, TpuProduct
from xladoctor.ingest.frames import NOWHERE, CallSite, Folders
from xladoctor.ingest.hlo.stacks import Stacks
from xladoctor.ingest.protobuf_schema import message
from xladoctor.tpu_check.executable.groups import Mesh, group_of, mesh_of
from xladoctor.tpu_check.executable.layout import Array, arrays

#: Operations that write nothing of their own, or whose result another one writes.
_NO_WRITE = frozenset(
    [
        "parameter",
        "constant",
        "tuple",
        "get-tuple-element",
        "bitcast",
        "after-all",
        "while",
        "conditional",
        "call",
        "opt-barrier",
        "partition-id",
        "replica-id",
        "add-dependency",
    ]
)
_BITCAST = "ConcatBitcast"  # target of custom calls
_MLIR = "-"  # in place of a file: the line is one of the graph's text
_CONTROL = ("while", "conditional", "call")
_PRODUCTS = ("dot", "convolution")
_MOVES = ("copy", "transpose", "reshape")
_TRANSFERS = ("copy-done", "slice-done", "dynamic-slice-done", "dynamic-update-slice-done")
_COLLECTIVE = re.compile(
    r"(all-reduce|all-gather|reduce-scatter|all-to-all|ragged-all-to-all|collective-permute"
    r"|collective-broadcast)(-done)?"
)
_TRIPS = re.compile(rb'"known_trip_count":\{"n":"(\d{1,9})"\}')
_DEEPEST = 20  # loops within loops
_MOST = 1_000_000  # operations


@dataclass(frozen=True)
class Executable:
    """What an executable does.

    Attributes:
        operations: what those outside of fusions write, alike ones added up.
        products: likewise, those in fusions, too.
        buffers: arguments, then results.
    """

    operations: list[TpuOperation]
    products: list[TpuProduct]
    buffers: list[TpuBuffer]


class _Run(NamedTuple):
    """An instruction, and how often a run of the executable comes to it; loops of unknown length
    count once.
    """

    instruction: Any
    times: int
    fused: bool


def read_executable(
    proto: bytes, folders: Folders, graph: int, topology: str, mesh: Mesh | None = None
) -> Executable:
    """Read a module after optimization.

    Args:
        proto: serialized HloModuleProto.
        folders: to recognise the program's own lines.
        graph, topology: of the facts.
        mesh: of the program, if its graph names one.

    Raises:
        DecodeError: it is no such module.
    """
    module = message("HloModuleProto").FromString(proto)
    computations = {computation.id: computation for computation in module.computations}
    entry = computations.get(module.entry_computation_id)
    if entry is None:
        raise DecodeError("a module without an entry computation")
    runs = [*islice(_runs(entry, 1, computations, ()), _MOST)]
    stacks = Stacks(module.stack_frame_index, folders)
    of = {"graph": graph, "topology": topology}
    mesh = mesh or mesh_of([each.instruction for each in runs])
    written = _Operations(of, stacks, mesh, computations)
    products = _Products(of, stacks)
    for run in runs:
        if run.instruction.opcode in _PRODUCTS:
            products.add(run, computations)
        if not run.fused:
            written.add(run)
    return Executable(written.facts(), products.facts(), _buffers(module, entry, of))


def _runs(
    computation: Any, times: int, computations: Mapping[int, Any], within: tuple[int, ...]
) -> Iterator[_Run]:
    """``within``: the computations that lead here, as a damaged one may call itself."""
    within = (*within, computation.id)
    for instruction in computation.instructions:
        opcode = instruction.opcode
        yield _Run(instruction, times, fused=False)
        if len(within) >= _DEEPEST or opcode not in (*_CONTROL, "fusion"):
            continue
        inner = times
        if opcode == "while" and (trips := _TRIPS.search(instruction.backend_config)):
            inner = times * int(trips[1])
        for called in instruction.called_computation_ids:
            if called in computations and called not in within:
                runs = _runs(computations[called], inner, computations, within)
                yield from (
                    (run._replace(fused=True) for run in runs) if opcode == "fusion" else runs
                )


def _site(instruction: Any, stacks: Stacks) -> CallSite:
    site = CallSite(*stacks.origin(instruction.metadata).site)
    return NOWHERE if site.file == _MLIR else site


class _Kind(NamedTuple):
    """What operations have in common that are added up."""

    array: Array
    opcode: str
    asynchronous: bool
    group: int | None
    axes: str
    op_name: str
    site: CallSite


class _Operations:
    """Operations that write arrays."""

    def __init__(
        self, of: dict[str, Any], stacks: Stacks, mesh: Mesh, computations: Mapping[int, Any]
    ) -> None:
        self._of, self._stacks, self._mesh, self._computations = of, stacks, mesh, computations
        self._started: dict[int, Any] = {}
        self._names: dict[_Kind, str] = {}
        self._times: dict[_Kind, int] = {}

    def add(self, run: _Run) -> None:
        """Add what an instruction writes."""
        instruction, opcode = run.instruction, run.instruction.opcode
        if opcode == "async-start":
            self._started[instruction.id] = instruction
        if opcode in _NO_WRITE or opcode.endswith("-start") or opcode == "async-update":
            return
        if opcode == "custom-call" and instruction.custom_call_target == _BITCAST:
            return
        done = self._wrapped(instruction) if opcode == "async-done" else None
        opcode = done.opcode if done is not None else opcode
        collective = _COLLECTIVE.fullmatch(opcode)
        group, axes = group_of(done or instruction, self._mesh) if collective else (None, "")
        for array in arrays(instruction.shape):
            kind = _Kind(
                array,
                f"{opcode}-done" if done is not None and not collective else opcode,
                bool(collective) and (done is not None or opcode.endswith("-done")),
                group,
                axes,
                instruction.metadata.op_name,
                _site(instruction, self._stacks),
            )
            self._names.setdefault(kind, instruction.name)
            self._times[kind] = self._times.get(kind, 0) + run.times

    def _wrapped(self, done: Any) -> Any:
        """The operation that an ``async-done`` ends; None if it cannot be found."""
        begin = next((self._started.get(number) for number in done.operand_ids), None)
        called = begin.called_computation_ids if begin is not None else ()
        inner = next((self._computations.get(number) for number in called), None)
        if inner is None:
            return None
        return next((each for each in inner.instructions if each.id == inner.root_id), None)

    def facts(self) -> list[TpuOperation]:
        """An operation for each kind."""
        return [self._fact(kind, times) for kind, times in self._times.items()]

    def _fact(self, kind: _Kind, times: int) -> TpuOperation:
        collective = _COLLECTIVE.fullmatch(kind.opcode)
        return TpuOperation(
            **self._of,
            operation=self._names[kind],
            opcode=collective[1] if collective else kind.opcode,
            does=_does(kind.opcode, collective=bool(collective)),
            **vars(kind.array),
            times=times,
            group=kind.group,
            axes=kind.axes,
            asynchronous=kind.asynchronous,
            op_name=kind.op_name,
            **_line(kind.site),
        )


def _does(opcode: str, *, collective: bool) -> str:
    if collective:
        return "communicates"
    if opcode in _MOVES:
        return "moves"
    return "transfers" if opcode in _TRANSFERS else "computes"


def _line(site: CallSite) -> dict[str, Any]:
    columns: dict[str, Any] = site.columns()
    del columns["via"]
    return columns


class _Products:
    """Products, by all that is known of them."""

    def __init__(self, of: dict[str, Any], stacks: Stacks) -> None:
        self._of, self._stacks = of, stacks
        self._times: dict[tuple[Any, ...], int] = {}
        self._types: dict[int, str] = {}

    def add(self, run: _Run, computations: Mapping[int, Any]) -> None:
        """Add a product."""
        if not self._types:
            self._types = _types(computations)
        instruction = run.instruction
        factors = {self._types.get(number, "") for number in instruction.operand_ids}
        shape = next((array.shape for array in arrays(instruction.shape)), ())
        site = _site(instruction, self._stacks)
        name = instruction.metadata.op_name
        type_ = factors.pop() if len(factors) == 1 else "mixed"
        key = (type_, shape, name, site)
        self._times[key] = self._times.get(key, 0) + run.times

    def facts(self) -> list[TpuProduct]:
        """A product for each kind."""
        return [
            TpuProduct(
                **self._of, type=type_, shape=shape, times=times, op_name=name, **_line(site)
            )
            for (type_, shape, name, site), times in self._times.items()
        ]


def _types(computations: Mapping[int, Any]) -> dict[int, str]:
    """The element types of instructions, by their numbers."""
    return {
        instruction.id: next((array.type for array in arrays(instruction.shape)), "")
        for computation in computations.values()
        for instruction in computation.instructions
    }


def _buffers(module: Any, entry: Any, of: dict[str, Any]) -> list[TpuBuffer]:
    aliased = {each.parameter_number for each in module.input_output_alias.entries}
    parameters = sorted(
        (each for each in entry.instructions if each.opcode == "parameter"),
        key=lambda each: each.parameter_number,
    )
    arguments = [
        (each.parameter_number, each.metadata.op_name, array)
        for each in parameters
        for array in arrays(each.shape)
    ]
    root = next((each for each in entry.instructions if each.id == entry.root_id), None)
    results = [] if root is None else [*arrays(root.shape)]
    return [
        *(
            _buffer(of, "argument", number, array, name, donated=number in aliased)
            for number, name, array in arguments
        ),
        *(_buffer(of, "result", number, array) for number, array in enumerate(results)),
    ]


def _buffer(
    of: dict[str, Any],
    role: str,
    number: int,
    array: Array,
    name: str = "",
    *,
    donated: bool = False,
) -> TpuBuffer:
    return TpuBuffer(
        **of,
        role=role,
        number=number,
        name=name,
        type=array.type,
        shape=array.shape,
        bytes=array.taken_bytes,
        donated=donated,
    )
