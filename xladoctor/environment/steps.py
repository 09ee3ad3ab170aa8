"""Checks shared by all frameworks: wrong results, missing profiles, versions.

Every probe runs the same small step twice, and records one with the framework's profiler.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

from xladoctor.environment.child import Outcomes
from xladoctor.environment.interface import Check, failure, ok

_RIGHT = 576.0  # the correct result of the probes' step
WITHOUT_PROFILER = "`xladoctor run --trace-steps 0` works without it: counts and times, no timeline"


def computed(name: str, outcomes: Outcomes, advice: str) -> Check:
    """Whether a small step gave the right result, and was compiled only once for two runs.

    Args:
        advice: what to do if it is compiled twice.
    """
    first, second = outcomes[name].facts["values"]
    if not first == second == _RIGHT:
        found = f"gave {first:g}, then {second:g}; correct is {_RIGHT:g}"
        return failure(name, found, "do not trust this device or this build")
    if outcomes[name].facts["compiled"][1]:
        return failure(name, "running the same step twice compiled it twice", advice)
    return ok(name, "correct, and compiled once for two runs")


def profiled(name: str, outcomes: Outcomes, marker: str) -> Check:
    """Whether a profiler session recorded a step; ``marker`` is the fact that shows it."""
    facts = outcomes[name].facts
    if not facts[marker]:
        found = f"recorded no step ({facts['bytes']:,} bytes)"
        return failure(name, found, WITHOUT_PROFILER)
    return ok(name, "records steps")


def installed(package: str) -> str | None:
    """The version of a package; None if it is not installed."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def required(package: str, pattern: str) -> str:
    """The version of another package that an installed one requires; empty if it requires none.

    Args:
        pattern: matches a requirement, with the version as its group.
    """
    try:
        requirements = metadata.requires(package) or []
    except metadata.PackageNotFoundError:
        return ""
    matches = [re.match(pattern, requirement) for requirement in requirements]
    return next((match[1] for match in matches if match), "")


def release(version: str | None) -> str:
    """The numbers of a version without the build: 2.9.0 for ``2.9.0+cpu``."""
    match = re.match(r"\d+(\.\d+)*", version or "")
    return match[0] if match else ""


def own_libtpu() -> Check | None:
    """Whether the libtpu that the environment names is there; None if it names none."""
    if not (own := os.environ.get("TPU_LIBRARY_PATH")):
        return None
    if Path(own).is_file():
        return ok("libtpu", f"TPU_LIBRARY_PATH={own}")
    return failure("libtpu", f"TPU_LIBRARY_PATH={own} is not a file", "unset it")


def counted(devices: Iterable[str]) -> str:
    """Devices by their kinds, such as ``2 TPU devices`` for ``TPU:0`` and ``TPU:1``."""
    kinds = Counter(device.split(":")[0] for device in devices)
    return ", ".join(f"{n} {kind} device{'s' * (n != 1)}" for kind, n in kinds.items())
