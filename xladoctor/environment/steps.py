"""Checks shared by all frameworks: steps that did not end, wrong results, missing profiles.

Every probe runs the same small step twice, and records one with the framework's profiler.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from importlib import metadata

from xladoctor.environment import faults
from xladoctor.environment.child import Outcomes
from xladoctor.environment.interface import Check, failure, ok, skipped

_RIGHT = 576.0  # the correct result of the probes' step
_WITHOUT_PROFILER = (
    "`xladoctor run --trace-steps 0` works without it: counts and times, no timeline"
)


def unreached(name: str, outcomes: Outcomes, said: Mapping[str, str]) -> Check:
    """The check of something that was not reached, with the earliest step that failed.

    Args:
        said: by step, what a check that depends on it needs.
    """
    broken = next(step for step, outcome in outcomes.items() if not outcome.done)
    return skipped(name, f"needs {said.get(broken, f'a working {broken}')}")


def unfinished(
    name: str,
    outcomes: Outcomes,
    said: Mapping[str, str],
    statement: str,
    known: faults.Known = (),
    fault: str = "",
) -> Check | None:
    """The check of a step that was not reached or failed; None for one that ended well.

    Args:
        name: the name of the check and of its step.
        said: see :func:`unreached`.
        statement: the Python that shows the fault without xladoctor.
        known: known faults with advice.
        fault: what to say before the error.
    """
    outcome = outcomes[name]
    if outcome.state == "unreached":
        return unreached(name, outcomes, said)
    if not outcome.done:
        found = f"{fault}{outcome.error}"
        return failure(name, found, faults.advice(outcome, statement, known))
    return None


def computed(
    name: str,
    outcomes: Outcomes,
    said: Mapping[str, str],
    statement: str,
    advice: str,
    known: faults.Known = (),
) -> Check:
    """Whether a small step gives the right result, and is compiled only once for two runs.

    Args:
        advice: what to do if it is compiled twice; for the others see :func:`unfinished`.
    """
    if (check := unfinished(name, outcomes, said, statement, known)) is not None:
        return check
    first, second = outcomes[name].facts["values"]
    if not first == second == _RIGHT:
        found = f"gave {first:g}, then {second:g}; correct is {_RIGHT:g}"
        return failure(name, found, "do not trust this device or this build")
    if outcomes[name].facts["compiled"][1]:
        return failure(name, "running the same step twice compiled it twice", advice)
    return ok(name, "correct, and compiled once for two runs")


def profiled(name: str, outcomes: Outcomes, said: Mapping[str, str], marker: str) -> Check:
    """Whether a profiler session records a step; the timeline comes from there.

    Args:
        said: see :func:`unreached`.
        marker: the fact that shows it.
    """
    outcome = outcomes[name]
    if outcome.state == "unreached":
        return unreached(name, outcomes, said)
    if not outcome.done:
        return failure(name, outcome.error, _WITHOUT_PROFILER)
    if not outcome.facts[marker]:
        found = f"recorded no step ({outcome.facts['bytes']:,} bytes)"
        return failure(name, found, _WITHOUT_PROFILER)
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


def counted(devices: Iterable[str]) -> str:
    """Devices by their kinds, such as ``2 TPU devices`` for ``TPU:0`` and ``TPU:1``."""
    kinds = Counter(device.split(":")[0] for device in devices)
    return ", ".join(f"{n} {kind} device{'s' * (n != 1)}" for kind, n in kinds.items())
