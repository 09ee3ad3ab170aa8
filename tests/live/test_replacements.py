"""Operators that have a lowered equivalent: they run on the CPU, it does not, and both agree."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.live.harness import LIVE
from xladoctor.frontends.vocabulary import vocabulary

pytestmark = [*LIVE, pytest.mark.xdist_group("replacements")]

REPLACEMENTS = vocabulary("torch_xla").replacements


@pytest.fixture(scope="module")
def outcomes() -> dict[str, Any]:
    """What ``replaced.py`` printed, which runs all of them in one process."""
    program = Path(__file__).with_name("replaced.py")
    given = {op: each.model_dump() for op, each in REPLACEMENTS.items()}
    done = subprocess.run(
        [sys.executable, str(program)],
        input=json.dumps(given),
        text=True,
        check=True,
        capture_output=True,
        env=os.environ | {"PJRT_DEVICE": "CPU"},
    )
    return dict(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.thorough
@pytest.mark.parametrize("op", REPLACEMENTS)
def test_replacement_is_lowered_and_gives_the_same_values(
    op: str, outcomes: dict[str, Any]
) -> None:
    outcome = outcomes[op]
    assert op in outcome["call"]
    assert outcome["instead"] == []
    assert outcome["difference"] < 1e-4
