"""Inputs of every format through all that ``xladoctor analyze`` does, with what that takes: a part
of ``make fuzz``.

    python -m tests.hostile.measured --inputs 20000

No input of less than 2 MB takes more than 500 MB of memory or 10 s of a processor.
"""

from __future__ import annotations

import argparse
import io
import multiprocessing
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from itertools import islice
from pathlib import Path
from random import Random

from tests.cli.forked import SERVER
from tests.hostile import fuzz
from tests.hostile.crafted import crafted
from tests.hostile.generated import generated
from tests.hostile.limits import OUTCOMES, Input, Taken, taken
from tests.hostile.mutations import of_bytes, of_lines, of_numbers
from xladoctor import doctor
from xladoctor.configuration.load import load_configuration
from xladoctor.diagnosis.pack import load_rules
from xladoctor.diagnosis.selection import Selection
from xladoctor.gate import baseline
from xladoctor.report import json as json_report
from xladoctor.report import terminal
from xladoctor.report.interface import Report, Style

_MUTANTS, _OFTEN = 2_000, 100
_SETTINGS: dict[str, Callable[[Path], object]] = {
    "xladoctor.toml": load_configuration,
    "baseline.json": baseline.read,
    "ACME001-odd-thing.yaml": lambda path: load_rules(path.parent),
}


@cache
def rules() -> Selection:
    """The rules of the pack."""
    return doctor.selection(load_configuration())


def analyzed(path: Path, judged: bool) -> None:
    """Read settings, or a path into all tables; if it is to be ``judged``, do all that ``analyze``
    does with it.
    """
    if reader := _SETTINGS.get(path.name):
        reader(path)
        return
    evidence = doctor.load_evidence(str(path))
    for table in ("event", "event_stat"):  # the others are filled by now
        evidence.database.rows(f"SELECT count(COLUMNS(*)) FROM {table}")
    if not judged:
        return
    diagnosis = doctor.diagnose(evidence, rules(), pictures=True)
    failed = [each for each in diagnosis.not_checked if each.failed]
    assert not failed, failed
    report = Report(diagnosis)
    for layout in (terminal, json_report):
        layout.render([report], io.StringIO(), Style())


def mutants() -> Iterator[Input]:
    """Recorded files that are damaged."""
    wholes = {
        "a.log": fuzz.texts(),
        "vm.xplane.pb": fuzz.timelines(),
        "a.pt.trace.json": [
            fuzz.sample_of_torch("launch_bound/rank0.pt.trace.json.gz")[:1_900_000]
        ],
        "torch_trace.log": [fuzz.sample_of_torch("graph_breaks/torch_trace.log.gz")[:1_900_000]],
    }
    for seed in range(_MUTANTS):
        for name, contents in wholes.items():
            yield Input("mutant", f"{name}, seed {seed}", partial(_mutant, name, contents, seed))


def _mutant(name: str, contents: list[bytes], seed: int) -> dict[str, bytes]:
    random = Random(seed)
    data, kind = random.choice(contents), random.randrange(3)
    if kind == 0 and not name.endswith(".pb"):
        return {name: of_lines(data.decode(errors="replace"), random).encode()}
    return {name: (of_bytes if kind == 1 else of_numbers)(data, random)}


@cache
def inputs() -> dict[str, list[Input]]:
    """All inputs, by format."""
    by_format: dict[str, list[Input]] = defaultdict(list)
    for each in (*crafted(), *generated(), *mutants()):
        by_format[each.format].append(each)
    return by_format


def chosen(count: int, seed: int, only: str = "") -> Iterator[Input]:
    """All crafted inputs, and about as many of each other format, evenly spread."""
    formats = {name: some for name, some in inputs().items() if name.startswith(only)}
    for name, some in formats.items():
        step = 1 if name == "crafted" else max(1, len(some) * len(formats) // count)
        yield from islice(some, seed % step, None, step)


def measured(files: dict[str, bytes], judged: bool) -> Taken:
    """What an input takes that is analyzed in a child of this process."""
    rules()
    return taken(files, partial(analyzed, judged=judged))


class Totals:
    """What came of the inputs of a format."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.slowest = self.largest = (0.0, "")

    def add(self, each: Input, took: Taken) -> None:
        """Count an input; print it if it takes too much, or is a fault."""
        self.counts[took.outcome] += 1
        self.slowest = max(self.slowest, (took.seconds, each.what))
        self.largest = max(self.largest, (took.megabytes, each.what))
        if took.outcome not in ("result", "error"):
            print(
                f"--- {took.outcome}: {each.format}, {each.what}: {took.seconds:.1f} s,"
                f" {took.megabytes:.0f} MB\n{took.said}",
                flush=True,
            )


def measure(some: Iterable[Input], processes: int) -> dict[str, Totals]:
    """Analyze inputs, each in a process of its own; the totals by format."""
    totals: dict[str, Totals] = defaultdict(Totals)
    with SERVER.Pool(processes) as pool, ThreadPoolExecutor(processes) as threads:

        def one(each: Input) -> None:
            took = pool.apply(measured, (each.files(), each.judged))
            totals[each.format].add(each, took)
            done = sum(total.counts.total() for total in totals.values())
            if done % _OFTEN == 0:
                print(f"{done:,} inputs", flush=True)

        list(threads.map(one, some))
    return totals


def main() -> None:
    """Run it, print the totals; exit status 1 if anything took too much or was a fault."""
    parser = argparse.ArgumentParser(description="Inputs of every format, and what they take.")
    parser.add_argument("--inputs", type=int, default=20_000, help="about so many of all")
    parser.add_argument("--only", default="", help="formats whose name begins so")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=multiprocessing.cpu_count())
    options = parser.parse_args()
    totals = measure(chosen(options.inputs, options.seed, options.only), options.processes)
    print(f"{'format':34}{'inputs':>8}", *(f"{each:>8}" for each in OUTCOMES), "  slowest  largest")
    for kind, each in sorted(totals.items()):
        row = (each.counts.total(), *(each.counts[outcome] for outcome in OUTCOMES))
        numbers = "".join(f"{number:9,}" for number in row)
        print(f"{kind:33}{numbers}{each.slowest[0]:7.1f} s{each.largest[0]:6.0f} MB")
    print("slowest:", *max(each.slowest for each in totals.values()))
    print("largest:", *max(each.largest for each in totals.values()))
    held = all(set(each.counts) <= {"result", "error"} for each in totals.values())
    raise SystemExit(not held)


if __name__ == "__main__":
    main()
