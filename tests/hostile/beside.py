"""Analyses two at a time, while another process damages the machine code that they share: a part of
``make fuzz``.

    python -m tests.hostile.beside --analyses 1000

Each has to print what it prints alone, or say what is wrong. One that ends without a word is lost.
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.cli.command import ENVIRONMENT, ROOT
from tests.cli.forked import SERVER, child_main

SAMPLES = [ROOT / "sample_traces" / name for name in ("scalar_read", "two_threads")]
COMPILES_EVERY = 4  # analyses, the others interpret
_LIMIT_S, _PAUSE_S = 600, 0.05

#: Exit status, standard output, standard error.
Outcome = tuple[int | None, str, str]


def analysis(run: Path, cache: Path, *, compiles: bool) -> Outcome:
    """What an analysis in a process of its own prints, and how it ends."""
    with tempfile.TemporaryDirectory() as scratch:
        streams = [Path(scratch, name) for name in ("in", "out", "err")]
        streams[0].touch()
        words = ["analyze", str(run), "--color", "never"]
        child = SERVER.Process(target=_main, args=(words, streams, cache if compiles else None))
        child.start()
        child.join(_LIMIT_S)
        child.kill()
        out, err = (path.read_text(encoding="utf-8", errors="replace") for path in streams[1:])
        return child.exitcode, out, err


def _main(words: list[str], streams: list[Path], cache: Path | None) -> None:
    environment = dict(ENVIRONMENT)
    if cache is not None:
        from xladoctor.ingest.xplane import compiled

        compiled.PATIENCE = -1
        environment["NUMBA_CACHE_DIR"] = str(cache)
        compiled.compiler().config.CACHE_DIR = str(cache)  # the server has loaded numba already
    child_main(words, streams, ROOT, environment)


def damage(cache: Path, seed: int) -> None:
    """Cut off, flip a bit of, zero or restore the files of machine code, for ever."""
    random_ = random.Random(seed)
    whole: dict[Path, bytes] = {}
    while True:
        time.sleep(_PAUSE_S)
        for path in cache.rglob("*.nbc"):
            content = whole.setdefault(path, path.read_bytes())
            at = random_.randrange(len(content))
            flipped = content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]
            path.write_bytes(
                random_.choice([content[:at], flipped, bytes(len(content)), *[content] * 6])
            )


def main() -> None:
    """Run it, print what is not as alone, and the counts; exit status 1 if any was lost."""
    parser = argparse.ArgumentParser(
        description="Analyses beside one that damages what they share."
    )
    parser.add_argument("--analyses", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        cache = Path(folder)
        alone = {run: analysis(run, cache, compiles=True) for run in SAMPLES}
        damaging = multiprocessing.Process(target=damage, args=(cache, options.seed))
        damaging.start()

        def compare(number: int) -> None:
            run = SAMPLES[number // COMPILES_EVERY % len(SAMPLES)]
            outcome = analysis(run, cache, compiles=number % COMPILES_EVERY == 0)
            same, silent = outcome == alone[run], not any(outcome[1:])
            counts["as alone" if same else "LOST" if silent else "another"] += 1
            if not same:
                print(f"{number}: {run.name}: status {outcome[0]}: {outcome[2][-500:]}", flush=True)

        with ThreadPoolExecutor(2) as threads:
            list(threads.map(compare, range(options.analyses)))
        damaging.kill()
        damaging.join()
    print(*(f"{name}: {count}" for name, count in counts.items()))
    raise SystemExit(counts["as alone"] != options.analyses)


if __name__ == "__main__":
    main()
