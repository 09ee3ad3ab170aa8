"""The checks of torch and torch_xla, each after the ones that it depends on."""

from __future__ import annotations

from collections.abc import Callable

from xladoctor.environment.child import Outcomes
from xladoctor.environment.framework import Framework
from xladoctor.environment.interface import Check
from xladoctor.frontends.torch_xla.environment import device, packages, probe
from xladoctor.frontends.torch_xla.environment.settings import HINDERING

_CHECKS: dict[str, Callable[[Outcomes], Check]] = {
    "torch": packages.torch,
    "torch_xla": packages.torch_xla,
    "versions": packages.versions,
    "PJRT_DEVICE": device.pjrt_device,
    "device": device.device,
    "libtpu": device.libtpu,
    "Neuron plugin": lambda _: device.neuron(),
    "computation": device.computation,
    "profiler": device.profiler,
}
FRAMEWORK = Framework(
    "torch_xla",
    probe.__file__,
    tuple(probe.STEPS),
    (
        "PT_XLA_DEBUG_FILE",
        "XLA_SAVE_TENSORS_FILE",
        "XLA_METRICS_FILE",
        "XLA_FNTRACKER_FILE",
        "XLA_PERSISTENT_CACHE_PATH",
    ),
    _CHECKS,
    HINDERING,
)
