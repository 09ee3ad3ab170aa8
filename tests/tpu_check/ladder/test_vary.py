"""A value reaches the program, whichever way it takes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xladoctor.tpu_check.ladder.vary import Program, VaryError, Way, parse, program, way_of

WORDS = st.lists(st.text(st.characters(exclude_characters="{}\0"), max_size=12), max_size=4)
VALUES = st.integers(0, 10**6).map(str)
ECHO = """import json, os, sys
seen = dict(os.environ).get("BATCH_SIZE"), globals().get("batch_size")
print(json.dumps([sys.argv, *seen, __file__]))
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    return tmp_path / "train.py"


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("batch=8,2,4", ("2", "4", "8")),
        ("batch=3..6", ("3", "4", "5", "6")),
        ("lr=1e-3,0.1", ("1e-3", "0.1")),
        ("remat=none,full", ("none", "full")),
        ("batch=4,4", ("4",)),
    ],
)
def test_values(text: str, values: tuple[str, ...]) -> None:
    assert parse(text).values == values


@pytest.mark.parametrize("text", ["", "batch", "batch=", "batch=1,,2", "batch size=1", "b=6..3"])
def test_what_is_no_list_of_values_is_an_error(text: str) -> None:
    with pytest.raises(VaryError, match="expected something like"):
        parse(text)


@given(WORDS, WORDS, VALUES)
def test_a_placeholder_is_replaced_and_nothing_else(
    before: list[str], after: list[str], value: str
) -> None:
    started = Program(("python", *before, "--size={batch}x{batch}", *after))
    way = way_of(started, "batch")
    assert way == Way("placeholder", "{batch}")
    words = ("python", *before, f"--size={value}x{value}", *after)
    assert started.given(way, "batch", value).command == words


@given(
    st.sampled_from(["--batch_size", "--batch-size", "-batch_size", "--train.batch_size"]), VALUES
)
def test_an_option_gets_the_value_in_either_form(option: str, value: str) -> None:
    for words, expected in (
        ((option, "8", "x"), (option, value, "x")),
        ((f"{option}=8", "x"), (f"{option}={value}", "x")),
    ):
        started = Program(("python", "t.py", *words))
        way = way_of(started, "batch_size")
        assert way == Way("option", option)
        assert started.given(way, "batch_size", value).command == ("python", "t.py", *expected)


def test_a_setting_without_dashes_is_an_option_only_with_its_value() -> None:
    started = Program(("python", "t.py", "batch_size=8", "batch_size"))
    given_ = started.given(way_of(started, "batch_size"), "batch_size", "4")
    assert given_.command == ("python", "t.py", "batch_size=4", "batch_size")


@pytest.mark.parametrize(
    ("text", "way"),
    [
        ('p.add_argument("-b", "--batch-size", type=int)', Way("appended", "--batch-size")),
        ("@click.option('--batch_size/-b')", Way("appended", "--batch_size")),
        ('flags.DEFINE_integer("batch_size", 8, "")', Way("appended", "--batch_size")),
        ('b = os.environ["BATCH_SIZE"]', Way("environment", "BATCH_SIZE")),
        ('b = os.getenv("batch_size", 8)', Way("environment", "batch_size")),
        ("BATCH_SIZE: int = 8", Way("constant", "BATCH_SIZE")),
        ("batch_size = steps = 8", Way("constant", "batch_size")),
        ('if __name__ == "__main__":\n    batch_size = 8', Way("constant", "batch_size")),
    ],
)
def test_the_script_says_how_it_takes_a_value(text: str, way: Way, script: Path) -> None:
    script.write_text(text, encoding="utf-8")
    assert way_of(program([str(script)]), "batch_size") == way


@pytest.mark.parametrize("text", ["def f():\n    batch_size = 8", "batch_size: int", "x = (", ""])
def test_what_takes_no_value_is_an_error_that_says_the_ways(text: str, script: Path) -> None:
    script.write_text(text, encoding="utf-8")
    with pytest.raises(VaryError) as error:
        way_of(program([str(script)]), "batch_size")
    for way in ("{batch_size}", "--batch_size", "BATCH_SIZE", "batch_size = …"):
        assert way in error.value.hint


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ("batch_size = 8\n", [["SCRIPT", "a"], None, 32]),
        ("if __name__ == '__main__':\n    batch_size = 8\n", [["SCRIPT", "a"], None, 32]),
        ('import argparse; "--batch_size"\n', [["SCRIPT", "a", "--batch_size=32"], None, None]),
        ('os.getenv("BATCH_SIZE")\n', [["SCRIPT", "a"], "32", None]),
    ],
)
def test_the_program_sees_the_value(more: str, expected: list[object], script: Path) -> None:
    first, _, last = ECHO.partition("\n")
    script.write_text(f"{first}\n{more}{last}", encoding="utf-8")
    started = program([str(script), "a"])
    changed = started.given(way_of(started, "batch_size"), "batch_size", "32")
    ran = subprocess.run(
        changed.command, capture_output=True, check=True, env=dict(changed.environment), text=True
    )
    seen = json.loads(ran.stdout.replace(str(script), "SCRIPT"))
    assert seen == [*expected, "SCRIPT"]


def test_lines_of_a_script_with_another_constant_are_its_own(script: Path) -> None:
    text = '"""Fails."""\nN = 1\nM = N\n\nassert M == "big", M\n1 / 0\n'
    script.write_text(text, encoding="utf-8")
    started = Program((sys.executable, str(script))).given(Way("constant", "N"), "N", "big")
    ran = subprocess.run(started.command, capture_output=True, check=False, text=True)
    assert f'File "{script}", line 6' in ran.stderr
    assert "ZeroDivisionError" in ran.stderr
    assert script.read_text(encoding="utf-8") == text
