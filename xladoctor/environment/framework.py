"""The checks of a framework's installation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from xladoctor.environment import child
from xladoctor.environment.child import Outcome, Outcomes
from xladoctor.environment.interface import Check
from xladoctor.environment.variables import Setting

_PROGRAM = Path(__file__).with_name("probe_runner.py")


@dataclass(frozen=True)
class Framework:
    """The checks of a framework.

    Attributes:
        package: its module; if that is missing, nothing is checked.
        probe: the file with the steps that use it.
        steps: their names.
        unset: variables that make it write files.
        checks: by name, each after the ones that it depends on.
        settings: environment variables that hurt.
        unless: packages whose checks replace these if one of them is installed.
    """

    package: str
    probe: str
    steps: Sequence[str]
    unset: Sequence[str]
    checks: Mapping[str, Callable[[Outcomes], Check]]
    settings: Sequence[Setting] = ()
    unless: Sequence[str] = ()

    @property
    def installed(self) -> bool:
        """Whether there is anything to check."""
        instead = any(find_spec(package) is not None for package in self.unless)
        return find_spec(self.package) is not None and not instead

    def probing(self) -> AbstractContextManager[child.Probe]:
        """Start the steps; see :func:`xladoctor.environment.child.probing`."""
        return child.probing(self.steps, (_PROGRAM, Path(self.probe)), self.unset)

    def never_started(self, error: OSError) -> Outcomes:
        """The outcomes if the probe's process could not be started: its first step failed."""
        first, *rest = self.steps
        unreached = dict.fromkeys(rest, Outcome("unreached"))
        return {first: Outcome("died", f"cannot start a process: {error}"), **unreached}
