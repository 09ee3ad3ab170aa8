"""The checks of a framework's installation.

The probe's steps use the framework; a check named after a step says how that step ended.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

from xladoctor.environment import child, faults
from xladoctor.environment.child import Outcome, Outcomes
from xladoctor.environment.interface import Check, failure, skipped
from xladoctor.environment.variables import Setting

_PROGRAM = Path(__file__).with_name("probe_runner.py")


@dataclass(frozen=True, slots=True)
class Step:
    """A step of a probe, and what to say where it fails.

    Attributes:
        statement: the line of Python that shows the whole error.
        fault: comes before the error.
        needed: what the checks that depend on it need; by default a working one.
        advice: what to do; by default by the error.
        own: judges it first; None leaves it to the above.
    """

    statement: str = ""
    fault: str = ""
    needed: str = ""
    advice: str = ""
    own: Callable[[Outcomes], Check | None] = lambda _: None


@dataclass(frozen=True)
class Framework:
    """The checks of a framework.

    Attributes:
        package: its module; if that is missing, nothing is checked.
        probe: the file with the steps that use it.
        steps: what is known of these, by name, in order.
        unset: variables that make it write files.
        checks: by name, each after the ones that it depends on. Those named after a step are called
            only if it ended well.
        faults: known errors of this framework alone.
        settings: environment variables that hurt.
        unless: packages whose checks replace these if one of them is installed.
    """

    package: str
    probe: str
    steps: Mapping[str, Step]
    unset: Sequence[str]
    checks: Mapping[str, Callable[[Outcomes], Check]] = field(repr=False)
    faults: faults.Known = ()
    settings: Sequence[Setting] = ()
    unless: Sequence[str] = ()

    @property
    def installed(self) -> bool:
        """Whether there is anything to check."""
        instead = any(find_spec(package) is not None for package in self.unless)
        return find_spec(self.package) is not None and not instead

    def probing(self) -> AbstractContextManager[child.Probe]:
        """Start the steps; see :func:`xladoctor.environment.child.probing`."""
        return child.probing(tuple(self.steps), (_PROGRAM, Path(self.probe)), self.unset)

    def never_started(self, error: OSError) -> Outcomes:
        """The outcomes if the probe's process could not be started: its first step failed."""
        first, *rest = self.steps
        unreached = dict.fromkeys(rest, Outcome("unreached"))
        return {first: Outcome("died", f"cannot start a process: {error}"), **unreached}

    def check(self, name: str, outcomes: Outcomes) -> Check:
        """The check of this name."""
        fault = self._unfinished(name, outcomes) if name in self.steps else None
        return fault or self.checks[name](outcomes)

    def _unfinished(self, name: str, outcomes: Outcomes) -> Check | None:
        """The check of a step that was not reached or failed; None for one that ended well."""
        step, outcome = self.steps[name], outcomes[name]
        if (own := step.own(outcomes)) or outcome.done:
            return own
        if outcome.state == "unreached":
            broken = next(each for each, outcome in outcomes.items() if not outcome.done)
            return skipped(name, f"needs {self.steps[broken].needed or f'a working {broken}'}")
        advice = step.advice or faults.advice(outcome, step.statement, self.faults)
        return failure(name, f"{step.fault}{outcome.error}", advice)
