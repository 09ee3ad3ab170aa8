"""A program and its healed twin, captured and compared."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.live.forked import Finished
from tests.live.harness import EXAMPLES, LIVE, capture, run

pytestmark = LIVE


def compared(a: Path, b: Path) -> Finished:
    return run(sys.executable, "-m", "xladoctor", "compare", a, b, "--format", "json")


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Run directories of the healed program and of the other, both ``train.py``."""
    directories = []
    for name in ("scalar_read_healed", "scalar_read"):
        folder = tmp_path_factory.mktemp(name)
        shutil.copy(EXAMPLES / f"{name}.py", folder / "train.py")
        directories.append(capture(folder / "run", folder / "train.py", cwd=folder).directory)
    return directories[0], directories[1]


@pytest.mark.thorough
def test_defect_is_new_and_its_fix_is_better(pair: tuple[Path, Path]) -> None:
    healed, sick = pair
    there, back = compared(healed, sick), compared(sick, healed)
    assert (there.status, back.status) == (1, 0), there.stderr + back.stderr
    for done, outcome, state in ((there, "worse", "new"), (back, "better", "fixed")):
        report: dict[str, Any] = json.loads(done.stdout)
        assert {difference["what"] for difference in report["differences"]} <= {
            "profiler"
        }  # when it opens varies
        assert report["verdict"]["outcome"] == outcome
        judged = [finding for finding in report["findings"] if finding["judged_by"] == "counts"]
        assert [(finding["rule"], finding["state"]) for finding in judged] == [("XD201", state)]
        reads = next(count for count in report["counts"] if count["name"] == "host_syncs_per_step")
        assert abs(reads["change"]) == 1
