"""What is said of a machine that was busy."""

from __future__ import annotations

from typing import Any

import pytest

from xladoctor.evidence.busy import busy_notes


class Waited:
    """Evidence of loops that waited for a processor, by process id."""

    def __init__(self, shares: dict[int, float]) -> None:
        self.shares = shares

    def rows(self, query: str, parameters: dict[str, Any]) -> list[dict[str, Any]]:
        return [{"pid": pid, "share": share} for pid, share in self.shares.items()]


@pytest.mark.parametrize(
    ("shares", "notes"),
    [
        ({}, ()),
        ({7: 0.6}, ("the program (process 7) waited for a processor for 60% of its loop",)),
        (
            {pid: pid / 10 for pid in range(1, 7)},
            (
                "the program (processes 1, 2, 3, 4 and 2 more) waited for a processor for up to 60%"
                " of its loops",
            ),
        ),
    ],
)
def test_all_processes_share_a_note(shares: dict[int, float], notes: tuple[str, ...]) -> None:
    told = busy_notes(Waited(shares))  # type: ignore[arg-type]
    assert told == tuple(f"the machine was busy: {note}" for note in notes)
