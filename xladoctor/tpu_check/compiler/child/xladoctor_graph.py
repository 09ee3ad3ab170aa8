"""Reads a graph in any of its forms as a module of MLIR, and says what it is for.

Like all that runs in the user's interpreter, it imports nothing of this package.
"""

from __future__ import annotations

import importlib
import math
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_UNBOUNDED = re.compile(r"tensor<((?:[\d?]+x)*\?x[^,>]*)(?:, #stablehlo\.bounds<([^>]*)>)?")
_CALLBACK = re.compile(r'(?:custom_call @|call_target_name = ")(\w*python\w*callback\w*)')
_DONORS = re.compile(r"buffer_donor=\{(.*?\)) \}")
_TILES = re.compile(r"devices=\[([\d,]+)\]")
_MESH = re.compile(r"mesh(?: @\w+)? = #?(?:sdy\.mesh)?<\[([^\]]*)\]>")
_TARGET = re.compile(r'(?:custom_call @|call_target_name = ")([\w.$-]+)')
#: Custom calls that the compiler of TPUs knows (as ``jax/_src/export/_export.py`` has them);
#: whether it knows others shows only in its code.
_KNOWN = (
    *("Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape", "annotate_device_placement"),
    *("tpu_custom_call", "ApproxTopK", "Eigh", "LuDecomposition", "Qr"),
    "ProductOfElementaryHouseholderReflectors",
)
_OF_LIVE_TENSORS = "IrToHlo"


@dataclass(eq=False)
class RefusalError(Exception):
    """The graph cannot be compiled: the kind of the reason, and its details."""

    kind: str
    detail: str = ""


def parsed(request: dict[str, Any]) -> Any:
    """The graph as a module of MLIR."""
    from jax.interpreters import mlir
    from jaxlib.mlir import ir
    from jaxlib.mlir.dialects import stablehlo

    content = Path(request["content"]).read_bytes()
    form: str = request["form"]
    platforms: tuple[str, ...] = ()
    donors: list[int] = []
    if form == "jax_export":
        content, platforms = _exported(content)
    elif form.startswith("hlo"):
        content, donors = _of_hlo(content, form)
    context = mlir.make_ir_context()
    with context:
        try:
            module = ir.Module.parse(content)
            if any("vhlo" in each.operation.name for each in module.body.operations):
                # What is meant to be read by other releases.
                module = stablehlo.deserialize_portable_artifact(context, content)
        except Exception as error:
            known = stablehlo.get_current_version()
            raise RefusalError("not_a_graph", f"{error} (StableHLO {known})") from error
        if len(platforms) > 1 and "tpu" in platforms:
            _choose(module, platforms.index("tpu"))
        if donors:
            _donate(module, donors)
    return module


def _exported(content: bytes) -> tuple[bytes, tuple[str, ...]]:
    """The module of a function that ``jax.export`` serialized, and its platforms."""
    try:
        importlib.import_module("flatbuffers")  # with which JAX reads it
    except ImportError as error:
        raise RefusalError("flatbuffers") from error
    from jax import export

    try:
        exported = export.deserialize(bytearray(content))
    except Exception as error:
        raise RefusalError("not_a_graph", f"{type(error).__name__}: {error}") from error
    if any(not isinstance(size, int) for aval in exported.in_avals for size in aval.shape):
        raise RefusalError("dynamic_shape", ", ".join(str(aval) for aval in exported.in_avals))
    return exported.mlir_module_serialized, exported.platforms


def _of_hlo(content: bytes, form: str) -> tuple[bytes, list[int]]:
    """The MLIR of a module in HLO, a serialized HloModuleProto or text, and donated parameters.

    PyTorch/XLA donates parameters to whichever results they fit, which the conversion drops.
    """
    from jaxlib import xla_client

    library = xla_client._xla
    if form == "hlo_text":
        text = content.decode("utf-8", "replace")
        read = getattr(library, "hlo_module_from_text", None)
        if read is None:  # since jaxlib 0.8
            from jaxlib import _hlo

            read = _hlo.hlo_module_from_text
        try:
            content = read(text).as_serialized_hlo_module_proto()
        except Exception as error:
            raise RefusalError("not_a_graph", str(error)) from error
    try:
        converted: bytes = library.mlir.hlo_to_stablehlo(content)
        head = xla_client.XlaComputation(content).as_hlo_text().partition("\n")[0]
    except Exception as error:
        raise RefusalError("not_a_graph", str(error)) from error
    donors = _DONORS.search(head)
    numbers = re.findall(r"\((\d+), \{\}", donors[1]) if donors else []
    return converted, [int(number) for number in numbers]


def _donate(module: Any, donors: list[int]) -> None:
    """Let results take the place of these parameters."""
    from jaxlib.mlir import ir

    function = _main(module)
    known = _of_arguments(function)
    with module.context, ir.Location.unknown():
        for number in donors:
            known[number]["jax.buffer_donor"] = ir.BoolAttr.get(True)
        function.attributes["arg_attrs"] = ir.ArrayAttr.get([*map(ir.DictAttr.get, known)])


def _of_arguments(function: Any) -> list[dict[str, Any]]:
    """The attributes of each argument of a function."""
    from jaxlib.mlir import ir

    if "arg_attrs" not in function.attributes:
        return [{} for _ in function.regions[0].blocks[0].arguments]
    given = map(ir.DictAttr, ir.ArrayAttr(function.attributes["arg_attrs"]))
    return [{each.name: each.attr for each in one} for one in given]


def _main(module: Any) -> Any:
    """The function that a module's run begins with."""
    from jaxlib.mlir import ir

    return ir.SymbolTable(module.operation)["main"]


def _choose(module: Any, index: int) -> None:
    """Keep, of a function that was exported for several platforms, the code for the TPU."""
    import numpy
    from jaxlib.mlir import ir
    from jaxlib.mlir.dialects import stablehlo

    block = _main(module).regions[0].blocks[0]
    with ir.Location.unknown(), ir.InsertionPoint.at_block_begin(block):
        number = ir.DenseElementsAttr.get(
            numpy.array(index, numpy.int32), type=ir.IntegerType.get_signless(32), shape=[]
        )
        block.arguments[0].replace_all_uses_with(stablehlo.constant(number))


def as_launched(module: Any, donated: list[str]) -> None:
    """Make a graph of all live tensors, as PyTorch/XLA lowers them for others, the one it launches.

    That has no results which are arguments as they are, and may overwrite some arguments.

    Args:
        donated: the types of these, on one device.
    """
    from jaxlib.mlir import ir

    attributes = module.operation.attributes
    name = ir.StringAttr(attributes["sym_name"]).value if "sym_name" in attributes else ""
    if not name.startswith(_OF_LIVE_TENSORS):
        return
    entry = _main(module)
    block, attributes = entry.regions[0].blocks[0], entry.attributes
    end = next(each for each in block.operations if each.operation.name == "func.return")
    results = [each for each in end.operands if not isinstance(each, ir.BlockArgument)]
    types = [argument.type for argument in block.arguments]
    left, donors = Counter(donated), []
    with module.context, ir.Location.unknown():
        with ir.InsertionPoint(end):
            ir.Operation.create("func.return", operands=results)
        end.operation.erase()
        kind = ir.FunctionType.get(types, [value.type for value in results])
        attributes["function_type"] = ir.TypeAttr.get(kind)
        if "res_attrs" in attributes:
            del attributes["res_attrs"]
    for number, (whole, has) in enumerate(zip(map(str, types), _of_arguments(entry), strict=True)):
        sharded = "devices=" in str(has.get("mhlo.sharding"))
        part = next((one for one in left if one == whole or (sharded and _part(one, whole))), "")
        if left[part]:
            left -= Counter([part])
            donors.append(number)
    _donate(module, donors)


def _part(part: str, whole: str) -> bool:
    """Whether an array, by the text of its type, may be what one device has of another."""
    *sizes, element = part[len("tensor<") : -1].split("x")
    *others, same = whole[len("tensor<") : -1].split("x")
    return (
        (element, len(sizes)) == (same, len(others))
        and all(size.isdigit() for size in sizes + others)
        and all(
            int(size) and int(other) % int(size) == 0
            for size, other in zip(sizes, others, strict=True)
        )
    )


def check(text: str) -> None:
    """Refuse what would end the process, or needs the program that made it."""
    for sizes, bounds in _UNBOUNDED.findall(text):
        limits = bounds.split(", ") if bounds else []
        for number, size in enumerate(sizes.split("x")[:-1]):
            if size == "?" and (number >= len(limits) or limits[number] == "?"):
                raise RefusalError("dynamic_shape", f"tensor<{sizes}>")
    if callback := _CALLBACK.search(text):
        raise RefusalError("host_callback", callback[1])


def is_foreign(text: str) -> bool:
    """Whether it calls what may be for another platform."""
    return not {*_TARGET.findall(text)}.issubset(_KNOWN)


def counts(request: dict[str, Any], module: Any, text: str) -> tuple[int, int]:
    """Replicas and partitions, from the file, the module's attributes, or else its shardings."""
    from jaxlib.mlir import ir

    attributes = module.operation.attributes

    def stated(name: str) -> int | None:
        return int(ir.IntegerAttr(attributes[name]).value) if name in attributes else None

    replicas = request["replicas"] or stated("mhlo.num_replicas")
    partitions = request["partitions"] or stated("mhlo.num_partitions")
    if partitions is None:
        tiles = [tile.split(",") for tile in _TILES.findall(text)]
        meshes = [re.findall(r"=\s*(\d+)", mesh) for mesh in _MESH.findall(text)]
        partitions = max((math.prod(map(int, sizes)) for sizes in tiles + meshes), default=1)
    return replicas or 1, partitions


def mesh(text: str) -> dict[str, int]:
    """The axes of the program's mesh with their sizes; empty if it has none."""
    found = _MESH.search(text)
    axes = re.findall(r'"?([\w.-]+)"?\s*=\s*(\d+)', found[1]) if found else []
    return {name: int(size) for name, size in axes}


def buffers(module: Any) -> list[dict[str, Any]]:
    """Arguments and results of the program as a whole: of all devices, without padding."""
    main = _main(module)
    buffers = []
    for number, (argument, told) in enumerate(zip(main.arguments, main.arg_attrs, strict=True)):
        name = re.fullmatch(r'loc\("([^"]{1,200})"\)', str(argument.location))
        donated = any(key in told for key in ("tf.aliasing_output", "jax.buffer_donor"))
        buffers.append(_buffer("argument", number, argument.type, name[1] if name else "", donated))
    for number, type_ in enumerate(main.type.results):
        buffers.append(_buffer("result", number, type_, "", False))
    return [each for each in buffers if each]


def _buffer(role: str, number: int, type_: Any, name: str, donated: bool) -> dict[str, Any]:
    if not hasattr(type_, "shape"):  # a token
        return {}
    return {
        "role": role,
        "number": number,
        "name": name,
        "type": str(type_.element_type),
        "shape": list(type_.shape),
        "donated": donated,
    }


def free(module: Any) -> list[bool]:
    """For each result, whether the graph leaves its sharding to the compiler, as frameworks do."""
    function = _main(module)
    if "res_attrs" not in function.attributes:
        return [True]  # all of them
    named = ("mhlo.sharding", "sdy.sharding")
    return [not any(name in each for name in named) for each in function.attributes["res_attrs"]]
