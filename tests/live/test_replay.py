"""The replay of a captured timeline, unchanged, takes as long as the program took."""

from __future__ import annotations

import pytest

from tests.live.harness import LIVE, Captured
from xladoctor.diagnosis.whatif.program import read_program
from xladoctor.diagnosis.whatif.replay import Change, replay
from xladoctor.evidence.load import load

pytestmark = LIVE

TOLERANCE = 0.03  # what docs/savings.md promises


def test_unchanged_program_takes_as_long_as_measured(example: Captured) -> None:
    database = load(str(example.directory)).database
    (process,) = (row["process"] for row in database.rows("SELECT process FROM timeline"))
    program = read_program(database, process)
    measured_ns = database.scalar(
        "SELECT sum(duration_ns) FROM host_segment WHERE process = $process", {"process": process}
    )

    assert program is not None  # without a barrier too: the loop is one stretch without steps
    replayed_ns = replay(program, Change.none(program)).total_ns
    assert replayed_ns == pytest.approx(measured_ns, rel=TOLERANCE)
