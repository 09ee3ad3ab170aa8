"""What reading a timeline costs, beside XProf and protobuf.

Run it on a quiet machine, as the spread shows: `make benchmark-ingest`, or
`python -m benchmarks.ingest --parts decode --rounds 9`. Parts, each measured in fresh processes
with the files in the page cache:

decode   The events and stats of the largest file: by xladoctor as columns, all stats or only the
         `needed` ones as `analyze` reads them; by XProf's `create_events_db`, which also derives
         columns and writes them as Parquet; by protobuf's upb with a loop in Python. In turn,
         several rounds; the set-up (imports, machine code) is timed apart.
analyze  `xladoctor analyze` on each captured run: the whole process.
first    The same with an empty cache of machine code, less the same with a full one.
start    `xladoctor --help` and `--version`.

XProf runs in a virtual environment of its own, made where it is missing. Peak memory is the largest
resident set, mapped files included.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from benchmarks.make_timeline import FOLDER, captured_run, timeline

XPROF = "xprof==2.24.2"  # tensorboard-plugin-profile's present name
XLADOCTOR = Path(sys.executable).with_name("xladoctor")
DECODERS = Path(__file__).with_name("decoders.py")
OURS, PEERS = ("xladoctor", "needed"), ("xprof", "upb")
PARTS = ("decode", "analyze", "first", "start")


@dataclass(frozen=True)
class Process:
    """A finished process: seconds, MB at its peak, standard output, seconds of processors."""

    wall_s: float
    peak_mb: float
    output: str
    cpu_s: float


def process(*command: str | Path, **environment: str) -> Process:
    """Run a command to its end; if it fails, the benchmark ends with its output."""
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        began = time.perf_counter()
        child = subprocess.Popen(
            command,
            stdout=output,
            stderr=errors,
            env={**os.environ, "XLADOCTOR_CACHE": "off", **environment},
        )
        _, status, used = os.wait4(child.pid, 0)
        wall = time.perf_counter() - began
        child.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        errors.seek(0)
        if child.returncode:
            raise SystemExit(f"{command}: status {child.returncode}\n{errors.read()}")
        cpu = used.ru_utime + used.ru_stime
        return Process(wall, used.ru_maxrss / 1e3, output.read(), cpu)


def spread(values: Iterable[float], unit: str = "", digits: int = 2) -> str:
    """Median, with least and greatest."""
    low, *_, high = ordered = sorted(values)
    return f"{statistics.median(ordered):.{digits}f}{unit} ({low:.{digits}f}..{high:.{digits}f})"


def peers_python(venv: Path) -> Path:
    """The Python of XProf's environment, which is made if missing."""
    python = venv / "bin" / "python"
    version = "import importlib.metadata as m; print('xprof==' + m.version('xprof'))"
    made = python.exists() and subprocess.run(
        [python, "-c", version], capture_output=True, text=True, check=False
    )
    if not made or made.stdout.strip() != XPROF:
        print(f"installing {XPROF} into {venv}", flush=True)
        subprocess.run([sys.executable, "-m", "venv", venv], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", XPROF], check=True)
    return python


def cache(path: Path) -> None:
    """Read a file into the page cache, piece by piece: a child's peak begins with its parent's."""
    with path.open("rb", buffering=0) as file:
        while file.read(1 << 20):
            pass


def measure_decode(path: Path, rounds: int, peers: Path) -> None:
    """The decoders in turn, each round starting with a different one."""
    print(f"\ndecode {path.name}: {path.stat().st_size / 1e6:.1f} MB")
    print(f"{'':10}{'set-up':>10}{'decode':>10}{'CPU':>10}{'peak':>11}{'events':>13}")
    seconds: dict[str, list[float]] = {name: [] for name in (*OURS, *PEERS)}
    memory: dict[str, list[float]] = {name: [] for name in seconds}
    for number in range(rounds):
        names = deque(seconds)
        names.rotate(-number)
        for name in names:
            figures, peak_mb = decode(
                name, peers if name == "xprof" else Path(sys.executable), path
            )
            seconds[name].append(figures["decode_s"])
            memory[name].append(peak_mb)
            print(
                f"{name:10}{figures['setup_s']:>8.2f} s{figures['decode_s']:>8.2f} s"
                f"{figures['cpu_s']:>8.2f} s{peak_mb:>8,.0f} MB{figures['events']:>13,}",
                flush=True,
            )
    for peer, ours in product(PEERS, OURS):
        print(
            f"{peer + ' / ' + ours:18} time {spread(ratios(seconds[peer], seconds[ours]))},"
            f" peak memory {spread(ratios(memory[peer], memory[ours]))}"
        )


def ratios(those: list[float], ours: list[float]) -> list[float]:
    """Pair by pair."""
    return [that / our for that, our in zip(those, ours, strict=True)]


def decode(name: str, python: Path, path: Path) -> tuple[dict[str, float], float]:
    """The figures of one decoder in a fresh process, and MB at its peak."""
    with tempfile.TemporaryDirectory() as folder:  # XProf keeps what it makes below TMPDIR
        done = process(python, DECODERS, name, path, TMPDIR=folder)
    return json.loads(done.output.splitlines()[-1]), done.peak_mb


def measure_analyze(runs: list[Path], rounds: int) -> None:
    """The whole command on each run, in turn."""
    done: dict[Path, list[Process]] = {run: [] for run in runs}
    for _ in range(rounds):
        for run in runs:
            done[run].append(process(XLADOCTOR, "analyze", run))
    print(f"\n{'analyze':14}{'wall':>28}{'per event':>13}{'peak':>11}{'events':>13}")
    for run, finished in done.items():
        events = decode("needed", Path(sys.executable), timeline(run))[0]["events"]
        walls = [call.wall_s for call in finished]
        print(
            f"{run.name:14}{spread(walls, ' s'):>28}"
            f"{1e6 * statistics.median(walls) / events:>10.2f} µs"
            f"{max(call.peak_mb for call in finished):>8,.0f} MB{events:>13,}",
            flush=True,
        )


def measure_first(run: Path, rounds: int) -> None:
    """Pairs of calls that share a cache folder, empty before the first."""
    added = []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as cache:
            first, second = (
                process(XLADOCTOR, "analyze", run, XDG_CACHE_HOME=cache).wall_s for _ in range(2)
            )
        added.append(first - second)
    print(f"\nfirst call: {spread(added, ' s')} more than the second")


def measure_start(rounds: int) -> None:
    """The commands that read nothing."""
    print()
    for option in ("--help", "--version"):
        walls = [1e3 * process(XLADOCTOR, option).wall_s for _ in range(rounds)]
        print(f"xladoctor {option}: {spread(walls, ' ms', 0)}")


def main() -> None:
    """Make what is missing, and print the requested parts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--steps", type=int, nargs="+", default=[3000, 10000, 30000])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the runs are kept")
    parser.add_argument("--peers-venv", type=Path, help="where XProf is (default: FOLDER/peers)")
    options = parser.parse_args()
    runs = [captured_run(options.folder, steps) for steps in sorted(options.steps)]
    for run in runs:
        cache(timeline(run))
    if "decode" in options.parts:
        peers = peers_python(options.peers_venv or options.folder / "peers")
        measure_decode(timeline(runs[-1]), options.rounds, peers)
    if "analyze" in options.parts:
        measure_analyze(runs, options.rounds)
    if "first" in options.parts:
        measure_first(runs[0], options.rounds)
    if "start" in options.parts:
        measure_start(3 * options.rounds)


if __name__ == "__main__":
    main()
