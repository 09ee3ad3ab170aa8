"""The steps of the checks that use PyTorch, for ``..probe_runner``."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable
from typing import Any

Facts = dict[str, Any]


def import_torch() -> Facts:
    """Import torch; report its version and what it was built for."""
    import torch

    return {"version": torch.__version__, "built_for": torch.version.cuda or torch.version.hip}


def find_gpu() -> Facts:
    """List the GPUs by name, and find Triton, which compiles kernels for them."""
    import torch
    from torch.utils._triton import has_triton

    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    return {
        "gpus": [torch.cuda.get_device_name(number) for number in range(count)],
        "triton": count > 0 and has_triton(),
    }


def find_compiler() -> Facts:
    """Find the C++ compiler that Inductor would call, and the folder of its cache."""
    from torch._inductor import config, cpp_builder
    from torch._inductor.runtime.runtime_utils import default_cache_dir

    keeps = config.fx_graph_cache and not config.force_disable_caches
    compiler = cpp_builder.get_cpp_compiler()
    said = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True)
    return {
        "compiler": compiler,
        "says": said.stdout.partition("\n")[0],
        "cache": os.environ.get("TORCHINDUCTOR_CACHE_DIR") or default_cache_dir(),
        "keeps": bool(keeps),
    }


def compute() -> Facts:
    """Run the same step twice: its results, and how many graphs each run compiled.

    Each of 64 elements is 8 · 1 + 1: 576 in all.
    """
    import torch
    from torch._dynamo import config
    from torch._dynamo.utils import counters

    device = "cuda" if torch.cuda.is_available() else "cpu"
    values, graphs = [], []
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = folder
        step = torch.compile(lambda ones: (ones * 8 + 1).sum())
        for _ in range(2):
            before = counters["stats"]["unique_graphs"]
            values.append(float(step(torch.ones(8, 8, device=device))))
            graphs.append(counters["stats"]["unique_graphs"] - before)
    return {"values": values, "compiled": graphs, "limit": getattr(config, "recompile_limit", None)}


STEPS: dict[str, Callable[[], Facts]] = {
    "PyTorch": import_torch,
    "GPU": find_gpu,
    "C++ compiler": find_compiler,
    "torch.compile": compute,
}
