"""Reads an executable of a TPU: what its operations write, its products, arguments and results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from google.protobuf.message import DecodeError

from xladoctor.facts.tpu import TpuBuffer, TpuOperation, TpuProduct
from xladoctor.ingest.frames import Folders
from xladoctor.ingest.hlo.communication import Exchanges
from xladoctor.ingest.hlo.flow import Flow
from xladoctor.ingest.hlo.groups import Mesh, mesh_of
from xladoctor.ingest.hlo.layout import Array, arrays
from xladoctor.ingest.hlo.sites import Site, Sites
from xladoctor.ingest.hlo.stacks import Stacks
from xladoctor.ingest.hlo.walk import Run, root_of, walk
from xladoctor.ingest.protobuf_schema import message
from xladoctor.tpu_check.executable.operations import Operations

_MOST = 1_000_000  # operations
_PRODUCTS = ("dot", "convolution")


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
    runs = [*islice(walk(entry, computations), _MOST)]
    stacks = Stacks(module.stack_frame_index, folders)
    of = {"graph": graph, "topology": topology}
    mesh = mesh or mesh_of(each.instruction.mesh_device_list.mesh for each in runs)
    flow = Flow(module)
    sites = Sites(flow, stacks)
    exchanges = Exchanges(module, flow, sites, mesh)
    written = Operations(runs, computations, mesh, sites, exchanges).facts(of)
    products = _products(runs, computations, sites, of)
    return Executable(written, products, _buffers(module, entry, of))


def _products(
    runs: Sequence[Run], computations: Mapping[int, Any], sites: Sites, of: Mapping[str, Any]
) -> list[TpuProduct]:
    """A fact for each kind of matrix product or convolution, which fusions contain."""
    times: Counter[tuple[bool, tuple[int, ...], Site]] = Counter()
    types = _types(computations)
    for run in runs:
        instruction = run.instruction
        if instruction.opcode in _PRODUCTS:
            shape = next((array.shape for array in arrays(instruction.shape)), ())
            float32 = "f32" in {types.get(number) for number in instruction.operand_ids}
            times[float32, shape, sites.of(instruction)] += run.times
    return [
        TpuProduct(**of, float32=float32, shape=shape, times=count, **site.columns())
        for (float32, shape, site), count in times.items()
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
    root = root_of(entry)
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
