"""Which condition decides whether a line runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from xladoctor.diagnosis.construct import _condition

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
