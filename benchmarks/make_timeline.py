"""Captured runs whose timeline covers every step, as input of `ingest.py`.

A step leaves about 170 events and 5.5 kB: 30,000 steps make a file of 165 MB with 5.1 million
events, and need some 5 GB of memory while they are traced. A run is made once and kept:
`python benchmarks/make_timeline.py --folder FOLDER 3000 10000 30000`.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAM = Path(__file__).with_name("toy_steps.py")
BEFORE = 20  #: steps that may pass before the window opens
FOLDER = Path(tempfile.gettempdir()) / "xladoctor-benchmark"


def captured_run(folder: Path, steps: int) -> Path:
    """The run directory with so many steps below ``folder``; captured now if it is not there.

    Raises:
        SystemExit: its timeline does not cover the steps.
    """
    run = folder / f"steps-{steps}"
    if not (run / "diagnosis.json").exists():  # written last
        shutil.rmtree(run, ignore_errors=True)
        folder.mkdir(parents=True, exist_ok=True)
        _capture(run, steps)
    _check(run, steps)
    return run


def timeline(run: Path) -> Path:
    """The run's one ``.xplane.pb``."""
    (path,) = run.glob("plugins/profile/*/*.xplane.pb")
    return path


def _check(run: Path, steps: int) -> None:
    """
    Raises:
        SystemExit: the timeline does not cover the steps, but for those before the loop is steady.
    """
    (process,) = run.glob("process-*/process.json")
    (window,) = json.loads(process.read_bytes())["windows"]
    if window["steps"] < steps - BEFORE:
        raise SystemExit(
            f"{run}: its timeline ended after {window['steps']:,} of {steps:,} steps"
            f" ({window['ended_by']}, {window['bytes'] / 1e6:.1f} MB)"
        )


def _capture(run: Path, steps: int) -> None:
    command = [
        sys.executable,
        "-m",
        "xladoctor",
        "run",
        "--quiet",
        "--format",
        f"terminal={os.devnull}",
        "--output",
        str(run),
        "--trace-steps",
        str(steps),
        "--trace-seconds",
        "3600",
        "--trace-bytes",
        "1G",
        str(PROGRAM),
        str(steps),
    ]
    subprocess.run(command, check=True, env={**os.environ, "PJRT_DEVICE": "CPU"})


def main() -> None:
    """Capture what is missing and print where everything is."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("steps", type=int, nargs="+")
    parser.add_argument("--folder", type=Path, default=FOLDER)
    options = parser.parse_args()
    for steps in options.steps:
        path = timeline(captured_run(options.folder, steps))
        print(f"{steps:>7} steps {path.stat().st_size / 1e6:>8.1f} MB  {path}")


if __name__ == "__main__":
    main()
