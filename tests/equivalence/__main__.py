"""Records what comes of all recorded evidence, or compares it with what was recorded.

    python -m tests.equivalence record FOLDER [--texts]
    python -m tests.equivalence compare FOLDER

``--texts`` keeps tables and formats as files, too: those of two folders can
then be compared by ``diff -r``.
"""

from __future__ import annotations

import argparse
import json
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from tests.equivalence.inputs import MUTANTS, lay_out
from tests.equivalence.outputs import Outputs, outputs_of

Recorded = dict[str, Outputs]


def main() -> int:
    """The number of inputs of which something else comes, 125 at most."""
    parser = argparse.ArgumentParser(prog="python -m tests.equivalence")
    parser.add_argument("command", choices=["record", "compare"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--texts", action="store_true")
    parser.add_argument("--mutants", type=int, default=MUTANTS)
    asked = parser.parse_args()
    now = _all(asked.folder.resolve(), asked.mutants, asked.texts)
    file = asked.folder / "outputs.json"
    if asked.command == "record":
        file.write_text(json.dumps(now, indent=1) + "\n", "utf-8")
        print(f"{len(now)} inputs, {sum(map(len, now.values()))} outputs: {file}")
        return 0
    return min(_compared(json.loads(file.read_text("utf-8")), now), 125)


def _all(folder: Path, mutants: int, texts: bool) -> Recorded:
    inputs = lay_out(folder / "inputs", mutants)
    names = [str(run.relative_to(folder / "inputs")) for run in inputs]
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        kept = [folder / "texts" / name if texts else None for name in names]
        return dict(zip(names, pool.map(outputs_of, inputs, kept, chunksize=4), strict=True))


def _compared(before: Recorded, now: Recorded) -> int:
    """Print each output that differs, by the number of inputs; returns how many these are."""
    differing: dict[str, list[str]] = {}
    for name in sorted({*before, *now}):
        was, outputs = before.get(name, {}), now.get(name, {})
        for output in sorted({*was, *outputs}):
            if was.get(output) != outputs.get(output):
                differing.setdefault(output, []).append(name)
    for output, names in differing.items():
        print(f"{output}: {len(names)} inputs, {', '.join(names[:5])}")
    changed = len(set().union(*differing.values())) if differing else 0
    print(f"{changed} of {len(now)} inputs differ")
    return changed


if __name__ == "__main__":
    sys.exit(main())
