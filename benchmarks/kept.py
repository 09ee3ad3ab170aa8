"""The processor time of commands on a run: the first time, and once its diagnosis is kept.

`python -m benchmarks.kept [RUN] [--rounds N]`. Whole processes, in turn; each round has a cache of
its own for diagnoses, and shares the machine code of the readers.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path

from benchmarks.ingest import XLADOCTOR, process, spread
from xladoctor.cache_folder import cache_folder

_COMMANDS = {
    "analyze": ["analyze", "{run}"],
    "analyze again": ["analyze", "{run}"],
    "report": ["report", "{run}", "--html", os.devnull],
    "report again": ["report", "{run}", "--html", os.devnull],
    "gate": ["gate", "{run}", "--fail-on", "never", "--allow-missing"],
    "compare": ["compare", "{run}", "{run}"],
}


def measured(run: Path) -> dict[str, float]:
    """Seconds of processors of each command, in this order."""
    shared = cache_folder("numba")
    with tempfile.TemporaryDirectory() as folder:
        own = Path(folder) / "xladoctor"
        own.mkdir()
        if shared:
            (own / "numba").symlink_to(shared)
        return {
            name: process(
                XLADOCTOR,
                *(word.format(run=run) for word in command),
                XDG_CACHE_HOME=folder,
                XLADOCTOR_CACHE="",
            ).cpu_s
            for name, command in _COMMANDS.items()
        }


def main() -> None:
    """Measure and print medians, with the least and the most."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("run", nargs="?", type=Path, default=Path("sample_traces/recompiling"))
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    rounds = [measured(options.run) for _ in range(options.rounds)]
    for name in _COMMANDS:
        print(f"{name:<14} {spread((each[name] for each in rounds), ' s')}")


if __name__ == "__main__":
    main()
