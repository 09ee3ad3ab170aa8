"""The checks of TorchTPU, each after the ones that it depends on."""

from __future__ import annotations

from xladoctor.environment import steps
from xladoctor.environment.child import Outcomes
from xladoctor.environment.framework import Framework, Step
from xladoctor.environment.interface import Check, ok, skipped, warning
from xladoctor.frontends.torch_tpu.environment import packages, probe

_TRY = "import torch; print(torch.ones(8).to('tpu').sum())"
_COMPILED_AGAIN = "check what changes torch's settings when it starts, such as your sitecustomize"
_NONE = (
    'none on this machine, so programs have no device "tpu" here;'
    " runs that were captured elsewhere can be analyzed"
)
_FAULTS = (
    (
        "No jellyfish device found",
        "TorchTPU counted a TPU, but libtpu cannot open one: in a container, give it the host's"
        " device files (/dev/accel*, or /dev/vfio), for example with docker run --privileged",
    ),
)


def device(outcomes: Outcomes) -> Check:
    """Whether there is a TPU; a machine without one is not at fault."""
    name, outcome = "TPU", outcomes["TPU"]
    count = outcome.facts["devices"]
    if count:
        return ok(name, steps.counted(["TPU"] * count))
    if outcome.facts["files"]:
        return warning(
            name,
            "TorchTPU found none, although this machine has device files of one",
            "in a container, let it see the host's PCI bus (/sys/bus/pci), where TorchTPU looks",
        )
    return skipped(name, _NONE)


def computation(outcomes: Outcomes) -> Check:
    """Whether a small step gives the right result, and is compiled only once for two runs."""
    name = "TPU computation"
    if not outcomes[name].facts:
        return skipped(name, "needs a TPU")
    return steps.computed(name, outcomes, _COMPILED_AGAIN)


FRAMEWORK = Framework(
    "torch_tpu",
    probe.__file__,
    {
        "torch": Step(
            f"import os; os.environ['{packages.AUTOLOAD}'] = '0'; import torch",
            "cannot be imported: ",
            needed="torch",
        ),
        "torch_tpu": Step(needed="torch_tpu", own=packages.not_imported),
        "TPU": Step(_TRY),
        "TPU computation": Step(_TRY),
    },
    (
        "TORCH_TRACE",
        "TORCH_LOGS",
        "TORCH_LOGS_OUT",
        "TORCH_COMPILE_DEBUG",
        "TORCH_TPU_PROFILER_OUTPUT_DIR",
        "TORCH_TPU_INTERNAL_DUMP_MLIR_PASSES_TO",
        "TORCH_TPU_TIER3_COMPILATION_CACHE_ROOT",
    ),
    {
        "torch": lambda outcomes: ok("torch", str(outcomes["torch"].facts["version"])),
        "torch_tpu": packages.torch_tpu,
        "versions": packages.versions,
        "libtpu": packages.libtpu,
        "TPU": device,
        "TPU computation": computation,
        "tcmalloc": packages.tcmalloc,
    },
    _FAULTS,
)
