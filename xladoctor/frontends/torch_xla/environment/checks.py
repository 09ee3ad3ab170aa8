"""The checks of torch and torch_xla, each after the ones that it depends on."""

from __future__ import annotations

from functools import partial

from xladoctor.environment import steps
from xladoctor.environment.framework import Framework, Step
from xladoctor.environment.interface import ok
from xladoctor.frontends.torch_xla.environment import device, packages, probe
from xladoctor.frontends.torch_xla.environment.settings import HINDERING

_IMPORT = "cannot be imported: "

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
