"""What queries of others rely on: tables, public views and macros, described and unchanged."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support import complete
from xladoctor.doctor import load_evidence
from xladoctor.evidence.catalog import macro_heads, macros, public_macros, public_views, views
from xladoctor.evidence.database import Database
from xladoctor.evidence.interface import Evidence
from xladoctor.evidence.reference import examples, view_columns
from xladoctor.evidence.schema import CHANGES, EVIDENCE_VERSION, STABLE, TABLES

GOLDEN = Path(__file__).with_name("contract.txt")
SAMPLES = sorted((Path(__file__).parents[2] / "sample_traces").glob("*/run.json"))
CHANGED = (
    "tables, views or macros have changed. If that is meant, write tests/evidence/contract.txt anew"
    " with XLADOCTOR_UPDATE_SNAPSHOTS=1, and run `make docs`. Where what goes or changes is stable,"
    " also add a version to CHANGES in xladoctor/evidence/schema.py that says so."
)


@pytest.fixture(scope="module")
def empty() -> Evidence:
    return complete({})


def types(database: Database, name: str) -> dict[str, str]:
    rows = database.rows(f'DESCRIBE "{name}"')
    return {row["column_name"]: row["column_type"] for row in rows}


def contract(database: Database) -> list[str]:
    """One line for each thing that can be relied on."""
    stable = [name for name in (*TABLES, *public_views()) if name in STABLE]
    others = [name for name in (*TABLES, *public_views()) if name not in STABLE]
    columns = {
        name: [f"{name}.{column} {kind}" for column, kind in types(database, name).items()]
        for name in (*stable, *others)
    }
    return [
        f"version {EVIDENCE_VERSION}",
        *(line for name in stable for line in columns[name]),
        *(macro.call for macro in public_macros().values()),
        "unstable:",
        *(line for name in others for line in columns[name]),
    ]


def test_the_contract_is_kept(empty: Evidence) -> None:
    now = contract(empty.database)
    if os.environ.get("XLADOCTOR_UPDATE_SNAPSHOTS"):
        GOLDEN.write_text("\n".join(now) + "\n", encoding="utf-8")
    before = GOLDEN.read_text(encoding="utf-8").splitlines()
    differences = [f"- {line}" for line in before if line not in now]
    differences += [f"+ {line}" for line in now if line not in before]
    assert sorted(now) == sorted(before), "\n".join([CHANGED, *differences])


def test_each_version_says_what_changed() -> None:
    assert sorted(CHANGES) == list(range(1, EVIDENCE_VERSION + 1))
    assert all(len(text) > 10 for text in CHANGES.values())


def test_what_is_stable_is_there() -> None:
    assert {*TABLES, *public_views()} >= STABLE


@pytest.mark.parametrize("name", views())
def test_each_view_says_what_it_is(name: str) -> None:
    assert len(views()[name].text) > 25


@pytest.mark.parametrize("name", public_views())
def test_each_column_of_a_view_has_a_meaning(name: str) -> None:
    columns = view_columns()[name]
    unsaid = [column for column, described in columns.items() if len(described.text) <= 3]
    assert not unsaid, "say so above the view, or begin its comment with `Internal: `"
    assert public_views()[name].columns.keys() - {"others"} <= columns.keys()


def test_each_macro_is_described() -> None:
    assert set(macro_heads()) == {*macros(), "warmup"}
    assert all(len(macro.text) > 25 for macro in macro_heads().values())
    assert macro_heads()["claim"].call.startswith("claim(do, what, file_ := NULL, ")
    assert macro_heads()["recompiled"].gives_rows


def test_each_has_an_example_of_itself() -> None:
    assert set(examples()) == {*TABLES, *public_views(), *public_macros()}
    assert all(name in query for name, query in examples().items())


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.parent.name)
def test_examples_run(path: Path) -> None:
    database = load_evidence(str(path.parent)).database
    database.close_to_the_outside()
    for query in examples().values():
        database.table(query)


@pytest.mark.parametrize("name", sorted(examples()))
def test_an_example_needs_no_evidence(empty: Evidence, name: str) -> None:
    assert empty.database.table(examples()[name])[0]
