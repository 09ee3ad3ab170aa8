"""The checks of JAX, each after the ones that it depends on."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

from xladoctor.environment import steps
from xladoctor.environment.child import Outcomes
from xladoctor.environment.framework import Framework, Step
from xladoctor.environment.interface import Check, failure, ok, skipped, warning
from xladoctor.environment.releases import tried_with
from xladoctor.frontends.jax.environment import probe

_FAULTS = (
    (
        "incompatible with jax",
        "install a jax and a jaxlib of one version: pip install --upgrade jax jaxlib",
    ),
    (
        "Unable to initialize backend",
        "unset JAX_PLATFORMS, or set it to what you have: cpu, cuda or tpu (cpu always works)",
    ),
)
_COMPILED_AGAIN = (
    "check what changes JAX's settings when it starts: JAX_DISABLE_JIT and the other JAX_…"
    " variables, and your sitecustomize"
)
#: Files that an accelerator has, and the extra of jax that drives it.
_ACCELERATORS = (("/dev/accel0", "TPU", "tpu"), ("/dev/nvidia0", "GPU", "cuda12"))


def jaxlib(outcomes: Outcomes) -> Check:
    """Whether jax accepts the installed jaxlib."""
    facts = outcomes["JAX"].facts
    ours = facts.get("version") or steps.installed("jax")
    lib = facts.get("jaxlib") or steps.installed("jaxlib")
    if ours is None:
        return skipped("jaxlib", "jax is not installed as a package")
    if lib is None:
        return failure("jaxlib", "not installed", f"pip install 'jaxlib=={ours}'")
    both = f"jax {ours} with jaxlib {lib}"
    if ours == lib:
        return ok("jaxlib", f"{both}: they match")
    if outcomes["JAX"].done:
        return ok("jaxlib", f"{both}, which jax accepts")
    return failure("jaxlib", f"{both}: they differ", f"pip install 'jaxlib=={ours}'")


def device(outcomes: Outcomes) -> Check:
    """Whether the devices are accelerators, if the machine has any."""
    name = "JAX device"
    devices = outcomes[name].facts["devices"]
    found = steps.counted(devices)
    only_host = {each.split(":")[0] for each in devices} == {"CPU"}
    if only_host and "cpu" not in os.environ.get("JAX_PLATFORMS", ""):
        for file, kind, extra in _ACCELERATORS:
            if Path(file).exists():
                return warning(
                    name,
                    f"{found}, although this machine has a {kind}",
                    f"pip install 'jax[{extra}]'",
                )
    return ok(name, found)


FRAMEWORK = Framework(
    "jax",
    probe.__file__,
    {
        "JAX": Step("import jax", "cannot be imported: ", needed="JAX"),
        "JAX device": Step("import jax; jax.devices()", "no device: "),
        "JAX computation": Step("import jax; print(jax.numpy.ones(8).sum())"),
        "JAX profiler": Step(advice=steps.WITHOUT_PROFILER),
    },
    ("JAX_DUMP_IR_TO", "JAX_COMPILATION_CACHE_DIR"),
    {
        "JAX": lambda outcomes: ok(
            "JAX", f"{outcomes['JAX'].facts['version']} ({tried_with('jax')})"
        ),
        "jaxlib": jaxlib,
        "JAX device": device,
        "JAX computation": partial(steps.computed, "JAX computation", advice=_COMPILED_AGAIN),
        "JAX profiler": partial(steps.profiled, "JAX profiler", marker="execution"),
    },
    _FAULTS,
)
