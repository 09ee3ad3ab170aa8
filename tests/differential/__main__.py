"""``python -m tests.differential``: what generated programs show about each kind of fix."""

from __future__ import annotations

import argparse
import sys

from tests.differential.kinds import KINDS
from tests.differential.table import HEAD, row


def main() -> None:
    """Print the table by kind, and the shortest programs that behave differently."""
    parser = argparse.ArgumentParser(prog="tests.differential", description=__doc__)
    parser.add_argument("--programs", type=int, default=1000, help="of all kinds together")
    parser.add_argument("--kind", action="append", choices=sorted(KINDS))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--falls", type=int, default=0, help="programs to show of each kind")
    parser.add_argument("--refusals", type=int, default=0, help="reasons to show of each kind")
    parser.add_argument("--real", action="store_true", help="run the frameworks, not stubs of them")
    given = parser.parse_args()
    kinds = given.kind or [*KINDS]
    falls = 0
    print(HEAD)
    for kind in kinds:
        found = row(kind, -(-given.programs // len(kinds)), given.seed, real=given.real)
        falls += len(found.falls)
        print(found, flush=True)
        for reason, count in found.refusals.most_common(given.refusals):
            print(f"    {count:>5} {reason}")
        for program, judgement in found.shortest_falls()[: given.falls]:
            print(f"--- {kind}: {judgement.reason}\n{program.text}--- patched\n{judgement.patched}")

    sys.exit(falls > 0)


if __name__ == "__main__":
    main()
