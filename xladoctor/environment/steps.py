"""Checks shared by all frameworks: steps that did not end, wrong results, missing profiles.

Every probe runs the same small step twice, and records one with the framework's profiler.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import metadata

from xladoctor.environment import faults
from xladoctor.environment.child import Outcome, Outcomes
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
    name: str, outcomes: Outcomes, said: Mapping[str, str], statement: str, known: faults.Known = ()
) -> Check | None:
    """The check of a step that was not reached or failed; None for one that ended well.

    Args:
        name: the name of the check and of its step.
        said: see :func:`unreached`.
        statement: the Python that shows the fault without xladoctor.
        known: known faults with advice.
    """
    outcome = outcomes[name]
    if outcome.state == "unreached":
        return unreached(name, outcomes, said)
    if not outcome.done:
        return failure(name, outcome.error, faults.advice(outcome, statement, known))
    return None


def miscomputed(name: str, outcome: Outcome) -> Check | None:
    """The failed check of a device that gives wrong results."""
    first, second = outcome.facts["values"]
    if first == second == _RIGHT:
        return None
    found = f"gave {first:g}, then {second:g}; correct is {_RIGHT:g}"
    return failure(name, found, "do not trust this device or this build")


def recompiled(name: str, outcome: Outcome, advice: str) -> Check | None:
    """The failed check of a framework that compiles the same step twice."""
    if not outcome.facts["compiled"][1]:
        return None
    return failure(name, "running the same step twice compiled it twice", advice)


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
