"""The command line from outside, as a shell starts it; and what it is given most often."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import xladoctor

ROOT = Path(xladoctor.__file__).parents[1]
HEAVY = {"duckdb", "numpy", "numba", "torch", "torch_xla", "pydantic", "google.protobuf"}
REPORT = "Metric: CompileTime\n  TotalSamples: 2\n  Accumulator: 03s000ms000.000us\n"
READS = "Counter: aten::_local_scalar_dense\n  Value: 40\n"
#: Nothing of the machine that runs the tests decides about formats and colours.
CLEAN = {
    key: value
    for key, value in os.environ.items()
    if key
    not in (
        "NO_COLOR",
        "FORCE_COLOR",
        "CLICOLOR_FORCE",
        "COLUMNS",
        "TERM",
        "XLADOCTOR_FORMAT",
        "PYTHONIOENCODING",
        "PYTHONUNBUFFERED",
    )
}
ENVIRONMENT = {**CLEAN, "PYTHONPATH": str(ROOT), "PYTHONUTF8": "1"}


def started(
    *arguments: str | Path,
    given: str = "",
    folder: Path = ROOT,
    environment: dict[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """The command in an interpreter of its own; :func:`tests.cli.forked.called` is quicker."""
    done = subprocess.run(
        [sys.executable, "-m", "xladoctor", *map(str, arguments)],
        input=given.encode(),
        capture_output=True,
        check=False,
        cwd=folder,
        env={**ENVIRONMENT, **(environment or {})},
        timeout=120,
    )
    output = (stream.decode("utf-8", "replace") for stream in (done.stdout, done.stderr))
    return subprocess.CompletedProcess(done.args, done.returncode, *output)
