"""Records anew the runs whose reports are golden files: ``python -m tests.report.record [NAME…]``.

As the known-good corpus is recorded; one of the programs fails on purpose.
"""

from __future__ import annotations

from pathlib import Path

from tests.known_good.record import record_all

HERE = Path(__file__).parent
PROGRAMS = [
    *sorted((HERE / "programs").glob("*.py")),
    HERE.parents[1] / "examples" / "jax" / "number_as_state.py",
]

if __name__ == "__main__":
    record_all(PROGRAMS, HERE / "recorded", may_fail=True)
