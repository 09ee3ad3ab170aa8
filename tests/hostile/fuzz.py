"""Reads as many mutants as asked for, and counts what came of them: ``make fuzz``.

    python -m tests.hostile.fuzz --inputs 1000000 --runs 5000

``inputs`` go to the readers of texts, timelines, torch.profiler's traces and TORCH_TRACE's logs;
``runs``, damaged run directories, through reading, rules and reports. Anything but a result or an
``IngestError`` is a fault, and is printed with the seed that gives it again:
``--seed N --inputs 1``.
"""

from __future__ import annotations

import argparse
import gzip
import io
import multiprocessing
import resource
import shutil
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from tests.hostile.mutations import damage, of_bytes, of_lines, of_numbers

if TYPE_CHECKING:
    from xladoctor.diagnosis.rule import Rule

SAMPLES = Path(__file__).parents[2] / "sample_traces"
_SLOW_S = 5.0


@cache
def texts() -> list[bytes]:
    """Reports, logs and dumps to begin with."""
    found = [
        *SAMPLES.glob("*/process-*/*.txt"),
        *SAMPLES.glob("*/process-*/*.log"),
        *(Path(__file__).parents[1] / "ingest").rglob("*.log"),
    ]
    whole = [path.read_bytes() for path in sorted(found)]
    return [text[:20_000] for text in whole if len(text) > 100]


@cache
def timelines() -> list[bytes]:
    """Small timelines to begin with."""
    from tests.ingest.loop_trace import loop
    from tests.ingest.test_records import compiled
    from tests.xspace import devices

    return [compiled(loop(3), 105, "aa").space.bytes(), devices.tpu().bytes()]


@cache
def rules() -> tuple[Rule, ...]:
    """The pack's rules."""
    from xladoctor.diagnosis.pack import load_rules

    return tuple(load_rules())


def text(random: Random) -> None:
    """One mutated text through its reader."""
    from xladoctor.evidence.interface import Elsewhere
    from xladoctor.evidence.load import build
    from xladoctor.ingest.console_text import read_text
    from xladoctor.ingest.interface import IngestError
    from xladoctor.ingest.recorded_elsewhere import texts_alone

    data = random.choice(texts())
    begin = random.randrange(len(data))
    data = data[begin : begin + random.choice((300, 3000, 20_000))]
    if random.random() < 0.3:
        data = of_numbers(data, random)
    elif random.random() < 0.5:
        data = of_lines(data.decode(errors="replace"), random).encode(errors="replace")
    else:
        data = of_bytes(data, random)
    try:
        ingested = texts_alone([read_text(io.BytesIO(data), "text")])
        build(ingested, "text", Elsewhere("text"))
    except IngestError:
        return


@cache
def sample_of_torch(name: str) -> bytes:
    """What torch left in a sample, unpacked."""
    return gzip.decompress((SAMPLES / name).read_bytes())


def timeline(random: Random) -> None:
    """One mutated timeline through its reader, down to its tables."""
    _read("vm.xplane.pb", of_bytes(random.choice(timelines()), random))


def trace(random: Random) -> None:
    """A mutated part of a trace of torch.profiler, down to its tables."""
    whole = sample_of_torch("launch_bound/rank0.pt.trace.json.gz")
    head = whole.index(b"[", whole.index(b'"traceEvents"')) + 1
    begin = whole.index(b"  {", random.randrange(head, len(whole) - 2000))
    events = whole[begin : begin + random.choice((300, 3000, 20_000))]
    _read("rank0.pt.trace.json", whole[:head] + _damaged(events, random))


def torch_log(random: Random) -> None:
    """A mutated part of a TORCH_TRACE log, down to its tables."""
    of_tpu = SAMPLES.parent / "tests/ingest/torch_tpu"
    whole = random.choice(
        (
            sample_of_torch("graph_breaks/torch_trace.log.gz"),
            *(gzip.decompress(path.read_bytes()) for path in sorted(of_tpu.glob("*.log.gz"))),
        )
    )
    begin = whole.rindex(b"\nV", 0, random.randrange(1000, len(whole))) + 1
    records = whole[begin : begin + random.choice((300, 3000, 20_000))]
    _read("torch_trace.log", whole[: whole.index(b"\nV") + 1] + _damaged(records, random))


def _damaged(data: bytes, random: Random) -> bytes:
    return random.choice((of_bytes, of_numbers))(data, random)


def _read(name: str, data: bytes) -> None:
    from xladoctor.evidence.interface import Elsewhere
    from xladoctor.evidence.load import build
    from xladoctor.ingest.interface import IngestError
    from xladoctor.ingest.recorded_elsewhere import read_elsewhere

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, name)
        path.write_bytes(data)
        try:
            ingested = read_elsewhere([path])
            for producers in ingested.lazy.values():
                for produce in producers:
                    produce()
            build(ingested, name, Elsewhere("timeline"))
        except IngestError:
            return


def run_directory(random: Random) -> None:
    """One damaged run directory, through rules and reports."""
    from xladoctor.diagnosis.engine import diagnose
    from xladoctor.doctor import load_evidence
    from xladoctor.ingest.interface import IngestError
    from xladoctor.report import json as json_report
    from xladoctor.report import terminal
    from xladoctor.report.interface import Report, Style

    sample = random.choice(sorted(path.parent for path in SAMPLES.glob("*/run.json")))
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder, "run")
        shutil.copytree(sample, run)
        what = damage(run, random)
        try:
            report = Report(diagnose(load_evidence(str(run)), rules()))
            terminal.render([report], io.StringIO(), Style())
            json_report.render([report], io.StringIO(), Style())
        except IngestError:
            return
        except Exception as error:
            error.add_note(f"{sample.name}: {what}")
            raise


KINDS: dict[str, Callable[[Random], None]] = {
    "text": text,
    "timeline": timeline,
    "trace": trace,
    "torch_log": torch_log,
    "run": run_directory,
}


def attack(kind: str, seed: int) -> str:
    """What came of one mutant: ``held``, ``slow``, or a fault, printed."""
    began = time.perf_counter()
    try:
        KINDS[kind](Random(f"{kind} {seed}"))
    except Exception:
        print(f"--- {kind}, seed {seed}\n{traceback.format_exc()}", flush=True)
        return "fault"
    return "slow" if time.perf_counter() - began > _SLOW_S else "held"


def _part(work: tuple[str, int, int]) -> tuple[str, Counter[str]]:
    kind, first, count = work
    return kind, Counter(attack(kind, seed) for seed in range(first, first + count))


def _shown(total: tuple[str, Counter[str]]) -> str:
    kind, counts = total
    shown = ", ".join(f"{number:,} {name}" for name, number in sorted(counts.items()))
    return f"{kind:9} {shown or 'none'}"


def main() -> None:
    """Run it, print the counts; exit status 1 if anything was a fault."""
    parser = argparse.ArgumentParser(description="Mutants of evidence through readers and rules.")
    parser.add_argument("--inputs", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=multiprocessing.cpu_count())
    options = parser.parse_args()
    numbers = dict.fromkeys(("timeline", "trace", "torch_log"), options.inputs // 20)
    numbers |= {"text": options.inputs - sum(numbers.values()), "run": options.runs}
    work = [
        (kind, first, min(50, options.seed + count - first))
        for kind, count in numbers.items()
        for first in range(options.seed, options.seed + count, 50)
    ]
    totals: dict[str, Counter[str]] = {kind: Counter() for kind in KINDS}
    with multiprocessing.Pool(options.processes, maxtasksperchild=100) as pool:
        for done, (kind, counts) in enumerate(pool.imap_unordered(_part, work), 1):
            totals[kind] += counts
            if done % 1000 == 0 or done == len(work):
                print(f"{done / len(work):4.0%} of the work", flush=True)
                print(*map(_shown, totals.items()), sep="\n", flush=True)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"largest process {peak:,.0f} MiB")
    raise SystemExit(any(counts["fault"] for counts in totals.values()))


if __name__ == "__main__":
    main()
