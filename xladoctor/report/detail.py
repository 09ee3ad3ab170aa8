"""How much of a report to show to people; formats for programs are always complete."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Detail:
    """The requested detail.

    Attributes:
        ignored: whether to list the findings that are ignored.
        verbose: whether to show everything: the values of causes, examples, each rule that was not
            evaluated, more commands.
        top: the most findings to show in full; None for all.
    """

    ignored: bool = False
    verbose: bool = False
    top: int | None = None


USUAL = Detail()
