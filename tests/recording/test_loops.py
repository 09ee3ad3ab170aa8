"""The loops around a line, from its source."""

from __future__ import annotations

from pathlib import Path

from xladoctor.recording.bootstrap._xladoctor.loops import Loops

SOURCE = """\
def train(model):
    for epoch in range(3):
        for batch in loader:
            step(model, batch)
        while True:
            break

def step(model, batch):
    with autocast():
        loss = model(batch)
    return loss

for attempt in range(2):
    def inner():
        return 1
    train(inner)
"""


def around(tmp_path: Path, *lines: int, source: str = SOURCE) -> list[tuple[int, int]]:
    """First and last lines, of a stack with these lines, from inside out."""
    file = tmp_path / f"{abs(hash(source))}.py"
    file.write_text(source)
    found = Loops().around([(str(file), line, "f") for line in lines])
    assert {name for name, *_ in found} <= {str(file)}
    return [(first, last) for _, first, last, _ in found]


def test_loops_come_from_inside_out(tmp_path: Path) -> None:
    assert around(tmp_path, 4) == [(3, 4), (2, 6)]
    assert around(tmp_path, 6) == [(5, 6), (2, 6)]


def test_callers_loops_follow_those_of_the_function(tmp_path: Path) -> None:
    assert around(tmp_path, 10, 4, 16) == [(3, 4), (2, 6), (13, 16)]


def test_function_defined_in_a_loop_does_not_run_in_it(tmp_path: Path) -> None:
    assert around(tmp_path, 15) == []


def test_line_outside_of_loops_has_none(tmp_path: Path) -> None:
    assert around(tmp_path, 1, 9) == []


def test_source_that_is_none_has_no_loops(tmp_path: Path) -> None:
    assert around(tmp_path, 1, source="for x in:\n") == []
    assert Loops().around([("<string>", 1, "f"), ("/nowhere/train.py", 3, "f")]) == []
