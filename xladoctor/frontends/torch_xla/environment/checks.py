"""The checks of torch and torch_xla, each after the ones that it depends on."""

from __future__ import annotations

import re
from functools import partial

from xladoctor.environment import steps
from xladoctor.environment.framework import Framework, Step
from xladoctor.environment.interface import ok
from xladoctor.environment.variables import Setting, switched_on
from xladoctor.frontends.torch_xla.environment import device, packages, probe

_IMPORT = "cannot be imported: "

_FEW_GRAPHS = 64  # training and evaluation with a few buckets each; torch_xla's default is 2,048


def _keeps_few(value: str) -> bool:
    """Whether a cache size is small; negative numbers mean a very large one, other text means 0."""
    return not re.fullmatch(r"\s*[+-]?\d+\s*", value) or 0 <= int(value) < _FEW_GRAPHS


#: Settings that hurt in any program, so that no captured run is needed.
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
FRAMEWORK = Framework(
    "torch_xla",
    probe.__file__,
    {
        "torch": Step("import torch", _IMPORT, needed="torch", own=packages.torch_missing),
        "torch_xla": Step(
            "import torch_xla", _IMPORT, needed="torch_xla", own=packages.torch_xla_unfit
        ),
        "device": Step(
            "import torch_xla; torch_xla.device()",
            "no device: ",
            needed="a device",
            own=device.unfit,
        ),
        "computation": Step(
            "import torch, torch_xla; print(torch.ones(8).to(torch_xla.device()).sum())"
        ),
        "profiler": Step(advice=steps.WITHOUT_PROFILER),
    },
    (
        "PT_XLA_DEBUG_FILE",
        "XLA_SAVE_TENSORS_FILE",
        "XLA_METRICS_FILE",
        "XLA_FNTRACKER_FILE",
        "XLA_PERSISTENT_CACHE_PATH",
    ),
    {
        "torch": lambda outcomes: ok("torch", str(outcomes["torch"].facts["version"])),
        "torch_xla": lambda outcomes: ok("torch_xla", str(outcomes["torch_xla"].facts["version"])),
        "versions": packages.versions,
        "PJRT_DEVICE": device.pjrt_device,
        "device": device.device,
        "libtpu": device.libtpu,
        "Neuron plugin": lambda _: device.neuron(),
        "computation": device.computation,
        "profiler": partial(steps.profiled, "profiler", marker="step_marker"),
    },
    device.FAULTS,
    HINDERING,
)
