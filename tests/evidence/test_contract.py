"""What queries of others rely on: tables, public views and macros, described and unchanged."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tests.support import complete
from xladoctor.doctor import load_evidence
from xladoctor.evidence.catalog import macro_heads, macros, public_macros, public_views, views
from xladoctor.evidence.database import Database
from xladoctor.evidence.interface import Evidence
from xladoctor.evidence.schema import CHANGES, EVIDENCE_VERSION, EXAMPLES, TABLES, VIEWS

GOLDEN = Path(__file__).with_name("contract.txt")
SAMPLES = sorted((Path(__file__).parents[2] / "sample_traces").glob("*/run.json"))
CHANGED = (
    "what rules of others can rely on has changed. If that is meant: add a version to CHANGES in"
    " xladoctor/evidence/schema/__init__.py that says what changed (evidence.md lists it; a"
    " new table, view or column needs none), write tests/evidence/contract.txt anew with"
    " XLADOCTOR_UPDATE_SNAPSHOTS=1, and run `make docs`."
)


@pytest.fixture(scope="module")
def empty() -> Evidence:
    return complete({})


def types(database: Database, name: str) -> dict[str, str]:
    rows = database.rows(f'DESCRIBE "{name}"')
    return {row["column_name"]: row["column_type"] for row in rows}


def contract(database: Database) -> list[str]:
    """One line for each thing that can be relied on."""
    columns = [
        f"{name}.{column} {kind}"
        for name in (*TABLES, *VIEWS)
        for column, kind in types(database, name).items()
    ]
    return [
        f"version {EVIDENCE_VERSION}",
        *columns,
        *(macro.call for macro in public_macros().values()),
    ]


def test_the_contract_is_kept(empty: Evidence) -> None:
    now = contract(empty.database)
    if os.environ.get("XLADOCTOR_UPDATE_SNAPSHOTS"):
        GOLDEN.write_text("\n".join(now) + "\n", encoding="utf-8")
    before = GOLDEN.read_text(encoding="utf-8").splitlines()
    differences = [f"- {line}" for line in before if line not in now]
    differences += [f"+ {line}" for line in now if line not in before]
    assert now == before, "\n".join([CHANGED, *differences])


def test_each_version_says_what_changed() -> None:
    assert sorted(CHANGES) == list(range(1, EVIDENCE_VERSION + 1))
    assert all(len(text) > 10 for text in CHANGES.values())


@pytest.mark.parametrize("name", views())
def test_each_view_says_what_it_is(name: str) -> None:
    assert len(views()[name]) > 25


def test_a_view_is_described_or_internal() -> None:
    assert set(public_views()) == set(VIEWS), (
        "describe the columns of a view in schema/views.py, or begin its comment with `Internal: `"
    )


@pytest.mark.parametrize("name", VIEWS)
def test_each_column_of_a_view_has_a_meaning(empty: Evidence, name: str) -> None:
    short = {
        column: re.sub(r"\(.*\)", "", kind) for column, kind in types(empty.database, name).items()
    }
    assert short == {column: described.type for column, described in VIEWS[name].items()}
    assert all(len(described.text) > 3 for described in VIEWS[name].values())


def test_each_macro_is_described() -> None:
    assert set(macro_heads()) == {*macros(), "warmup"}
    assert all(len(macro.text) > 25 for macro in macro_heads().values())
    assert macro_heads()["claim"].call.startswith("claim(do, what, file_ := NULL, ")
    assert macro_heads()["recompiled"].gives_rows


def test_each_has_an_example_of_itself() -> None:
    assert set(EXAMPLES) == {*TABLES, *VIEWS, *public_macros()}
    assert all(name in query for name, query in EXAMPLES.items())


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.parent.name)
def test_examples_run(path: Path) -> None:
    database = load_evidence(str(path.parent)).database
    database.close_to_the_outside()
    for query in EXAMPLES.values():
        database.table(query)


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_an_example_needs_no_evidence(empty: Evidence, name: str) -> None:
    assert empty.database.table(EXAMPLES[name])[0]
