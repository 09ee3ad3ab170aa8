"""How often ``compare`` calls two runs of one program different: simulated, and as captured.

python -m benchmarks.comparison                 # simulated steps that resemble their neighbours
python -m benchmarks.comparison xladoctor-runs  # every pair of the runs in a folder
"""

from __future__ import annotations

import sys
from itertools import permutations
from pathlib import Path

import numpy as np

from xladoctor.comparison.changes import count_changes, finding_changes
from xladoctor.comparison.interface import Demand
from xladoctor.comparison.significance import change
from xladoctor.comparison.step_time import FLOOR
from xladoctor.diagnosis.engine import diagnose
from xladoctor.diagnosis.pack import load_rules
from xladoctor.doctor import load_evidence

_PAIRS = 300
_FLOORS = (0.0, 0.05, FLOOR, 0.2, 0.5)


def autocorrelated(random: np.random.Generator, n: int, rho: float) -> list[float]:
    """Step times whose logarithms are an AR(1) with a spread of 10%."""
    noise = random.standard_normal(n)
    values = [noise[0]]
    for shock in noise[1:]:
        values.append(rho * values[-1] + np.sqrt(1 - rho * rho) * shock)
    return [float(value) for value in np.exp(0.1 * np.array(values))]


def simulated() -> None:
    """Pairs of equal distribution: how many are called different, and how many are too short."""
    random = np.random.default_rng(1)
    print("| Correlation of neighbours | Steps | Too few to tell | Told apart |")
    print("| --- | --- | --- | --- |")
    for rho in (0.0, 0.5, 0.8, 0.9):
        for n in (16, 40, 100, 400):
            pairs = [
                change(autocorrelated(random, n, rho), autocorrelated(random, n, rho))
                for _ in range(_PAIRS)
            ]
            told = [pair for pair in pairs if pair is not None]
            apart = sum(not pair.low <= 0 <= pair.high for pair in told)
            few = (_PAIRS - len(told)) / _PAIRS
            print(f"| {rho} | {n} | {few:.0%} | {apart / _PAIRS:.1%} |")


def of_runs(folder: Path) -> None:
    """All pairs of the runs in a folder, which must be of one program."""
    rules = load_rules()
    judged_by = {rule.id: rule.judged_by for rule in rules}
    paths = sorted(path.parent for path in folder.glob("*/run.json"))
    runs = [diagnose(load_evidence(str(path)), rules) for path in paths]
    samples = [run.traits.samples.ms for run in runs]
    medians = [float(np.median(ms)) for ms in samples]
    print(f"{folder}: {len(runs)} runs; median steps {min(medians):.2f} to {max(medians):.2f} ms")
    places = list(permutations(range(len(runs)), 2))
    intervals = [change(samples[i], samples[j]) for i, j in places]
    print(f"{len(places)} ordered pairs, {intervals.count(None)} with too few steps to tell")
    for floor in _FLOORS:
        slower = sum(interval is not None and interval.low > floor for interval in intervals)
        print(f"  called slower by more than {floor:4.0%}: {slower / len(places):.1%}")
    findings = [
        finding
        for i, j in places
        for finding in finding_changes(runs[i], runs[j], judged_by, Demand())
    ]
    counts = [count for i, j in places for count in count_changes(runs[i], runs[j])]
    print(f"  findings that fail: {sum(finding.fails for finding in findings)}")
    print(
        f"  findings new or gone: {sum(finding.state in ('new', 'fixed') for finding in findings)}"
    )
    print(
        f"  counts that differ: {sum(count.direction in ('worse', 'better') for count in counts)}"
    )


if __name__ == "__main__":
    for name in sys.argv[1:]:
        of_runs(Path(name))
    if not sys.argv[1:]:
        simulated()
