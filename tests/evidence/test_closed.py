"""A closed database, which reads the evidence and nothing else."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pytest

from tests.support import evidence
from xladoctor.evidence.database import Database

SOURCE = [{"file": "a.py", "line": 1, "text": "x = 1"}]


@pytest.fixture
def closed() -> Database:
    """A database with one row, closed as for a diagnosis."""
    database = evidence({"source_line": SOURCE}).database
    database.close_to_the_outside()
    return database


#: Queries that would reach out, by what they try.
OUTSIDE = {
    "read a file": "SELECT * FROM read_csv('{folder}/secret.csv')",
    "read a file by its name": "SELECT * FROM '{folder}/secret.csv'",
    "read a text": "SELECT * FROM read_text('{folder}/secret.csv')",
    "list files": "SELECT * FROM glob('{folder}/*')",
    "write a file": "COPY (SELECT 1) TO '{folder}/out.csv'",
    "read into a table": "COPY source_line FROM '{folder}/secret.csv'",
    "export": "EXPORT DATABASE '{folder}/all'",
    "attach": "ATTACH '{folder}/other.db'",
    "install": "INSTALL httpfs",
    "load": "LOAD httpfs",
    "read from the network": "SELECT * FROM read_csv('https://example.org/a.csv')",
    "open again": "SET enable_external_access = true",
    "reset": "RESET enable_external_access",
    "unlock": "SET lock_configuration = false",
    "allow a folder": "SET allowed_directories = ['{folder}']",
}


@pytest.mark.parametrize("attempt", OUTSIDE)
def test_closed_database_cannot_reach_out(closed: Database, attempt: str, tmp_path: Path) -> None:
    (tmp_path / "secret.csv").write_text("a\n1\n")
    query = OUTSIDE[attempt].format(folder=tmp_path)

    with pytest.raises(duckdb.Error):
        closed.rows(query)

    assert [path.name for path in tmp_path.iterdir()] == ["secret.csv"]


def test_open_database_could_reach_out(tmp_path: Path) -> None:
    (tmp_path / "secret.csv").write_text("a\n1\n")
    query = OUTSIDE["read a file"].format(folder=tmp_path)
    assert evidence({}).database.rows(query) == [{"a": 1}]


def test_closed_database_still_answers(closed: Database) -> None:
    assert closed.scalar("SELECT text FROM source_line") == "x = 1"


def test_variables_of_the_process_cannot_be_read(
    closed: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XLADOCTOR_TEST_SECRET", "s3cret")
    with pytest.raises(duckdb.Error):
        closed.rows("SELECT getenv('XLADOCTOR_TEST_SECRET')")


def test_variables_of_python_cannot_be_read(closed: Database) -> None:
    secrets = {"a": np.asarray([1])}  # noqa: F841 - DuckDB would find it by its name
    with pytest.raises(duckdb.Error):
        closed.rows("SELECT * FROM secrets")


def test_closed_database_writes_the_one_file_that_it_may(tmp_path: Path) -> None:
    database = evidence({"source_line": SOURCE}).database
    database.close_to_the_outside(writable=tmp_path / "it's.csv")
    copy = "COPY source_line TO '{}' (USE_TMP_FILE FALSE)"
    database.rows(copy.format(str(tmp_path / "it''s.csv")))
    with pytest.raises(duckdb.PermissionException):
        database.rows(copy.format(tmp_path / "other.csv"))
    assert (tmp_path / "it's.csv").read_text() == "file,line,text\na.py,1,x = 1\n"
