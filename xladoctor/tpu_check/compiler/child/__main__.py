"""Compiles one graph for a TPU; runs in the user's interpreter, which has JAX and libtpu.

It imports only what lies beside it, and runs on Python 3.10. Given a request, it writes into the
request's folder ``progress.json`` before it compiles, ``module.pb.gz`` (the module after
optimization), ``plan.pb.gz`` (its plan of memory, if there is one), and at the very end
``result.json``. Whoever finds no result knows that the process died. Of JAX it uses names that are
not public: no public function compiles a graph that something else made.

The compiler optimizes a graph and plans its memory in seconds, and dumps both; then it generates
machine code, which takes minutes and changes neither. Unless that is asked for, or only that shows
that the graph is for another platform, this process ends when the plan is there.
"""

from __future__ import annotations

import ctypes
import gzip
import json
import os
import re
import resource
import signal
import sys
import threading
import time
import traceback
from pathlib import Path
from typing import Any

import xladoctor_bound as bound
import xladoctor_graph as graph

_PDEATHSIG = 1  # of prctl(2)
_PRIVATE = (ImportError, AttributeError, TypeError)
_LOOK_S = 0.1
#: What the compiler dumps: the module with its plan, and, if that fits, the next one.
_PLAN, _NEXT = ".after_optimizations.hlo.pb", ".after_optimizations_after_buffer_assignment.hlo.pb"


def main(path: str) -> None:
    """Answer the request in a JSON file."""
    request = json.loads(Path(path).read_bytes())
    folder = Path(request["folder"])
    _end_with(request["parent"])
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a crash is reported, not dumped
    result: dict[str, Any] = {}
    dumped = folder / "dump"
    asked = f"--xla_dump_to={dumped} --xla_dump_hlo_as_proto"
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {asked}".strip()
    try:
        _compile(request, folder, result)
    except graph.RefusalError as refusal:
        result.update(verdict="refused", kind=refusal.kind, detail=refusal.detail)
    except _PRIVATE as error:
        text = f"{type(error).__name__}: {error}"
        result.update(verdict="refused", kind="interface", detail=text)
        traceback.print_exc()
    except MemoryError:
        result.update(verdict="refused", kind="out_of_memory")
    except Exception as error:  # whatever the compiler raises is its verdict
        result.update(verdict="raised", detail=str(error))
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
    _write(folder / "progress.json", {"phase": "reading"})
    module = graph.parsed(request)
    graph.as_launched(module, request.get("donated") or [])
    text = module.operation.get_asm(large_elements_limit=16)
    request["whole"] |= graph.is_foreign(text)
    result["operations"] = len(re.findall(r"^\s*%", text, re.MULTILINE))
    result["loops"] = text.count(" stablehlo.while")
    result["mesh"] = graph.mesh(text)
    with module.context:
        result["buffers"] = graph.buffers(module)
    graph.check(text)
    replicas, partitions = graph.counts(request, module, text)
    result["devices"] = replicas * partitions
    began = time.monotonic()
    result["least"] = _least(module, text, partitions)
    result["topology"], available, devices = _described(request, replicas * partitions)
    told = {key: result[key] for key in ("operations", "loops", "topology", "least")}
    _write(folder / "progress.json", {"phase": "compiling", **told})
    options = _options(devices, replicas, partitions, shardy="sdy." in text)
    if partitions > 1:
        build = options.executable_build_options
        build.allow_spmd_sharding_propagation_to_output = graph.free(module)
    try:
        if result["least"] and result["least"]["bytes"] > available:
            result.update(verdict="does_not_fit", stage="bound")
        else:
            _optimize(module, devices, options, request, folder, result, began)
    finally:
        _spent(result, began)


def _least(module: Any, text: str, partitions: int) -> Any:
    """What a device must hold at least; None if this release lacks what finds that."""
    try:
        with module.context:
            return bound.least(module, text, partitions)
    except Exception:  # the compiler's verdict is none the worse
        traceback.print_exc()
        return None


def _spent(result: dict[str, Any], began: float) -> None:
    result.update(seconds=time.monotonic() - began, processor=time.process_time())


def _optimize(
    module: Any,
    devices: list[Any],
    options: Any,
    request: dict[str, Any],
    folder: Path,
    result: dict[str, Any],
    began: float,
) -> None:
    """Let the compiler run, until it has planned memory or to its end."""
    from jaxlib import xla_client

    writing = threading.Lock()
    if not request["whole"]:
        given = folder, result, began, writing
        threading.Thread(target=_end_at_plan, args=given, daemon=True).start()
    chosen = xla_client.DeviceList(tuple(devices))
    executable = devices[0].client.compile(module, chosen, options)
    writing.acquire()  # for good: from here on, nobody else ends this
    result["memory"] = _numbers(executable.get_compiled_memory_stats())
    optimized = executable.hlo_modules()[0].as_serialized_hlo_module_proto()
    _pack(folder / "module.pb.gz", optimized)
    for dumped in (folder / "dump").glob(f"*{_PLAN}"):
        _pack(folder / "plan.pb.gz", dumped.read_bytes())
    result.update(verdict="compiled", stage="code")


def _end_at_plan(
    folder: Path, result: dict[str, Any], began: float, writing: threading.Lock
) -> None:
    """End this process once the compiler has planned the memory of a graph that fits.

    Where a release dumps other files, nothing happens.
    """
    while not (found := [*(folder / "dump").glob(f"*{_NEXT}")]):
        time.sleep(_LOOK_S)
    plan = Path(str(found[0])[: -len(_NEXT)] + _PLAN).read_bytes()
    with writing:
        _pack(folder / "plan.pb.gz", plan)
        _pack(folder / "module.pb.gz", _first_field(plan))
        _spent(result, began)
        _write(folder / "result.json", {**result, "verdict": "compiled", "stage": "plan"})
        os._exit(0)


def _first_field(proto: bytes) -> bytes:
    """The module in an HloProto: its first field, behind its tag and its length."""
    length, place, shift = 0, 1, 0
    while True:
        byte = proto[place]
        length |= (byte & 127) << shift
        place, shift = place + 1, shift + 7
        if byte < 128:
            return proto[place : place + length]


def _pack(file: Path, content: bytes) -> None:
    with gzip.open(file, "wb", 5) as packed:
        packed.write(content)


def _described(request: dict[str, Any], needed: int) -> tuple[str, int, list[Any]]:
    """The first topology of the request with that many devices: its name, a device's memory in
    bytes, and the devices.
    """
    from jax.experimental import topologies

    for topology in request["topologies"]:
        if topology["devices"] < needed:
            continue
        try:
            description = topologies.get_topology_desc(
                topology_name=topology["name"], platform="tpu", **topology["options"]
            )
        except Exception as error:
            kind = "lock" if "lockfile" in str(error) else "topology"
            raise graph.RefusalError(kind, str(error)) from error
        if len(description.devices) >= needed:
            return topology["name"], topology["memory"], list(description.devices)[:needed]
    raise graph.RefusalError("devices", str(needed))


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


def _numbers(found: Any) -> dict[str, int]:
    """All whole numbers among the attributes of an object."""
    values = ((name, getattr(found, name)) for name in dir(found) if not name.startswith("_"))
    return {name: value for name, value in values if isinstance(value, int)}


if __name__ == "__main__":
    main(sys.argv[1])
