"""Checks of the device: which one is requested, and whether it exists, computes and profiles."""

from __future__ import annotations

import os
from importlib import metadata

from xladoctor.environment import steps
from xladoctor.environment.child import Outcomes
from xladoctor.environment.interface import Check, failure, ok, skipped, warning

#: Devices that torch_xla supports without a third-party plugin (its runtime.py and _internal/).
_KNOWN = ("CPU", "TPU", "NEURON", "CUDA", "XPU")
FAULTS = (
    (
        "No PjRtPlugin registered",
        "this torch_xla has no plugin for that device: install its"
        " vendor's plugin, or set PJRT_DEVICE to a device that you have (CPU always works)",
    ),
    ("libtpu not found", "pip install 'torch_xla[tpu]'; without a TPU: PJRT_DEVICE=CPU"),
    (
        "libneuronxla",
        "install torch-neuronx from the Neuron repository; without a Neuron device:"
        " PJRT_DEVICE=CPU",
    ),
)
_COMPILED_AGAIN = (
    "check XLA_COMPILATION_CACHE_SIZE: with 0, or anything but a number, no graph is kept"
)


def pjrt_device(outcomes: Outcomes) -> Check:
    """Whether PJRT_DEVICE names a device, or torch_xla has chosen one."""
    value = os.environ.get("PJRT_DEVICE")
    if value is None:
        return _chosen(outcomes)
    plugins = metadata.entry_points(group="torch_xla.plugins")
    known = [*_KNOWN, *sorted({plugin.name.upper() for plugin in plugins} - set(_KNOWN))]
    if value.split("_")[0] in known or outcomes["device"].done:  # torch_xla drops the rest, too
        return ok("PJRT_DEVICE", value)
    alike = value.strip().upper()
    advice = f"set it to {alike}" if alike in known else f"set it to one of {', '.join(known)}"
    fault = f"{value!r} is not a device" if value else "set, but empty"
    return failure("PJRT_DEVICE", fault, f"{advice}; if it is unset, torch_xla chooses")


def _chosen(outcomes: Outcomes) -> Check:
    outcome = outcomes["torch_xla"]
    if not outcome.done:
        needed = "torch_xla" if outcomes["torch"].done else "torch"
        return skipped("PJRT_DEVICE", f"not set; what torch_xla chooses needs {needed}")
    chosen = outcome.facts["pjrt_device"]
    if chosen:
        return ok("PJRT_DEVICE", f"not set; torch_xla chose {chosen}")
    return failure(
        "PJRT_DEVICE", "not set, and torch_xla chose none", "set it, for example PJRT_DEVICE=CPU"
    )


def unfit(outcomes: Outcomes) -> Check | None:
    """Whether no device can be sought, as PJRT_DEVICE names none."""
    if pjrt_device(outcomes).status == "failure":
        return skipped("device", "needs a valid PJRT_DEVICE")
    return None


def device(outcomes: Outcomes) -> Check:
    """Whether the runtime has devices."""
    devices = steps.counted(outcomes["device"].facts["devices"])
    if not devices:
        return failure(
            "device",
            "the runtime started without a device",
            "check variables that hide devices, such as TPU_VISIBLE_CHIPS",
        )
    return ok("device", devices)


def libtpu(outcomes: Outcomes) -> Check:
    """If there is a TPU, or one is requested: whether libtpu is installed, and its version."""
    chips = outcomes["torch_xla"].facts.get("tpu_chips")
    if not (os.environ.get("PJRT_DEVICE", "").startswith("TPU") or chips):
        return skipped("libtpu", "no TPU is visible or requested")
    if own := steps.own_libtpu():
        return own
    installed = steps.installed("libtpu") or steps.installed("libtpu-nightly")
    wanted = steps.required("torch_xla", r"libtpu==([\w.]+)")
    if installed is None:
        return failure("libtpu", "not installed", f"pip install 'libtpu{wanted and f'=={wanted}'}'")
    if wanted and installed != wanted:
        return warning(
            "libtpu",
            f"{installed}; torch_xla was built for {wanted}",
            f"pip install 'libtpu=={wanted}'",
        )
    return ok("libtpu", installed)


def neuron() -> Check:
    """If Neuron is installed, or a Neuron device is requested: its version."""
    installed = steps.installed("libneuronxla")
    if installed:
        return ok("Neuron plugin", f"libneuronxla {installed}")
    if os.environ.get("PJRT_DEVICE", "").startswith("NEURON"):
        return failure(
            "Neuron plugin",
            "libneuronxla is not installed",
            "install torch-neuronx from the Neuron repository",
        )
    return skipped("Neuron plugin", "not installed or requested")


def computation(outcomes: Outcomes) -> Check:
    """Whether a small step gives the right result, and is compiled only once for two runs."""
    name = "computation"
    check = steps.computed(name, outcomes, _COMPILED_AGAIN)
    pieces = outcomes[name].facts["compiled"][0] if check.status == "ok" else 1
    if pieces <= 1:
        return check
    return warning(
        name,
        f"correct, but compiled in {pieces} pieces",
        "eager mode runs operators one by one; unset XLA_USE_EAGER_DEBUG_MODE",
    )
