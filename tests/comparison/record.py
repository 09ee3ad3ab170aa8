"""Records anew the two runs that docs/compare.md compares: ``python -m tests.comparison.record``.

They are of one program, before and after its fix, without paths and names of this machine.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from sample_traces.capture import neutralize
from tests.known_good.record import anonymous

RECORDED = Path(__file__).parent / "recorded"
EXAMPLES = Path(__file__).parents[2] / "examples"
NAME = "recompiling.py"  # of the program in both runs
STAGES = {"before": "recompiling.py", "after": "recompiling_healed.py"}
_CAPTURE = ("run", "--quiet", "--trace-steps", "0", "--graph-bytes", "0")


def record(stage: str) -> None:
    """Run the program of a stage, and keep its run directory."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(EXAMPLES / STAGES[stage], Path(folder, NAME))
        subprocess.run(
            [sys.executable, "-m", "xladoctor", *_CAPTURE, "--output", stage, NAME],
            cwd=folder,
            check=True,
            stdout=subprocess.DEVNULL,
            env={**os.environ, "PJRT_DEVICE": "CPU"},
        )
        run = Path(folder, stage)
        (run / "diagnosis.json").unlink(missing_ok=True)
        neutralize(run)
        with tarfile.open(RECORDED / f"{stage}.tar.xz", "w:xz") as packed:
            packed.add(run, stage, filter=anonymous)


if __name__ == "__main__":
    RECORDED.mkdir(exist_ok=True)
    for name in STAGES:
        record(name)
