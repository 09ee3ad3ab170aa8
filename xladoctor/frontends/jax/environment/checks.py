"""The checks of JAX, each after the ones that it depends on."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from xladoctor.environment import steps
from xladoctor.environment.child import Outcomes
from xladoctor.environment.framework import Framework
from xladoctor.environment.interface import Check, failure, ok, skipped, warning
from xladoctor.environment.releases import tried_with
from xladoctor.frontends.jax.environment import probe

_SAID = {"JAX": "JAX"}
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


def imported(outcomes: Outcomes) -> Check:
    """Whether JAX can be imported."""
    unfinished = steps.unfinished(
        "JAX", outcomes, _SAID, "import jax", _FAULTS, "cannot be imported: "
    )
    return unfinished or ok("JAX", f"{outcomes['JAX'].facts['version']} ({tried_with('jax')})")


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
    """Whether the runtime starts and has devices: accelerators, if the machine has any."""
    name, statement = "JAX device", "import jax; jax.devices()"
    unfinished = steps.unfinished(name, outcomes, _SAID, statement, _FAULTS, "no device: ")
    if unfinished is not None:
        return unfinished
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


def computation(outcomes: Outcomes) -> Check:
    """Whether a small step gives the right result, and is compiled only once for two runs."""
    statement = "import jax; print(jax.numpy.ones(8).sum())"
    return steps.computed("JAX computation", outcomes, _SAID, statement, _COMPILED_AGAIN, _FAULTS)


def profiler(outcomes: Outcomes) -> Check:
    """Whether a profiler session records a step."""
    return steps.profiled("JAX profiler", outcomes, _SAID, "execution")


_CHECKS: dict[str, Callable[[Outcomes], Check]] = {
    "JAX": imported,
    "jaxlib": jaxlib,
    "JAX device": device,
    "JAX computation": computation,
    "JAX profiler": profiler,
}
FRAMEWORK = Framework(
    "jax",
    probe.__file__,
    tuple(probe.STEPS),
    ("JAX_DUMP_IR_TO", "JAX_COMPILATION_CACHE_DIR"),
    _CHECKS,
)
