"""Compiles one graph for a TPU; runs in the user's interpreter, which has JAX and libtpu.

It imports only what lies beside it, and runs on Python 3.10. Given a request, it writes into the
request's folder ``progress.json`` before it compiles, ``module.pb.gz`` (the module after
optimization), ``plan.pb.gz`` (its plan of memory, if there is one), and at the very end
``result.json``. Whoever finds no result knows that the process died. Of JAX it uses names that are
not public: no public function compiles a graph that something else made.
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
import time
import traceback
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import xladoctor_graph as graph

_PDEATHSIG = 1  # of prctl(2)
_PRIVATE = (ImportError, AttributeError, TypeError)


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
    from jaxlib import xla_client

    result["versions"] = {"jax": jax.__version__, "jaxlib": jaxlib.__version__}
    module = graph.parsed(request)
    graph.as_launched(module, request.get("donated") or [])
    text = module.operation.get_asm(large_elements_limit=16)
    result["operations"] = len(re.findall(r"^\s*%", text, re.MULTILINE))
    result["mesh"] = graph.mesh(text)
    with module.context:
        result["buffers"] = graph.buffers(module)
    graph.check(text)
    replicas, partitions = graph.counts(request, module, text)
    result["devices"] = replicas * partitions
    result["topology"], devices = _described(request, replicas * partitions)
    _write(folder / "progress.json", {key: result[key] for key in ("operations", "topology")})
    began = time.monotonic()
    options = _options(devices, replicas, partitions, shardy="sdy." in text)
    if partitions > 1:
        build = options.executable_build_options
        build.allow_spmd_sharding_propagation_to_output = graph.free(module)
    try:
        client, chosen = devices[0].client, xla_client.DeviceList(tuple(devices))
        executable = client.compile(module, chosen, options)
    finally:
        result["seconds"] = time.monotonic() - began
        with suppress(OSError):
            _keep_plan(folder)  # also of a graph that does not fit
    result["memory"] = _numbers(executable.get_compiled_memory_stats())
    optimized = executable.hlo_modules()[0].as_serialized_hlo_module_proto()
    with gzip.open(folder / "module.pb.gz", "wb", 5) as file:
        file.write(optimized)
    result["verdict"] = "compiled"


def _keep_plan(folder: Path) -> None:
    """Keep what the compiler has planned in memory (HloProto), which its executable does not say;
    nothing if it has not written that.
    """
    for dumped in (folder / "dump").glob("*.after_optimizations.hlo.pb"):
        with gzip.open(folder / "plan.pb.gz", "wb", 5) as file:
            file.write(dumped.read_bytes())


def _described(request: dict[str, Any], needed: int) -> tuple[str, list[Any]]:
    """The first topology of the request with that many devices: its name, and the devices."""
    for topology in request["topologies"]:
        if topology["devices"] < needed:
            continue
        try:
            description = _description(topology["name"], topology["options"])
        except Exception as error:
            kind = "lock" if "lockfile" in str(error) else "topology"
            raise graph.RefusalError(kind, str(error)) from error
        if len(description.devices) >= needed:
            return topology["name"], list(description.devices)[:needed]
    raise graph.RefusalError("devices", str(needed))


def _description(name: str, options: dict[str, Any]) -> Any:
    from jax.experimental import topologies

    describe = partial(topologies.get_topology_desc, topology_name=name, platform="tpu", **options)
    try:
        return describe()
    except Exception as error:
        alone = set(name.partition(":")[2].split("x")) == {"1"}
        if not alone or "chips_per_host_bounds" not in str(error):
            raise
    return describe(chips_per_host_bounds=[1, 1, 1])  # older libtpu expects four chips of a host


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
