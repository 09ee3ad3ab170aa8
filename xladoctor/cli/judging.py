"""The gate's decision as commands use it: what is judged by, the reports, the exit status."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from xladoctor.foreign import clean
from xladoctor.report.output import Color, Output, deliver, emit
from xladoctor.repository import from_here

if TYPE_CHECKING:
    from xladoctor.configuration.interface import Configured
    from xladoctor.gate.programs import Policy, Program
    from xladoctor.report.interface import Report

_STATUS = {"failed": 1, "missing": 3}


def delivered(
    reports: Sequence[Report], outputs: Sequence[Output], color: Color, *, quiet: bool
) -> int:
    """Write the reports; if all go to files, print what was decided. Returns the exit status."""
    from xladoctor.report.gate import headline

    deliver(reports, outputs, color)
    if not quiet and all(output.path for output in outputs):
        judged = [(each.outcome.script, headline(each)) for each in reports if each.outcome]
        emit("".join(f"{clean(name)}: {clean(said)}\n" for name, said in judged), sys.stderr)
    return status_of(reports)


def decided(policy: Policy, judged: Sequence[Program]) -> list[Report]:
    """The decision on each program."""
    from xladoctor.report.interface import Report

    return [Report(*policy.decide(program)) for program in judged]


def policy_of(configuration: Configured, baseline: Path | None = None) -> Policy:
    """What programs are judged by today.

    Args:
        baseline: its file, if not the configured one.

    Raises:
        XladoctorError: the baseline or the acknowledgements are unusable.
    """
    from xladoctor.gate import acknowledged
    from xladoctor.gate.baseline import read
    from xladoctor.gate.programs import Policy

    gate = configuration.settings.gate
    shown = from_here(baseline or configuration.folder / gate.baseline)
    accepted = acknowledged.read(configuration.folder / gate.acknowledged)
    today = datetime.now(UTC).date()
    return Policy(configuration.settings, shown, read(shown), accepted, today)


def status_of(reports: Sequence[Report]) -> int:
    """The exit status: a failure outranks what is missing."""
    statuses = {report.outcome.status for report in reports if report.outcome}
    return next((_STATUS[status] for status in ("failed", "missing") if status in statuses), 0)
