"""Run journeys, all or those named, and write down what came of them."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.journeys.journey import Stage, keep, kept, names, travelled


def main(chosen: list[str]) -> int:
    """The number of journeys that are not over."""
    left = 0
    for name in chosen or names():
        with tempfile.TemporaryDirectory() as scratch:
            journey = travelled(name, Path(scratch))
        keep({**kept(), name: journey})
        stages = " → ".join(map(_said, journey.stages))
        print(f"{name}: {stages}; by an expert {_said(journey.expert)}", flush=True)
        left += not journey.over
    return left


def _said(stage: Stage) -> str:
    return (
        f"{'over ' * stage.ended}{stage.seconds:.3g} s ({', '.join(stage.findings) or 'nothing'})"
    )


if __name__ == "__main__":
    sys.exit(min(main(sys.argv[1:]), 125))
