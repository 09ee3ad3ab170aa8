"""Predicted against measured savings: every sick example against its healed twin.

Both programs of a pair run for real, in turn, several times, under light capture (no timeline),
which tells the time of their loops; the prediction comes from one more run of the sick program, now
with the timeline. Prints a row a pair, as docs/savings.md has them: noise is how far the measured
share lies apart between rounds, and noise and error are points of the loop's time.
Run it on a quiet machine: `make benchmark-savings`, or `python -m benchmarks.savings recompiling
printing`. With `--runs DIR` the runs are kept there, and what it finds there is not run again.
Sixty steps of 0.4 ms are over before a busy machine has scheduled them evenly: `--steps 1500` runs
copies of programs that have a line `STEPS = …` with so many.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import statistics
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tests.live import forked
from tests.live.harness import LIMIT_S, command, environment
from xladoctor.diagnosis.engine import diagnose
from xladoctor.diagnosis.interface import Diagnosis
from xladoctor.diagnosis.pack import load_rules
from xladoctor.diagnosis.whatif.rates import Rates, read_rates
from xladoctor.doctor import load_evidence
from xladoctor.evidence.database import Database
from xladoctor.recording.bootstrap._xladoctor.options import Options

ROOT = Path(__file__).parents[1]
#: Rules of costs that come in warm-up or without steps.
EARLY = {"XD113", "XD115", "XD117", "XD301", "XD303", "XD304", "XD305", "XD307", "XD310"}


@dataclass(frozen=True)
class Result:
    """A pair: seconds of both programs' loops in each run, and what was predicted.

    Attributes:
        traced: seconds of the loop in the run that the prediction comes from.
    """

    name: str
    rules: str
    sick: list[float]
    healed: list[float]
    traced: float
    predicted: float
    basis: str

    @property
    def measured(self) -> float:
        """The saving, between medians."""
        return statistics.median(self.sick) - statistics.median(self.healed)

    @property
    def shares(self) -> tuple[float, float]:
        """The measured and the predicted saving, each as a share of its own runs' time.

        The machine is not equally fast in all runs, which changes seconds but hardly shares.
        """
        return self.measured / statistics.median(self.sick), self.predicted / self.traced

    @property
    def noise(self) -> float:
        """How far the measured share lies apart between the rounds, whose runs were neighbours."""
        shares = [1 - healed / sick for sick, healed in zip(self.sick, self.healed, strict=True)]
        return max(shares) - min(shares)

    @property
    def error(self) -> float:
        """The difference between both shares."""
        measured, predicted = self.shares
        return abs(predicted - measured)


def pairs(names: list[str]) -> Iterator[tuple[Path, Path]]:
    """The programs of these names, or all that need no TPU, with their healed twins."""
    for healed in sorted((ROOT / "examples").rglob("*_healed.py")):
        sick = healed.with_name(healed.name.replace("_healed", ""))
        runs_here = not {"torch_tpu", "tpu_check"} & {*sick.parts}
        if sick.exists() and (name_of(sick) in names if names else runs_here):
            yield sick, healed


def name_of(program: Path) -> str:
    """The program as a reader of the table finds it."""
    return program.relative_to(ROOT / "examples").with_suffix("").as_posix()


def with_steps(program: Path, steps: int | None, folder: Path) -> Path:
    """The program, or a copy of it that makes so many steps."""
    if steps is None:
        return program
    copy = folder / program.name
    copy.parent.mkdir(parents=True, exist_ok=True)
    copy.write_text(re.sub(r"(?m)^STEPS = \d+", f"STEPS = {steps}", program.read_text()))
    return copy


def captured(program: Path, run: Path, trace_steps: int | None = None) -> Path:
    """The run directory of a program, captured unless it is there.

    Programs for torch_xla run in forks of a process that has imported it; those of torch.compile
    find nothing that an earlier run compiled.

    Args:
        trace_steps: steps of the timeline, if not as many as by default.
    """
    if not (run / "diagnosis.json").exists():
        run.parent.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(run, ignore_errors=True)  # left by a benchmark that was ended
        options = Options() if trace_steps is None else Options(trace_steps=trace_steps)
        if {"jax", "torch_compile"} & {*program.parts}:
            words = () if trace_steps is None else (f"--trace-steps={trace_steps}",)
            own = environment(TORCHINDUCTOR_CACHE_DIR=str(run.with_suffix(".inductor")))
            done = command(run, program, flags=("--quiet", *words), env=own).finished
        else:
            done = forked.capture(
                run,
                program,
                options=options,
                cwd=ROOT,
                environment=environment(),
                limit_s=LIMIT_S,
            )
        if done.status:
            raise SystemExit(f"{program}: exit status {done.status}\n{done.stderr}")
    return run


def seconds(run: Path, whole: bool) -> float:
    """The loop of a run in its steady state, plus late compiling; or, if ``whole``, as it was.

    The former includes the wait at its end for work of the device that the host ran ahead of.
    """
    if whole:
        time: dict[str, Any] = json.loads((run / "diagnosis.json").read_text())["time"]
        return float(time["loop_s"])
    database = load_evidence(str(run)).database
    drained = (
        "SELECT sum(s.read_ns) / 1e9 FROM step s JOIN lead USING (process, thread) WHERE s.tail"
    )
    rest = float(database.scalar(drained) or 0.0)
    rates = rates_of(database)
    return rates.steady_s + rates.late_compile_s + rest


def rates_of(database: Database) -> Rates:
    """Times of the leading process."""
    rates = read_rates(database, int(database.scalar("SELECT process FROM lead") or 0))
    assert rates is not None, "neither a step log nor a timeline"
    return rates


def saves_early(diagnosis: Diagnosis, database: Database) -> bool:
    """Whether some of what is saved comes in warm-up or without steps: the whole loop counts."""
    rates = rates_of(database)
    if not rates.steps or EARLY & {finding.rule for finding in diagnosis.findings}:
        return True
    shorter = {
        index
        for finding in diagnosis.findings
        for claim in finding.saving.assumes
        for index in claim.compilations
    }
    return not shorter <= rates.late


def predicted(diagnosis: Diagnosis) -> tuple[float, str]:
    """The saving of all findings together, and on what it stands."""
    replayed = [
        f.saving.remaining_s for f in diagnosis.findings if f.saving.remaining_s is not None
    ]
    if replayed:
        return sum(replayed), "estimate"
    others = [f.saving for f in diagnosis.findings if f.saving.seconds is not None]
    if not others:
        return 0.0, "unknown" if diagnosis.findings else "none"
    most = max(others, key=lambda saving: saving.seconds or 0.0)
    return most.seconds or 0.0, most.basis


def result(sick: Path, healed: Path, runs: Path, rounds: int, steps: int | None) -> Result:
    """Run a pair, and compare."""
    name = name_of(sick)
    folder = runs / name
    sick, healed = (with_steps(program, steps, folder / "programs") for program in (sick, healed))
    rounds = max(rounds, len(list(folder.glob(f"{healed.stem}-*[0-9]"))))  # with those kept
    light = [
        captured(program, folder / f"{program.stem}-{number}", trace_steps=0)
        for number in range(rounds)
        for program in ((sick, healed) if number % 2 == 0 else (healed, sick))
    ]
    traced = captured(sick, folder / f"{sick.stem}-traced")
    evidence = load_evidence(str(traced))
    diagnosis = diagnose(evidence, load_rules())
    rules = sorted({finding.rule for finding in diagnosis.findings})
    whole = saves_early(diagnosis, evidence.database)
    times = {
        program.stem: [
            seconds(run, whole) for run in light if run.name.rsplit("-", 1)[0] == program.stem
        ]
        for program in (sick, healed)
    }
    saving, basis = predicted(diagnosis)
    return Result(
        name,
        ", ".join(rules),
        times[sick.stem],
        times[healed.stem],
        seconds(traced, whole),
        saving,
        basis,
    )


def row(pair: Result) -> str:
    """A row of the table."""
    sick, healed = statistics.median(pair.sick), statistics.median(pair.healed)
    measured, predicted = pair.shares
    begin = f"| {pair.name} | {pair.rules} | {sick:.3f} | {healed:.3f} | {100 * measured:.1f}%"
    begin += f" | {100 * pair.noise:.1f}" if len(pair.sick) > 1 else " | "
    if pair.basis == "unknown":
        return f"{begin} | | unknown | |"
    if pair.basis == "bound":
        return f"{begin} | {100 * predicted:.1f}% | at most | |"
    return f"{begin} | {100 * predicted:.1f}% | {pair.basis} | {100 * pair.error:.1f} |"


COLUMNS = ["Pair", "Rules", "Sick s", "Healed s", "Saves", "Noise", "Predicted", "Basis", "Error"]
HEAD = f"| {' | '.join(COLUMNS)} |\n{'|---' * len(COLUMNS)}|"


def summary(results: list[Result]) -> str:
    """Median and worst error, and how well the order of the savings was told. A bound, which says
    how much the saving is at most, has no error, nor has a saving that is not known.
    """
    errors = [pair.error for pair in results if pair.basis in ("estimate", "none")] or [0.0]
    shares = np.array([pair.shares for pair in results])
    ranks = shares.argsort(axis=0).argsort(axis=0)
    order = float(np.corrcoef(ranks[:, 0], ranks[:, 1])[0, 1]) if len(results) > 1 else 1.0
    return (
        f"{len(results)} pairs: median error {100 * statistics.median(errors):.1f} points,"
        f" worst {100 * max(errors):.1f}, rank correlation {order:.2f}."
    )


def main() -> None:
    """Print the table and its summary."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("names", nargs="*", help="pairs, as examples/… without .py; default: all")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, help="of each program, in place of its own")
    parser.add_argument("--runs", type=Path, help="folder that keeps the runs")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        results = []
        print(HEAD)
        for sick, healed in pairs(options.names):
            results.append(
                result(sick, healed, options.runs or Path(scratch), options.rounds, options.steps)
            )
            print(row(results[-1]), flush=True)
    print("\n" + (summary(results) if results else f"no such pair: {', '.join(options.names)}"))


if __name__ == "__main__":
    main()
