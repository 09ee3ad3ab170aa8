"""How much of a report is shown to people; what programs read is always the whole."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Detail:
    """What is asked for beyond the usual.

    Attributes:
        ignored: whether to list the findings that are ignored.
        verbose: whether to show all that is known: the values of causes, examples, each rule that
            was not evaluated, more commands.
        top: the most findings to show in full; None for all.
    """

    ignored: bool = False
    verbose: bool = False
    top: int | None = None


USUAL = Detail()
