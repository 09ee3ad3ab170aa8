"""Follow prescriptions, and write down what came of them.

``python -m tests.prescriptions`` tries all of them, which takes an hour; ``… XD201 XD3`` those
whose names begin so.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.prescriptions.trial import keep, kept, patches, tried


def main(names: list[str]) -> int:
    """The number of prescriptions that do not hold."""
    failed = 0
    for patch in patches(names):
        if not patch.can_run:
            print(f"{patch.name}: needs a {patch.header['Device']}", flush=True)
            continue
        with tempfile.TemporaryDirectory() as scratch:
            try:
                trial = tried(patch, Path(scratch))
            except AssertionError as broken:
                print(f"{patch.name}: {broken}", flush=True)
                failed += 1
                continue
        keep({**kept(), patch.name: trial})  # at once: an hour's work is not lost to Ctrl-C
        foretold = "" if trial.foretold_s is None else f"{trial.foretold_s:.3g}"
        print(
            f"{patch.name}: {trial.severity}, {trial.before_s:.3g} → {trial.after_s:.3g} s"
            f" (foretold {foretold} {trial.basis}),"
            f" left: {trial.left or '–'}, new: {', '.join(trial.new) or '–'}"
            f"{'' if trial.same_output else ', another output'}",
            flush=True,
        )
        failed += not trial.holds
    return failed


if __name__ == "__main__":
    sys.exit(min(main(sys.argv[1:]), 125))
