"""Rows as a table of text."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from tests.report.snapshots import assert_as_before
from xladoctor.doctor import load_evidence
from xladoctor.evidence.catalog import public_macros, public_views
from xladoctor.evidence.query import Query
from xladoctor.evidence.schema import TABLES
from xladoctor.report import schema
from xladoctor.report.interface import Style
from xladoctor.report.table import render

SAMPLES = Path(__file__).parents[2] / "sample_traces"
SNAPSHOTS = Path(__file__).parent / "query_snapshots"
CONTROL = re.compile(r"\x1b\[[0-9;]*m")
COMPILATIONS = "SELECT index, step, file, line, via, graph_hash, inputs FROM compilation"
WAITS = (
    "SELECT kind, file, line, user_line, sum(count) AS reads,"
    " sum(duration_ns) / sum(count) AS mean_ns FROM host_sync GROUP BY ALL ORDER BY reads DESC"
)
STYLES = {
    "80": Style(80),
    "50": Style(50),
    "120-color": Style(120, color=True),
    "80-ascii": Style(80, unicode=False),
}
CASES = {
    **{
        f"compilations-{name}": ("recompiling", COMPILATIONS, style)
        for name, style in STYLES.items()
    },
    "reads-80": ("scalar_read", WAITS, STYLES["80"]),
    "records-80": ("recompiling", "SELECT * FROM compiled_again LIMIT 2 OFFSET 1", STYLES["80"]),
    "columns-80": ("recompiling", "DESCRIBE counter", STYLES["80"]),
    "empty-80": ("recompiling", "SELECT file, line FROM step WHERE line < 0", STYLES["80"]),
}


def written(names: Sequence[str], rows: Sequence[Sequence[Any]], style: Style) -> str:
    output = io.StringIO()
    render(names, rows, output, style)
    return output.getvalue()


def columns(line: str) -> int:
    """As rich counts them: what has no width of its own differs between releases of Unicode."""
    return cell_len(CONTROL.sub("", line))


@pytest.fixture(scope="module")
def answered() -> dict[str, str]:
    """The text of each case; a sample is read once."""
    samples = {case[0] for case in CASES.values()}
    databases = {name: load_evidence(str(SAMPLES / name)).database for name in samples}
    texts = {}
    for name, (sample, query, style) in CASES.items():
        answer = Query(query, databases[sample]).answer()
        texts[name] = written(answer.columns, answer.rows, style)
    return texts


@pytest.mark.parametrize("name", CASES)
def test_table_is_as_it_was(answered: dict[str, str], name: str) -> None:
    assert_as_before(SNAPSHOTS / f"{name}.txt", answered[name])


def test_every_snapshot_is_of_a_case() -> None:
    assert {path.stem for path in SNAPSHOTS.glob("*")} == set(CASES)


@pytest.mark.parametrize("name", CASES)
def test_lines_are_within_the_width_and_end_without_blanks(
    answered: dict[str, str], name: str
) -> None:
    lines = CONTROL.sub("", answered[name]).splitlines()
    assert [line for line in lines if columns(line) > CASES[name][2].width] == []
    assert [line for line in lines if line != line.rstrip()] == []


def test_numbers_stand_to_the_right_and_texts_to_the_left() -> None:
    rows = [(5, "a", Decimal("1.50"), True), (None, "bcd", None, None), (1234567, None, 20, False)]
    assert written(["n", "text", "d", "b"], rows, Style(80)).splitlines() == [
        "      n  text     d  b",
        "───────  ────  ────  ─────",
        "      5  a     1.50  true",
        "   NULL  bcd   NULL  NULL",
        "1234567  NULL    20  false",
    ]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.0, "0.0"),
        (2.0, "2.0"),
        (1234567.891234, "1234567.891"),
        (0.000123456, "0.0001235"),
        (1e300, "1e+300"),
        (float("nan"), "nan"),
        (float("inf"), "inf"),
        (-0.5, "-0.5"),
        (2**62, str(2**62)),
        ([1, 2], "[1, 2]"),
        ("NULL", "NULL"),
        ("", ""),
    ],
)
def test_value_is_shown(value: Any, shown: str) -> None:
    assert written(["a name that is long"], [(value,)], Style(80)).splitlines()[2].strip() == shown


def test_unknown_values_are_dim_and_names_bold() -> None:
    text = written(["a", "b"], [(None, 1)], Style(80, color=True))
    assert text == "\x1b[1ma\x1b[0m     \x1b[1mb\x1b[0m\n────  ─\n\x1b[2mNULL\x1b[0m  1\n"


def test_text_that_says_null_is_not_dim() -> None:
    assert "\x1b[2m" not in written(["a"], [("NULL",)], Style(80, color=True))


def test_long_text_is_folded_and_then_cut() -> None:
    text = "".join(chr(ord("a") + i % 26) for i in range(300))
    lines = written(["number", "text"], [(1, text)], Style(40)).splitlines()[2:]
    assert lines[0] == f"     1  {text[:32]}"
    assert lines[1] == f"        {text[32:64]}"
    assert lines[2] == f"        {text[64:95]}…"
    assert len(lines) == 3


def test_where_columns_do_not_fit_rows_are_records() -> None:
    names = [f"column_{number}" for number in range(12)]
    lines = written(names, [range(12), [None] * 12], Style(80)).splitlines()
    assert lines[:3] == ["row 1", "column_0   0", "column_1   1"]
    assert lines[13:15] == ["row 2", "column_0   NULL"]
    assert len(lines) == 26


def test_no_rows_are_said() -> None:
    assert written(["a", "bc"], [], Style(80)) == "a  bc\n─  ──\nno rows\n"


@pytest.mark.parametrize("value", ["\x1b[2J", "a\rb", "a\nb", "a\tb", "\x1b]0;title\x07"])
def test_text_of_the_program_is_shown_and_not_obeyed(value: str) -> None:
    text = written([value], [(value,)], Style(80))
    assert not set(text) & set("\x1b\r\t\x07")
    assert len(text.splitlines()) == 3


@settings(max_examples=100, deadline=None)
@given(
    st.integers(20, 120),
    st.booleans(),
    st.lists(
        st.lists(st.none() | st.integers() | st.text(max_size=60), min_size=3, max_size=3),
        max_size=4,
    ),
)
def test_any_rows_are_within_the_width(width: int, unicode: bool, rows: list[list[Any]]) -> None:
    text = written(["a", "a longer name of a column", "数据"], rows, Style(width, unicode=unicode))
    assert all(columns(line) <= width for line in text.splitlines())
    assert unicode or text.isascii()


# The schema


def described(names: list[str], available: set[str] | None, style: Style) -> str:
    output = io.StringIO()
    schema.render(names, available, output, style)
    return output.getvalue()


def test_schema_has_every_table_column_and_view() -> None:
    text = described([], None, Style(80))
    heads = [re.split(r"[ (]", line)[0] for line in text.splitlines() if line[:1].strip()]
    known = [*TABLES, *public_views(), *public_macros()]
    assert [name for name in heads if name in known] == known
    words = " ".join(text.split())
    for name, table in TABLES.items():
        for column, kind in table.columns.items():
            assert " ".join([column, kind.type, *kind.text.split()]) in words, (name, column)
    assert max(map(len, text.splitlines())) <= 80


def test_table_that_the_run_does_not_have_is_marked() -> None:
    text = described(["step", "event", "loop"], {"step"}, Style(80))
    assert [line for line in text.splitlines() if line[:1].strip()] == [
        "step  (stable)",
        "event  (not in this run)",
        "loop  (view)  (stable)",
    ]


def test_schema_in_ascii_is_ascii() -> None:
    assert described([], None, Style(80, unicode=False)).isascii()
