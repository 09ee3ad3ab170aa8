"""Cuts every file of the sample traces off, at each of its lines: a part of ``make fuzz``.

    python -m tests.hostile.cuts --judged 10

Each cut has to be an error, or be said to be lost. Every tenth (``--judged``) is judged by all
rules, too: no verdict may be that there is nothing to fix. Anything else is silent, and printed.
"""

from __future__ import annotations

import argparse
import multiprocessing
import shutil
import tempfile
import traceback
from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from xladoctor.diagnosis.engine import diagnose
from xladoctor.diagnosis.interface import Diagnosis
from xladoctor.diagnosis.pack import load_rules
from xladoctor.doctor import load_evidence
from xladoctor.ingest.interface import IngestError
from xladoctor.ingest.run_directory import read_run_directory

SAMPLES = Path(__file__).parents[2] / "sample_traces"
BINARY_PLACES = 200
OUTCOMES = ("error", "lost and said", "SILENT", "fault")
_AT_ONCE = 50
_rules = cache(load_rules)

#: A sample, a file of it, and where to cut that, with the number of each cut.
Work = tuple[Path, Path, Sequence[tuple[int, int]], int]


def files(run: Path) -> list[Path]:
    """The files that diagnoses are made of, by their paths in the run directory."""
    found = (path for path in sorted(run.rglob("*")) if path.is_file() and path.stat().st_size)
    return [path.relative_to(run) for path in found if path.name != "diagnosis.json"]


def places(data: bytes, binary: bool, most: int | None = None) -> list[int]:
    """Where a file may be cut off: before its first line and behind each but the last; anywhere
    if it is binary, or a single line. ``most``, evenly spread, are returned.
    """
    ends = [0, *(at + 1 for at, byte in enumerate(data[:-1]) if byte == ord("\n"))]
    if binary or len(ends) == 1:
        ends, most = list(range(len(data))), min(most or BINARY_PLACES, BINARY_PLACES)
    if most is None or len(ends) <= most:
        return ends
    return [ends[nth * (len(ends) - 1) // (most - 1)] for nth in range(most)]


def judged(run: Path) -> Diagnosis | None:
    """The diagnosis; None where there is an error in place of one."""
    try:
        return diagnose(load_evidence(str(run)), _rules())
    except IngestError:
        return None


def is_silent(diagnosis: Diagnosis) -> bool:
    """Whether a diagnosis of a run directory that lacks something does not say so."""
    return not diagnosis.run.incomplete or diagnosis.verdict.text.endswith("; nothing to fix.")


def outcome(run: Path, judge: bool) -> str:
    """What came of a copy: one of :data:`OUTCOMES`."""
    try:
        if judge:
            diagnosis = judged(run)
            silent = diagnosis is not None and is_silent(diagnosis)
            return "SILENT" if silent else "lost and said" if diagnosis else "error"
        return "lost and said" if read_run_directory(run)[1].lost else "SILENT"
    except IngestError:
        return "error"
    except Exception:
        traceback.print_exc()
        return "fault"


def _part(work: Work) -> tuple[str, Counter[str]]:
    sample, file, cuts, every = work
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        run = Path(shutil.copytree(sample, Path(folder, "run")))
        whole = (run / file).read_bytes()
        for number, end in cuts:
            (run / file).write_bytes(whole[:end])
            came_of = outcome(run, number % every == 0)
            counts[came_of] += 1
            if came_of in ("SILENT", "fault"):
                print(f"{came_of}: {sample.name}/{file} cut off after {end} bytes", flush=True)
    return file.suffix if file.suffix == ".pb" else file.name, counts


def main() -> None:
    """Run it, print the counts by file; exit status 1 if anything was silent or a fault."""
    parser = argparse.ArgumentParser(description="Every cut of every file of the sample traces.")
    parser.add_argument("--most", type=int, default=300, help="of a file with more lines")
    parser.add_argument("--all", action="store_true", help="at all lines, however many")
    parser.add_argument("--judged", type=int, default=10, help="judge each Nth by all rules")
    parser.add_argument("--processes", type=int, default=multiprocessing.cpu_count())
    options = parser.parse_args()
    work: list[Work] = []
    numbers = 0
    for sample in sorted(path.parent for path in SAMPLES.glob("*/run.json")):
        for file in files(sample):
            most = None if options.all else options.most
            ends = places((sample / file).read_bytes(), file.suffix == ".pb", most)
            cuts = list(enumerate(ends, numbers))
            numbers += len(cuts)
            work += [
                (sample, file, cuts[first : first + _AT_ONCE], options.judged)
                for first in range(0, len(cuts), _AT_ONCE)
            ]
    totals: dict[str, Counter[str]] = {}
    with multiprocessing.Pool(options.processes) as pool:
        for name, counts in pool.imap_unordered(_part, work):
            totals.setdefault(name, Counter()).update(counts)
    totals = dict(sorted(totals.items()))
    totals["all"] = sum(totals.values(), Counter())
    print(f"{'file':18}", *(f"{each:>13}" for each in ("cuts", *OUTCOMES)))
    for name, counts in totals.items():
        row = (counts.total(), *(counts[each] for each in OUTCOMES))
        print(f"{name:18}", *(f"{number:13,}" for number in row))
    raise SystemExit(bool(totals["all"]["SILENT"] or totals["all"]["fault"]))


if __name__ == "__main__":
    main()
