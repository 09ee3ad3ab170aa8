"""Which condition decides whether a line runs, and which loop repeats it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import evidence
from xladoctor.diagnosis.construct import _condition, _repeating

PROGRAM = """\
if __name__ == "__main__":
    for step in range(9):
        if step % 3 == 0:
            continue
        update()
        if step > 4:
            with torch.no_grad():
                evaluate()
    done()
def forward(x):
    if x.training:
        y = drop(x)
    else:
        y = x
    return y
"""


@pytest.mark.parametrize(
    ("line", "condition"), [(5, 3), (8, 6), (9, None), (12, 11), (14, 11), (15, None)]
)
def test_condition(tmp_path: Path, line: int, condition: int | None) -> None:
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    assert _condition(str(file), line) == condition


@pytest.mark.parametrize(("around", "loop"), [(19, 4), (5, 5), (0, 5)])
def test_a_loop_of_one_turn_repeats_nothing(around: int, loop: int) -> None:
    """Line 6 is in the graph 19 times; what the loop in line 4 has around that of line 5 as often,
    now and then, or never.
    """
    line = {"process": 0, "program_id": 7, "graph_hash": "g", "entry": True, "opcode": "dot"}
    lines = {6: 19, 8: around, 2: 19}
    graph = [
        line | {"id": 100 * number + nth, "file": "train.py", "line": number, "frame": number}
        for number, count in lines.items()
        for nth in range(count)
    ]
    loops = [("train.py", 5, 7, "forward"), ("train.py", 4, 8, "forward")]
    row = {"process": 0, "count": 19, "cause": {"program": 7}}
    assert _repeating(loops, row, evidence({"hlo_instruction": graph}))[1] == loop
