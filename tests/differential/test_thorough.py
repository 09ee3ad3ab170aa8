"""Many generated programs of each kind, and some on the frameworks themselves."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.conftest import ROOT
from tests.differential.kinds import KINDS
from tests.differential.table import row

PROGRAMS, PATCHED, REAL = 20_000, 200, 240


@pytest.mark.thorough
@pytest.mark.parametrize("kind", KINDS)
def test_patched_programs_behave_as_the_originals(kind: str) -> None:
    found = row(kind, -(-PROGRAMS // len(KINDS)), 1, PATCHED)
    for program, judgement in found.shortest_falls():
        pytest.fail(f"{judgement.reason}\n{program.text}\n--- patched\n{judgement.patched}")
    assert found.patched >= PATCHED, found.refusals


@pytest.mark.thorough
@pytest.mark.live
def test_the_same_on_the_frameworks_themselves() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.differential", "--real", f"--programs={REAL}", "--falls=1"],
        cwd=ROOT,
        env=os.environ | {"PJRT_DEVICE": "CPU"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert not done.returncode, done.stdout + done.stderr[-2000:]
