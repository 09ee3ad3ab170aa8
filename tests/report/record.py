"""Records anew the runs whose reports are golden files: ``python -m tests.report.record [NAME…]``.

As the known-good corpus is recorded; one of the programs fails on purpose. Pages show the reports
on the examples. Each is recorded where its framework is installed: name those of this interpreter.
"""

from __future__ import annotations

from pathlib import Path

from tests.known_good.record import record_all

HERE = Path(__file__).parent
_EXAMPLES = HERE.parents[1] / "examples"
PROGRAMS = [
    *sorted((HERE / "programs").glob("*.py")),
    _EXAMPLES / "jax" / "number_as_state.py",
    _EXAMPLES / "jax" / "changing_shapes.py",
    _EXAMPLES / "torch_compile" / "print_in_step.py",
    _EXAMPLES / "torch_tpu" / "operators_one_by_one.py",
]

if __name__ == "__main__":
    record_all(PROGRAMS, HERE / "recorded", may_fail=True)
