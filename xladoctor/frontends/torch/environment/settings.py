"""Settings that keep torch.compile from compiling what a program requests."""

from __future__ import annotations

from xladoctor.environment.variables import Setting, switched_on

HINDERING = (
    Setting(
        ("TORCHDYNAMO_DISABLE", "TORCH_COMPILE_DISABLE"),
        lambda value: value == "1",
        "torch.compile compiles nothing, and there is nothing to capture",
    ),
    Setting(
        ("TORCHINDUCTOR_FORCE_DISABLE_CACHES",),
        lambda value: value == "1",
        "each process compiles everything again",
    ),
    Setting(
        ("TORCHINDUCTOR_FX_GRAPH_CACHE",),
        lambda value: value == "0",
        "compiled graphs are not kept for the next run",
    ),
    Setting(
        ("TORCH_COMPILE_DEBUG",),
        lambda value: value == "1",
        "each compilation writes its graphs and code to files",
    ),
    Setting(("CUDA_LAUNCH_BLOCKING",), switched_on, "the host waits for each kernel on the GPU"),
)
