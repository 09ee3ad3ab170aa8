"""Known errors of frameworks, with advice, by the text of the error."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from xladoctor.environment.child import Outcome

#: A part of an error, and what to do about it.
Known = Sequence[tuple[str, str]]

_HELD = "another program uses the device: wait for it or stop it, then check again"
#: The first that matches counts.
_KNOWN = (
    ("XLA_FLAGS", "fix XLA_FLAGS or unset it"),
    (
        "GLIBC",
        "this system's C library is too old for the package: use a newer system or container",
    ),
    (
        "cannot open shared object file",
        "a library is missing or cannot be found: reinstall the package, and check LD_LIBRARY_PATH",
    ),
    ("already in use", _HELD),
    ("is busy", _HELD),
)


def advice(outcome: Outcome, statement: str, known: Known = ()) -> str:
    """What to do about a step that failed.

    Args:
        outcome: how the step ended.
        statement: the line of Python that shows the whole error.
        known: errors of this framework alone.
    """
    for part, cure in (*_KNOWN, *known):
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
