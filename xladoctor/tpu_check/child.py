"""Compiles one graph for a TPU, in a process of its own: the compiler may abort, hang, or run out of memory.

Runs in the interpreter that has ``jax[tpu]``, which need not be that of xladoctor, so it imports
nothing of it. It is given a folder with ``request.json`` and the graph, and leaves ``result.json``
there, and ``module.pb.gz``, the executable's optimized module.

    python child.py FOLDER
"""

from __future__ import annotations

import gzip
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

#: Set before JAX is imported: no TPU is looked for, and no server asked which this machine has.
ENVIRONMENT = {"JAX_PLATFORMS": "cpu", "TPU_SKIP_MDS_QUERY": "1", "ALLOW_MULTIPLE_LIBTPU_LOAD": "1"}
#: Of what the compiler says of memory; a module of another libtpu may lack some.
STATISTICS = ("argument", "output", "alias", "temp", "generated_code")


def main(folder: Path) -> None:
    """Compile, and write what came of it."""
    request = json.loads((folder / "request.json").read_text())
    result: dict[str, Any] = {"outcome": "failed"}
    began = time.monotonic(), time.process_time()
    try:
        executable = compile_graph(folder / "graph", request, result)
        memory = executable.get_compiled_memory_stats()
        sizes = {name: getattr(memory, f"{name}_size_in_bytes", None) for name in STATISTICS}
        peak = getattr(memory, "peak_memory_in_bytes", None)
        result["memory"] = {**sizes, "peak": peak}
        (module,) = executable.hlo_modules()
        content = gzip.compress(module.as_serialized_hlo_module_proto(), 1)
        (folder / "module.pb.gz").write_bytes(content)
        result["outcome"] = "compiled"
    except Exception as error:  # the compiler's own are of several classes, private ones among them
        result["error"] = f"{type(error).__name__}: {error}"
    result["seconds"] = time.monotonic() - began[0]
    result["processor_seconds"] = time.process_time() - began[1]
    partial = folder / "result.partial"
    partial.write_text(json.dumps(result))
    partial.replace(folder / "result.json")


def compile_graph(graph: Path, request: dict[str, Any], result: dict[str, Any]) -> Any:
    """The executable. What is learnt before it fails is put into ``result``."""
    import jax
    import jaxlib
    import numpy as np
    from jax.experimental import topologies

    result["versions"] = {"jax": jax.__version__, "jaxlib": jaxlib.__version__, **_libtpu()}
    result["step"] = "topology"
    topology = topologies.get_topology_desc(topology_name=request["topology"], platform="tpu")
    devices = list(topology.devices)[: request["devices"]]
    result["device"] = devices[0].device_kind
    # Private: JAX has no public way to compile a graph that it has not traced.
    from jax._src import compiler
    from jax._src.interpreters import mlir
    from jax._src.lib import xla_client
    from jax._src.lib.mlir import ir

    result["step"] = "graph"
    content: bytes = graph.read_bytes()
    if request["form"] == "hlo":
        content = xla_client._xla.mlir.hlo_to_stablehlo(content)
    elif request["form"] == "export":
        from jax import export

        content = export.deserialize(bytearray(content)).mlir_module_serialized
    with mlir.make_ir_context():
        module = ir.Module.parse(content)
    options = compiler.get_compile_options(
        num_replicas=1,
        num_partitions=len(devices),
        device_assignment=np.array([devices]),
    )
    if len(devices) > 1:
        options.executable_build_options.use_spmd_partitioning = True
        options.executable_build_options.use_shardy_partitioner = True
    result["step"] = "compile"
    return devices[0].client.compile(module, xla_client.DeviceList(tuple(devices)), options)


def _libtpu() -> dict[str, str]:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return {"libtpu": version("libtpu")}
    except PackageNotFoundError:
        return {}


if __name__ == "__main__":
    os.environ.update(ENVIRONMENT)
    os.environ.pop("TPU_LIBRARY_PATH", None)
    main(Path(sys.argv[1]))
