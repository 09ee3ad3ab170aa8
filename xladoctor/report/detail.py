"""How much of a report to show to people; formats for programs are always complete."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Detail:
    """The requested detail.

    Attributes:
        ignored: whether to list the findings that are ignored.
        verbose: whether to show everything: each finding in full, with the values of its cause and
            an example, the device and labels, each rule that was not evaluated, more commands.
        top: the most findings to show in full; None for those to begin with, of a gate for all
            that fail.
    """

    ignored: bool = False
    verbose: bool = False
    top: int | None = None


USUAL = Detail()
