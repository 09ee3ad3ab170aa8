"""What the source of a program does with a variable."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import pytest

from xladoctor.recording.bootstrap._xladoctor.census import Variable
from xladoctor.recording.bootstrap._xladoctor.variable_use import Sources


def stack_of(path: Path, source: str, parameter: bool = False) -> tuple[Variable, str]:
    """The variable ``x`` in the functions that are marked: ``# 1`` the innermost, …"""
    text = textwrap.dedent(source)
    path.write_text(text, encoding="utf-8")
    stack: list[tuple[str, int, str]] = []
    function: dict[int, str] = {}
    name = "<module>"
    for number, line in enumerate(text.splitlines(), 1):
        if line and not line.startswith(" "):
            name = "<module>"
        if line.lstrip().startswith("def "):
            name = line.split()[1].partition("(")[0]
        function[number] = name
    for depth in "123":
        stack += [
            (str(path), number, function[number])
            for number, line in enumerate(text.splitlines(), 1)
            if line.endswith(f"# {depth}")
        ]
    return Variable("x", tuple(stack), parameter), text


def use(path: Path, source: str, labels: tuple[str, ...] = ("x",)) -> tuple[str | None, Any]:
    variable, text = stack_of(path, source)
    added, released = Sources().use(variable, labels, [str(path)])
    return (None if added is None else text.splitlines()[added[1] - 1].strip()), released


LOOP = """
def train(batches):
    x = []
    for batch in batches:
        loss = step(batch)  # 1
        {}
"""


@pytest.mark.parametrize(
    ("line", "added", "released"),
    [
        ("x.append(loss)", True, False),
        ("x += [loss]", True, False),
        ("x = x + [loss]", True, False),
        ("x[batch] = loss", True, False),
        ("x['loss'].append(loss)", True, False),
        ("log(x)", False, False),
        ("x.append(loss); x.pop(0)", True, True),
        ("x.append(loss); del x[0]", True, True),
        ("x.append(loss); x[:] = x[-9:]", True, True),
        ("x.append(loss); x = x[-9:]", True, True),
        ("x.append(loss) if len(x) < 9 else None", True, True),
    ],
)
def test_lines_that_add_and_that_limit(
    tmp_path: Path, line: str, added: bool, released: bool
) -> None:
    found = use(tmp_path / "train.py", LOOP.format(line))
    assert found == (line if added else None, released)


def test_another_function_has_variables_of_its_own(tmp_path: Path) -> None:
    source = LOOP.format("x.append(loss)") + "\ndef other():\n    x = [1]\n    x.clear()\n"
    assert use(tmp_path / "train.py", source) == ("x.append(loss)", False)


def test_a_list_of_an_epoch_is_made_again(tmp_path: Path) -> None:
    inside = """
    def train():
        for epoch in range(9):
            x = []
            for batch in batches:
                x.append(step(batch))  # 1
    """
    called = """
    def epoch():
        x = []
        for batch in batches:
            x.append(step(batch))  # 1

    for _ in range(9):
        epoch()  # 2
    """
    once = called.replace("for _ in range(9):", "if True:")
    path = tmp_path / "train.py"
    assert use(path, inside) == ("x.append(step(batch))  # 1", True)
    assert use(tmp_path / "called.py", called) == ("x.append(step(batch))  # 1", True)
    assert use(tmp_path / "once.py", once) == ("x.append(step(batch))  # 1", False)


TRAINER = """
class Trainer:
    def __init__(self):
        self.history = []

    def fit(self):
        for batch in batches:
            self.history.append(step(batch))  # 1

    def {}(self):
        self.history = []
"""


def test_an_attribute_is_renewed_by_any_other_method(tmp_path: Path) -> None:
    labels = ("x", ".history")
    added = "self.history.append(step(batch))  # 1"
    path = tmp_path / "train.py"
    assert use(path, TRAINER.format("reset"), labels) == (added, True)
    once = tmp_path / "once.py"
    assert use(once, TRAINER.format("__post_init__"), labels) == (added, False)


def test_without_source_nothing_is_known(tmp_path: Path) -> None:
    gone = Variable("x", (("<string>", 1, "<module>"),))
    assert Sources().use(gone, ("x",), ["<string>"]) == (None, None)


COPY = """
def main():
    x = start()
    state = x
    {before}
    for batch in batches:
        state = step(state, batch)  # 1
        {inside}
    {after}
"""


def unread(path: Path, source: str, parameter: bool = False) -> str | None:
    variable, text = stack_of(path, source, parameter)
    line = Sources().unread(variable)
    return None if line is None else text.splitlines()[line[1] - 1].strip()


def copy(before: str = "pass", inside: str = "pass", after: str = "pass") -> str:
    return COPY.format(before=before, inside=inside, after=after)


def test_a_variable_that_nothing_reads_any_more(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    assert unread(path, copy(before="print(x)")) == "x = start()"


@pytest.mark.parametrize(
    "source",
    [
        copy(inside="distance(x, state)"),
        copy(after="print(x)"),
        copy(after="del x"),
        copy(before="read = lambda: x"),
        copy(after="save(locals())"),
        copy(inside="x = mean(x, state)"),
        copy(before="global x"),
        copy().replace("step(state, batch)  # 1", "step(x, batch)  # 1"),
    ],
)
def test_a_variable_that_may_be_read(tmp_path: Path, source: str) -> None:
    assert unread(tmp_path / "train.py", source) is None


def test_what_a_caller_gave_or_passes_on_is_not_unread(tmp_path: Path) -> None:
    assert unread(tmp_path / "given.py", copy(), parameter=True) is None
    passed = "def main():\n    x = start()\n    train(x)  # 1\n"
    assert unread(tmp_path / "passed.py", passed) is None
