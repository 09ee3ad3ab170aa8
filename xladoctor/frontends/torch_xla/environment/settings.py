"""Settings of torch_xla and XLA that hurt in any program, so that no captured run is needed."""

from __future__ import annotations

import re

from xladoctor.environment.variables import Setting, switched_on

_FEW_GRAPHS = 64  # training and evaluation with a few buckets each; torch_xla's default is 2,048


def _keeps_few(value: str) -> bool:
    """Whether a cache size is small; negative numbers mean a very large one, other text means 0."""
    return not re.fullmatch(r"\s*[+-]?\d+\s*", value) or 0 <= int(value) < _FEW_GRAPHS


HINDERING = (
    Setting(
        ("XLA_USE_BF16", "XLA_DOWNCAST_BF16"),
        switched_on,
        "silently turns every float into bfloat16, and is deprecated",
        "unset it and convert the model: model.to(torch.bfloat16) or torch.autocast",
    ),
    Setting(
        ("XLA_COMPILATION_CACHE_SIZE",),
        _keeps_few,
        "only that many compiled graphs are kept; any others are compiled again",
        "unset it (the default is 2048)",
    ),
    Setting(
        ("XLA_FLAGS",),
        lambda value: "--xla_dump_to" in value,
        "has --xla_dump_to: each compilation writes its graphs to files",
        "remove it",
    ),
    Setting(
        ("XLA_METRICS_FILE",),
        switched_on,
        "the whole metrics report is written at each barrier",
        "unset it: `xladoctor run` keeps the metrics every few seconds",
    ),
    Setting(
        ("XLA_FNTRACKER_FILE",),
        switched_on,
        "writes the stack of each operator to a file, which takes milliseconds each",
        "unset it: `xladoctor run` finds the lines of operators without a lowering",
    ),
    Setting(
        ("XRT_TPU_CONFIG", "XRT_DEVICE_MAP", "XRT_WORKERS"),
        switched_on,
        "belongs to the old runtime; torch_xla no longer reads it",
        "unset it, and choose the device with PJRT_DEVICE",
    ),
    Setting(("XLA_DUMP_HLO_GRAPH",), switched_on, "torch_xla no longer reads it"),
)
