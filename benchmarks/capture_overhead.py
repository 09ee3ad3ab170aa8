"""What capture costs: programs of five kinds, each bare and under `xladoctor run`, in pairs.

    python -m benchmarks.capture_overhead [--frontend jax] [--kinds tiny graph] [--pairs 5]
                                          [--steps N] [--json FILE]

Both programs of a pair run at the same time but in turn, a slice each, and which one begins
alternates. For each kind it prints, as median, quartiles and range over the pairs:

step, outside   median step outside the timeline's window, captured by bare
time, outside   all the time outside the window, captured by bare: includes rare costs
step, inside    median step inside the window, captured by bare
window's ends   seconds by which opening and closing the window made steps longer
warm-up         seconds that the first five steps, which compile, took longer
start-up        seconds from starting the command to the first line of the loop, added
of it, command  how many of these passed before the program's own process was started
finish          seconds from the program's last line to the end of its process, added
diagnosis       seconds from there to the end of `xladoctor run`

The programs of a pair must compile and execute as often, and end with the same loss to the last
bit. The output says whether their graph hashes agree as well.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import signal
import statistics
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.turns import Program, run_in_turn
from tests.torch_tpu import stand_in

ROOT = Path(__file__).parents[1]
WARM_UP = 5  # steps; all compilations lie in these
#: Steps, enough to have as many outside a window of 60 as inside, and seconds of a turn: short, so
#: that noise hits both programs, but long beside the step that is lost at each end of it.
KINDS = {
    "tiny": (4000, 0.25),
    "large": (300, 0.25),
    "reading": (4000, 0.25),
    "graph": (120, 3.0),
    "loader": (1000, 0.25),
}
#: The same of the programs of each framework.
OF_JAX = {
    "half": (6000, 0.25),
    "milli": (3000, 0.25),
    "reading": (6000, 0.25),
    "eager": (2000, 0.25),
}
OF_TORCH_TPU = {"eager": (300, 0.5), "compiled": (400, 0.5), "inference": (600, 0.5)}
OF = {
    "torch_xla": ("benchmarks.programs", KINDS),
    "jax": ("benchmarks.jax_programs", OF_JAX),
    "torch_tpu": ("benchmarks.torch_tpu_programs", OF_TORCH_TPU),
}
AROUND = ("start-up", "of it, command", "finish", "diagnosis")  # the loop: alike for all kinds
FIGURES = ("step, outside", "time, outside", "step, inside", "window's ends", "warm-up", *AROUND)
LONG_MS = 10.0  # of a step, from where the stricter target holds
#: Limits of steps outside the window where they are others: of TorchTPU, ten steps are one.
OUTSIDE = {
    ("torch_tpu", "eager"): 1.10,
    ("torch_tpu", "compiled"): 1.05,
    ("torch_tpu", "inference"): 1.05,
}


@dataclass(frozen=True)
class Steps:
    """The steps of one program: wall clock and duration in nanoseconds, and whether to be used."""

    began: Any
    ended: Any
    spent: Any
    whole: Any

    @classmethod
    def of(cls, program: Program) -> Steps:
        """Steps that a stop fell into, or the warm-up, are not to be used."""
        ended, spent = (np.array(program.output[key]) for key in ("ended_ns", "spent_ns"))
        began = ended - spent
        whole = ~touches(began, ended, program.gaps)
        whole[:WARM_UP] = False
        return cls(began, ended, spent, whole)


def touches(began: Any, ended: Any, spans: Iterable[tuple[int, int]]) -> Any:
    """Which steps have an instant in common with one of the spans."""
    touched = np.zeros(len(began), bool)
    for first, last in spans:
        touched |= (began < last) & (ended > first)
    return touched


def windows(run: Path) -> list[dict[str, int]]:
    """The timeline's windows in a run directory, of all processes."""
    spans = []
    for file in run.glob("process-*/process.json"):
        process = json.loads(file.read_text())
        timeline = process.get("timeline") or {}
        more = process.get("windows") or timeline.get("windows") or []
        spans += [window for window in (timeline, *more) if "end_ns" in window]
    return spans


def faults(run: Path) -> str:
    """What went wrong in the capture, which then did less than it costs; empty if nothing did."""
    noted = [log.read_text() for log in run.glob("process-*/faults.log")]
    unfinished = [
        f"{file}: not written at the end of the program"
        for file in run.glob("process-*/process.json")
        if not json.loads(file.read_text()).get("ended")
    ]
    return "\n".join(noted + unfinished)


def figures(bare: Program, captured: Program, run: Path) -> dict[str, float]:
    """The figures of a pair, without those that no step shows, as all may be in the window."""
    ours, theirs = Steps.of(captured), Steps.of(bare)
    spans = [(window["begin_ns"], window["end_ns"]) for window in windows(run)]
    ends = [
        span
        for window, (first, last) in zip(windows(run), spans, strict=True)
        for span in ((first, first + 1), (last, last + window.get("stop_ns", 0) + 1))
    ]
    usable = ours.whole & theirs.whole
    at_end = touches(ours.began, ours.ended, ends)
    traced = touches(ours.began, ours.ended, spans)
    outside, inside = usable & ~traced & ~at_end, usable & traced & ~at_end
    typical = statistics.median(theirs.spent[theirs.whole])
    manifest = json.loads((run / "run.json").read_text())
    process_end_ns = manifest["began_ns"] + int(1e9 * manifest["ended"]["seconds"])
    measured = {
        "bare_ms": typical / 1e6,
        "same hash": float(bare.output["graph"] == captured.output["graph"]),
        "step, outside": ratio(np.median, ours, theirs, outside),
        "time, outside": ratio(np.sum, ours, theirs, outside),
        "step, inside": ratio(np.median, ours, theirs, inside),
        "window's ends": added_s(ours, at_end & ours.whole, typical),
        "warm-up": warm_up_s(captured) - warm_up_s(bare),
        "start-up": startup_s(captured) - startup_s(bare),
        "of it, command": (manifest["began_ns"] - captured.spawn_ns) / 1e9,
        "finish": finish_s(captured, process_end_ns) - finish_s(bare, bare.end_ns),
        "diagnosis": (captured.end_ns - process_end_ns) / 1e9,
        "steps inside": float(inside.sum()),
        "steps outside": float(outside.sum()),
    }
    return {name: value for name, value in measured.items() if not np.isnan(value)}


def ratio(reduce: Any, ours: Steps, theirs: Steps, chosen: Any) -> float:
    """The ratio over the same steps of both programs; NaN if there are none."""
    if not chosen.any():
        return float("nan")
    return float(reduce(ours.spent[chosen]) / reduce(theirs.spent[chosen]))


def added_s(steps: Steps, chosen: Any, typical: float) -> float:
    """By how much these steps were longer than the typical one; NaN if there are none."""
    return float((steps.spent[chosen] - typical).sum()) / 1e9 if chosen.any() else float("nan")


def warm_up_s(program: Program) -> float:
    """The first steps, less the time that the program was stopped in them."""
    first, last = (program.output["ended_ns"][number] for number in (0, WARM_UP - 1))
    first -= program.output["spent_ns"][0]
    stopped = sum(max(0, min(last, on) - max(first, off)) for off, on in program.gaps)
    return float(last - first - stopped) / 1e9


def startup_s(program: Program) -> float:
    """From the start of the command to the first line of the loop."""
    return float(program.output["ready_ns"] - program.spawn_ns) / 1e9


def finish_s(program: Program, process_end_ns: int) -> float:
    """From the program's last line to the end of its process."""
    return float(process_end_ns - program.output["done_ns"]) / 1e9


def pair(
    frontend: str, kind: str, steps: int | None, bare_first: bool, options: list[str]
) -> dict[str, float] | None:
    """Run one pair; None if the capture had a fault, which is printed.

    Raises:
        SystemExit: one of them failed, or they did not compute the same.
    """
    programs, kinds = OF[frontend]
    own_steps, slice_s = kinds[kind]
    arguments = ["-m", programs, kind, str(steps or own_steps)]
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        bare = Program([sys.executable, *arguments], ROOT, Path(folder) / "bare.log")
        captured = Program(
            [
                sys.executable,
                "-m",
                "xladoctor",
                "run",
                "--quiet",
                "-o",
                str(run),
                "--format",
                f"terminal={folder}/report.txt",
                *options,
                *arguments,
            ],
            ROOT,
            Path(folder) / "captured.log",
        )
        run_in_turn([bare, captured] if bare_first else [captured, bare], slice_s)
        if bare.output["same"] != captured.output["same"]:
            raise SystemExit(
                f"{kind}: bare {bare.output['same']}, captured {captured.output['same']}"
            )
        if fault := faults(run):
            print(f"{kind}: pair left out, as the capture had a fault\n{fault}", file=sys.stderr)
            return None
        return figures(bare, captured, run)


def targets(bare_ms: float, long_ms: float = LONG_MS) -> dict[str, float]:
    """The limit of each figure."""
    return {
        "step, outside": 1.03 if bare_ms >= long_ms else 1.05,
        "step, inside": 1.15,
        "start-up": 0.3,
        "finish": 2.0,
    }


def table(frontend: str, kind: str, pairs: list[dict[str, float]]) -> str:
    """The figures of a kind, 75 columns wide."""
    bare_ms, inside, outside = (
        statistics.median(figures_of_pair[name] for figures_of_pair in pairs)
        for name in ("bare_ms", "steps inside", "steps outside")
    )
    same = all(figures_of_pair["same hash"] for figures_of_pair in pairs)
    most = targets(bare_ms)
    most["step, outside"] = OUTSIDE.get((frontend, kind), most["step, outside"])
    return (
        f"{kind}: {len(pairs)} pairs, steps of {bare_ms:.2f} ms bare;"
        f" compared {inside:.0f} inside the window, {outside:.0f} outside\n"
        f"same losses, same numbers of compilations, {'same' if same else 'other'} graph hashes"
        f"\n{rows(pairs, FIGURES, most)}"
    )


def rows(pairs: list[dict[str, float]], names: Iterable[str], most: dict[str, float]) -> str:
    """A heading, and a row for each figure."""
    lines = [f"{'':16}{'median':>9}{'quartiles':>18}{'range':>18}{'target':>12}"]
    for name in names:
        values = [figures_of_pair[name] for figures_of_pair in pairs if name in figures_of_pair]
        if not values:
            continue
        low, lower, middle, upper, high = np.percentile(values, (0, 25, 50, 75, 100))
        verdict = f"{'≤' if middle <= most[name] else '>'} {most[name]:.2f}" if name in most else ""
        lines.append(
            f"{name:16}{middle:>9.3f}{f'{lower:.3f}..{upper:.3f}':>18}"
            f"{f'{low:.3f}..{high:.3f}':>18}{verdict:>12}"
        )
    return "\n".join(lines)


def main() -> None:
    """Measure, and print a table for each kind."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--frontend", choices=OF, default="torch_xla")
    parser.add_argument("--kinds", nargs="+", help="by default all of the framework")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--steps", type=int, help="of every kind, instead of each kind's own")
    parser.add_argument("--capture", default="", help="options for `xladoctor run`, in one word")
    parser.add_argument("--json", type=Path, help="write the figures of all pairs to this file")
    asked = parser.parse_args()
    known = OF[asked.frontend][1]
    if wrong := set(asked.kinds or ()) - set(known):
        parser.error(f"--kinds: {', '.join(sorted(wrong))}: expected {', '.join(known)}")
    if asked.steps is not None and asked.steps < 4 * WARM_UP:
        parser.error(f"--steps: {4 * WARM_UP} or more, as the first {WARM_UP} are left out")
    if asked.frontend == "torch_tpu" and "TPU_LIBRARY_PATH" not in os.environ:
        os.environ |= stand_in.environment(Path(sys.executable))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that no stopped program is left
    measured: dict[str, list[dict[str, float]]] = {kind: [] for kind in asked.kinds or known}
    for kind, pairs in measured.items():
        for number in range(asked.pairs):
            options = shlex.split(asked.capture)
            if figures_of_pair := pair(asked.frontend, kind, asked.steps, number % 2 == 0, options):
                pairs.append(figures_of_pair)
        if not pairs:
            raise SystemExit(f"{kind}: no pair without a fault of the capture")
        print(table(asked.frontend, kind, pairs), end="\n\n", flush=True)
        if asked.json:
            asked.json.write_text(json.dumps(measured, indent=1) + "\n")
    every = [figures_of_pair for pairs in measured.values() for figures_of_pair in pairs]
    print(f"all kinds: {len(every)} pairs\n{rows(every, AROUND, targets(0.0))}")


if __name__ == "__main__":
    main()
