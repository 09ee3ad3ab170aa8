"""Measures programs bare, for their truths: processor seconds, compilations and executions.

    python -m tests.ported.measure [--rounds 3] [--write] mnist vae    # default: all programs

Each program and its fixed twin runs in a process of its own, in turn, without xladoctor. The clock
starts once torch_xla has been imported, and ends when the device has done all its work. It counts
processor time, which other work on the machine disturbs less: nearly all of it is compiling and
tracing. Prints the quickest run and the slowest one; ``--write`` puts the figures of the quickest
into the truth files.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PROGRAMS = HERE / "programs"
TRUTHS = HERE / "truths"
#: Runs a program, then writes a line of JSON to standard error.
_TIMED = """
import json, runpy, sys, time
import torch_xla
from torch_xla import runtime
from torch_xla.core import xla_model
from torch_xla.debug import metrics
began = time.process_time()
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
xla_model.wait_device_ops()
seconds = time.process_time() - began
compiled, executed = (metrics.metric_data(name) for name in ("CompileTime", "ExecuteTime"))
eager = metrics.metric_data("EagerOpCompileTime"), metrics.metric_data("EagerOpExecuteTime")
print(json.dumps({
    "seconds": seconds,
    "compilations": sum(data[0] for data in (compiled, eager[0]) if data),
    "compile_seconds": sum(data[1] for data in (compiled, eager[0]) if data) / 1e9,
    "executions": sum(data[0] for data in (executed, eager[1]) if data),
}), file=sys.stderr)
"""


def run(program: Path) -> dict[str, Any]:
    """Run a program bare; what it took."""
    done = subprocess.run(
        [sys.executable, "-c", _TIMED, str(program)],
        env={**os.environ, "PJRT_DEVICE": "CPU"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{program}: status {done.returncode}\n{done.stderr}")
    figures: dict[str, Any] = json.loads(done.stderr.splitlines()[-1])
    return figures


def measured(name: str, rounds: int) -> dict[str, list[dict[str, Any]]]:
    """The figures of each run, the quickest first, before and after the fix if it has one."""
    programs = {"before": PROGRAMS / f"{name}.py", "after": PROGRAMS / f"{name}_fixed.py"}
    programs = {when: program for when, program in programs.items() if program.exists()}
    runs = [{when: run(program) for when, program in programs.items()} for _ in range(rounds)]
    return {when: sorted((pair[when] for pair in runs), key=seconds) for when in programs}


def seconds(figures: dict[str, Any]) -> float:
    """The processor time of a run."""
    return float(figures["seconds"])


def write(name: str, figures: dict[str, dict[str, Any]]) -> None:
    """Put figures into the truth file of a program, in place of those that it has."""
    path = TRUTHS / f"{name}.yaml"
    text = path.read_text(encoding="utf-8")
    for key in ("seconds", "compilations", "executions"):
        digits = 2 if key == "seconds" else None
        values = ", ".join(f"{when}: {round(f[key], digits)}" for when, f in figures.items())
        text = re.sub(rf"^{key}: .*$", f"{key}: {{{values}}}", text, flags=re.M)
    path.write_text(text, encoding="utf-8")


def main() -> None:
    """Measure, and print a line for each program."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--write", action="store_true", help="into the truth files")
    asked = parser.parse_args()
    every = sorted(p.stem for p in PROGRAMS.glob("*.py") if not p.stem.endswith("_fixed"))
    for name in asked.names or every:
        runs = measured(name, asked.rounds)
        figures = {when: of_kind[0] for when, of_kind in runs.items()}
        for when, f in figures.items():
            print(
                f"{name:24} {when:6} {f['seconds']:6.2f} s to {runs[when][-1]['seconds']:6.2f} s"
                f"  {f['compilations']:4.0f} compilations, {f['compile_seconds']:6.2f} s"
                f"  {f['executions']:4.0f} executions",
                flush=True,
            )
        if asked.write:
            write(name, figures)


if __name__ == "__main__":
    main()
