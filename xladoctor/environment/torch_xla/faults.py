"""What is known about errors of torch and torch_xla: from the text of an error to what to do."""

from __future__ import annotations

import sys

from xladoctor.environment.torch_xla.child import Outcome

_HELD = "another program holds the device: wait for it or stop it, then check again"
#: A part of the error, and what to do about it; the first that matches counts.
_KNOWN = (
    ("XLA_FLAGS", "fix XLA_FLAGS or unset it"),
    ("GLIBC", "this system's C library is too old for the package: use a newer system or"
     " container"),
    ("cannot open shared object file", "a library is missing or cannot be found: reinstall the"
     " package, and check LD_LIBRARY_PATH"),
    ("No PjRtPlugin registered", "this torch_xla has no plugin for that device: install its"
     " vendor's plugin, or set PJRT_DEVICE to a device that you have (CPU always works)"),
    ("libtpu not found", "pip install 'torch_xla[tpu]'; without a TPU: PJRT_DEVICE=CPU"),
    ("libneuronxla", "install torch-neuronx from the Neuron repository; without a Neuron device:"
     " PJRT_DEVICE=CPU"),
    ("already in use", _HELD),
    ("is busy", _HELD),
)  # fmt: skip


def advice(outcome: Outcome, statement: str) -> str:
    """What to do about a step that did not end well.

    Args:
        statement: the line of Python that shows the whole error.
    """
    for part, cure in _KNOWN:
        if part.lower() in outcome.error.lower():
            return cure
    if outcome.state == "hung":
        return (
            "on a slow disk or a large host, allow more time with --timeout; otherwise see where it"
            f" hangs: {_shown(statement)}"
        )
    return f"see the full error: {_shown(statement)}"


def _shown(statement: str) -> str:
    return f'{sys.executable} -X faulthandler -c "{statement}"'
