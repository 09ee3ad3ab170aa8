"""The replay of a captured timeline, unchanged, takes as long as the program took."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.live.harness import LIVE, PROGRAMS, ROOT, Captures, marks_of
from xladoctor.diagnosis.whatif.program import read_program
from xladoctor.diagnosis.whatif.replay import Change, replay
from xladoctor.evidence.load import load

TOLERANCE = 0.03  # what docs/savings.md promises
SAMPLES = sorted(path.parent for path in ROOT.glob("sample_traces/*/run.json"))


def replayed_and_measured_ns(run: Path) -> tuple[int, int]:
    """When the host has done the last item, and the length of all of them."""
    database = load(str(run)).database
    (process,) = (row["process"] for row in database.rows("SELECT process FROM timeline"))
    program = read_program(database, process)
    measured = database.scalar(
        "SELECT sum(duration_ns) FROM host_segment WHERE process = $process", {"process": process}
    )
    assert program is not None  # without a barrier too: the loop is one stretch without steps
    return int(replay(program, Change.none(program)).ended[-1]), int(measured)


@pytest.mark.parametrize("run", SAMPLES, ids=lambda run: str(run.name))
def test_unchanged_sample_takes_as_long_as_measured(run: Path) -> None:
    replayed, measured = replayed_and_measured_ns(run)
    assert replayed == pytest.approx(measured, rel=TOLERANCE)


@pytest.mark.parametrize(
    "program",
    [pytest.param(p, id=p.stem, marks=[*LIVE, *marks_of(p)]) for p in PROGRAMS],
)
def test_unchanged_program_takes_as_long_as_measured(captured: Captures, program: Path) -> None:
    replayed, measured = replayed_and_measured_ns(captured(program).directory)
    assert replayed == pytest.approx(measured, rel=TOLERANCE)
