"""Compiles one graph for a TPU; runs in the user's interpreter, which has JAX and libtpu.

It imports nothing of this package and runs on Python 3.10. ``child.py REQUEST`` reads a request and
writes, into the request's folder, ``progress.json`` before it compiles, ``module.pb.gz`` (the
module after optimization, as text), and at the very end ``result.json``. Whoever finds no result
knows that the process died. Of JAX it uses names that are not public: no public function compiles
a graph that something else made.
"""

from __future__ import annotations

import ctypes
import gzip
import importlib
import json
import math
import os
import re
import resource
import signal
import sys
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

_PDEATHSIG = 1  # of prctl(2)
_UNBOUNDED = re.compile(r"tensor<((?:[\d?]+x)*\?x[^,>]*)(?:, #stablehlo\.bounds<([^>]*)>)?")
_CUSTOM_CALL = re.compile(r"(?:Custom emitter for|custom call target:?) ['\"]?([\w.$@-]+)")
_DONORS = re.compile(r"buffer_donor=\{(.*?\)) \}")
_TILES = re.compile(r"devices=\[([\d,]+)\]")
_MESH = re.compile(r"mesh(?: @\w+)? = #?(?:sdy\.mesh)?<\[([^\]]*)\]>")
_OF_LIVE_TENSORS = "IrToHlo"
_PRIVATE = (ImportError, AttributeError, TypeError)


class RefusalError(Exception):
    """The graph cannot be compiled: the kind of the reason, and its details."""

    def __init__(self, kind: str, detail: str = "") -> None:
        super().__init__(kind, detail)
        self.kind = kind
        self.detail = detail


def main(path: str) -> None:
    """Answer the request in a JSON file."""
    request = json.loads(Path(path).read_bytes())
    folder = Path(request["folder"])
    _end_with(request["parent"])
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a crash is reported, not dumped
    result: dict[str, Any] = {}
    try:
        _compile(request, folder, result)
    except RefusalError as refusal:
        result.update(verdict="refused", kind=refusal.kind, detail=refusal.detail)
    except _PRIVATE as error:
        text = f"{type(error).__name__}: {error}"
        result.update(verdict="refused", kind="interface", detail=text)
        traceback.print_exc()
    except MemoryError:
        result.update(verdict="refused", kind="out_of_memory", detail="")
    except Exception as error:  # whatever the compiler raises is its verdict
        result.update(_judged(str(error)))
        traceback.print_exc()
    _write(folder / "result.json", result)


def _end_with(parent: int) -> None:
    """Ask Linux to kill this process when its parent ends, even by SIGKILL."""
    ctypes.CDLL(None).prctl(_PDEATHSIG, signal.SIGKILL)
    try:
        os.kill(parent, 0)
    except ProcessLookupError:
        sys.exit(1)


def _write(file: Path, content: dict[str, Any]) -> None:
    new = file.with_suffix(".new")
    new.write_text(json.dumps(content), encoding="utf-8")
    new.replace(file)


def _compile(request: dict[str, Any], folder: Path, result: dict[str, Any]) -> None:
    import jax
    import jaxlib

    result["versions"] = {"jax": jax.__version__, "jaxlib": jaxlib.__version__}
    module = _parsed(request)
    _as_launched(module, request.get("donated") or [])
    text = module.operation.get_asm(large_elements_limit=16)
    result["operations"] = len(re.findall(r"^\s*%", text, re.MULTILINE))
    result["mesh"] = _mesh(text)
    with module.context:
        result["buffers"] = _buffers(module)
    _check(text)
    replicas, partitions = _counts(request, module, text)
    result["devices"] = replicas * partitions
    name, devices = _described(request, replicas * partitions)
    result["topology"] = name
    result["device_kind"] = devices[0].device_kind
    progress = {key: result[key] for key in ("operations", "topology")}
    _write(folder / "progress.json", progress)
    began, spent = time.monotonic(), _cpu_seconds()
    options = _options(devices, replicas, partitions, shardy="sdy." in text)
    if partitions > 1:
        options.executable_build_options.allow_spmd_sharding_propagation_to_output = _free(module)
    try:
        executable = _executable(module, devices, options)
    finally:
        result["seconds"] = time.monotonic() - began
        result["cpu_seconds"] = _cpu_seconds() - spent
    result["memory"] = _numbers(executable.get_compiled_memory_stats())
    optimized = executable.hlo_modules()[0].as_serialized_hlo_module_proto()
    with gzip.open(folder / "module.pb.gz", "wb", 5) as file:
        file.write(optimized)
    result["verdict"] = "compiled"


def _cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


# -- the graph -------------------------------------------------------------------------------


def _parsed(request: dict[str, Any]) -> Any:
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
            if "vhlo" in next((each.operation.name for each in module.body.operations), ""):
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
    count = len(function.regions[0].blocks[0].arguments)
    attributes = function.attributes
    with ir.Location.unknown():
        known = [ir.DictAttr.get({})] * count
        if "arg_attrs" in attributes:
            known = list(attributes["arg_attrs"])
        for number in donors:
            kept = {each.name: each.attr for each in known[number]}
            kept["jax.buffer_donor"] = ir.BoolAttr.get(True)
            known[number] = ir.DictAttr.get(kept)
        attributes["arg_attrs"] = ir.ArrayAttr.get(known)


def _main(module: Any) -> Any:
    """The function that a module's run begins with."""
    from jaxlib.mlir import ir

    functions = [one for one in module.body.operations if "sym_name" in one.attributes]
    names = [ir.StringAttr(one.attributes["sym_name"]).value for one in functions]
    return functions[names.index("main")]


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


def _as_launched(module: Any, donated: list[str]) -> None:
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
    known: list[Any] = [{}] * len(types)
    if "arg_attrs" in attributes:
        all_known = map(ir.DictAttr, ir.ArrayAttr(attributes["arg_attrs"]))
        known = [{each.name: each.attr for each in one} for one in all_known]
    left = Counter(donated)
    with module.context, ir.Location.unknown():
        with ir.InsertionPoint(end):
            ir.Operation.create("func.return", operands=results)
        end.operation.erase()
        kind = ir.FunctionType.get(types, [value.type for value in results])
        attributes["function_type"] = ir.TypeAttr.get(kind)
        if "res_attrs" in attributes:
            del attributes["res_attrs"]
        for number, (whole, has) in enumerate(zip(map(str, types), known, strict=True)):
            sharded = "devices=" in str(has.get("mhlo.sharding"))
            part = next(
                (one for one in left if one == whole or (sharded and _part(one, whole))), ""
            )
            if left[part]:
                left -= Counter([part])
                known[number] = {**has, "jax.buffer_donor": ir.BoolAttr.get(True)}
        attributes["arg_attrs"] = ir.ArrayAttr.get([ir.DictAttr.get(each) for each in known])


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


def _check(text: str) -> None:
    """Refuse what would end the process, or needs the program that made it."""
    for sizes, bounds in _UNBOUNDED.findall(text):
        limits = bounds.split(", ") if bounds else []
        for number, size in enumerate(sizes.split("x")[:-1]):
            if size == "?" and (number >= len(limits) or limits[number] == "?"):
                raise RefusalError("dynamic_shape", f"tensor<{sizes}>")
    callback = re.search(r"custom_call @(\w*python\w*callback\w*)", text)
    if callback or (callback := re.search(r'call_target_name = "(\w*python\w*callback\w*)"', text)):
        raise RefusalError("host_callback", callback[1])


def _counts(request: dict[str, Any], module: Any, text: str) -> tuple[int, int]:
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


def _mesh(text: str) -> dict[str, int]:
    """The axes of the program's mesh with their sizes; empty if it has none."""
    found = _MESH.search(text)
    axes = re.findall(r'"?([\w.-]+)"?\s*=\s*(\d+)', found[1]) if found else []
    return {name: int(size) for name, size in axes}


def _buffers(module: Any) -> list[dict[str, Any]]:
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


# -- compiling -------------------------------------------------------------------------------


def _described(request: dict[str, Any], needed: int) -> tuple[str, list[Any]]:
    """The first topology of the request with that many devices: its name, and the devices."""
    from jax.experimental import topologies

    for topology in request["topologies"]:
        if topology["devices"] < needed:
            continue
        name = topology["name"]
        try:
            description = topologies.get_topology_desc(
                topology_name=name, platform="tpu", **topology["options"]
            )
        except Exception as error:
            kind = "lock" if "lockfile" in str(error) else "topology"
            raise RefusalError(kind, str(error)) from error
        if len(description.devices) >= needed:
            return name, list(description.devices)[:needed]
    raise RefusalError("devices", str(needed))


def _options(devices: list[Any], replicas: int, partitions: int, *, shardy: bool) -> Any:
    import numpy
    from jaxlib import xla_client

    options = xla_client.CompileOptions()
    build = options.executable_build_options
    for each in (options, build):
        each.num_replicas, each.num_partitions = replicas, partitions
    build.use_spmd_partitioning = partitions > 1
    build.use_shardy_partitioner = shardy
    numbers = numpy.array([device.id for device in devices]).reshape(replicas, partitions)
    build.device_assignment = xla_client.DeviceAssignment.create(numbers)
    return options


def _free(module: Any) -> list[bool]:
    """For each result, whether the graph leaves its sharding to the compiler, as frameworks do."""
    function = _main(module)
    if "res_attrs" not in function.attributes:
        return [True]  # all of them
    named = ("mhlo.sharding", "sdy.sharding")
    return [not any(name in each for name in named) for each in function.attributes["res_attrs"]]


def _executable(module: Any, devices: list[Any], options: Any) -> Any:
    from jaxlib import xla_client

    compiling = devices[0].client.compile
    return compiling(module, xla_client.DeviceList(tuple(devices)), options)


def _judged(message: str) -> dict[str, str]:
    """The verdict that an error of the compiler expresses."""
    if "RESOURCE_EXHAUSTED" in message and "Oom" in message:
        return {"verdict": "does_not_fit", "detail": message}
    if unknown := _CUSTOM_CALL.search(message):
        kind = "host_callback" if "callback" in unknown[1] else "custom_call"
        return {"verdict": "refused", "kind": kind, "detail": unknown[1]}
    if illegal := re.search(r"failed to legalize operation 'mhlo\.(\w+)'", message):
        return {"verdict": "refused", "kind": "optimized", "detail": illegal[1]}
    return {"verdict": "refused", "kind": "failed", "detail": message}


def _numbers(found: Any) -> dict[str, int]:
    """All whole numbers among the attributes of an object."""
    values = {name: getattr(found, name) for name in dir(found) if not name.startswith("_")}
    return {name: value for name, value in values.items() if isinstance(value, int)}


if __name__ == "__main__":
    # What lies beside this file must not hide modules of the same names.
    sys.path[:] = [each for each in sys.path if each != str(Path(__file__).resolve().parent)]
    main(sys.argv[1])
