"""What is checked of torch and torch_xla, each after those that it builds on."""

from __future__ import annotations

from collections.abc import Callable

from xladoctor.environment.interface import Check
from xladoctor.environment.torch_xla import device, packages
from xladoctor.environment.torch_xla.child import Outcomes

CHECKS: dict[str, Callable[[Outcomes], Check]] = {
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
