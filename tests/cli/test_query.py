"""``xladoctor query`` from outside: formats, streams, statuses, the schema."""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import duckdb
import pexpect
import pytest

from tests.cli.command import ENVIRONMENT, HEAVY, READS, REPORT, ROOT
from tests.cli.forked import called
from xladoctor.evidence.schema import EVIDENCE_VERSION, TABLES

SAMPLE = "sample_traces/recompiling"
COUNTERS = "SELECT name, value FROM counter WHERE value > 3 ORDER BY name"
CHANGES = "SELECT index, was, now, line FROM recompilation"


def lines(*arguments: str | Path, given: str = "") -> list[str]:
    done = called("query", *arguments, given=given)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


# Rows


def test_table_of_a_run_with_what_is_derived() -> None:
    head, rule, *rows = lines(SAMPLE, CHANGES)
    assert head.split() == ["index", "was", "now", "line"]
    assert set(rule) == set("─ ")
    assert rows[0].split() == ["1", "s64[16,77]", "s64[16,45]", "38"]
    assert len(rows) == 11


def test_table_shows_the_first_rows_and_says_so() -> None:
    done = called("query", SAMPLE, "FROM range(1234)")
    assert len(done.stdout.splitlines()) == 42
    assert done.stderr == "… 1,234 rows; 40 shown (--limit 0 for all)\n"
    done = called("query", SAMPLE, "FROM range(1234)", "--limit", "2")
    assert done.stdout.splitlines()[2:] == ["    0", "    1"]
    assert len(lines(SAMPLE, "FROM range(1234)", "--limit", "0")) == 1236


def test_no_rows_are_no_error() -> None:
    assert lines(SAMPLE, f"{COUNTERS.replace('3', '1e9')}") == [
        "name  value",
        "────  ─────",
        "no rows",
    ]


def test_csv_and_json_are_the_same_rows() -> None:
    table = list(csv.DictReader(lines(SAMPLE, COUNTERS, "--format", "csv")))
    objects = json.loads("\n".join(lines(SAMPLE, COUNTERS, "--format", "json", "--limit", "1")))
    assert len(objects) > 3
    assert [{**row, "value": int(row["value"])} for row in table] == objects


def test_parquet_on_standard_output_and_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "rows.parquet"
    assert lines(SAMPLE, COUNTERS, "--format", "parquet", "-o", file) == []
    done = subprocess.run(
        [sys.executable, "-m", "xladoctor", "query", SAMPLE, COUNTERS, "--format", "parquet"],
        capture_output=True,
        check=True,
        cwd=ROOT,
        env=ENVIRONMENT,
    )
    (tmp_path / "piped.parquet").write_bytes(done.stdout)
    with duckdb.connect() as fresh:
        read = "SELECT name, value FROM read_parquet('{}')"
        rows = fresh.execute(read.format(file)).fetchall()
        assert fresh.execute(read.format(tmp_path / "piped.parquet")).fetchall() == rows
    table = csv.reader(lines(SAMPLE, COUNTERS, "--format", "csv")[1:])
    assert [(name, int(value)) for name, value in table] == rows


def test_table_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "rows.txt"
    assert lines(SAMPLE, COUNTERS, "-o", file, "--color", "always") == []
    assert file.read_text(encoding="utf-8").splitlines() == lines(SAMPLE, COUNTERS)


def test_query_comes_from_standard_input() -> None:
    assert lines(SAMPLE, "-", given=f"{COUNTERS};\n") == lines(SAMPLE, COUNTERS)


def test_evidence_comes_from_standard_input() -> None:
    shown = lines("-", "SELECT value FROM counter", given=READS)
    assert shown == ["value", "─────", "   40"]


def test_encoding_without_unicode_gets_plain_characters() -> None:
    done = called(
        "query",
        SAMPLE,
        "SELECT 'é' AS a",
        environment={"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"},
    )
    assert (done.returncode, done.stdout) == (0, "a\n----\n\\xe9\n")


@pytest.mark.parametrize("form", ["table", "csv", "json", "parquet"])
def test_reader_that_goes_away_is_no_fault(form: str) -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    query = ["query", SAMPLE, "FROM range(100000)", "--limit", "0", "--format", form]
    with os.fdopen(write_end) as output:
        done = subprocess.run(
            [sys.executable, "-m", "xladoctor", *query],
            check=False,
            text=True,
            stdout=output,
            stderr=subprocess.PIPE,
            cwd=ROOT,
            env=ENVIRONMENT,
        )
    assert (done.returncode, done.stderr) == (0, "")


def test_tables_that_the_evidence_lacks_are_noted() -> None:
    done = called("query", "-", "SELECT count(*) AS n FROM loop", given=READS)
    assert done.returncode == 0
    assert done.stdout.splitlines()[2] == "0"
    assert done.stderr.splitlines() == [
        f"xladoctor: note: this run has nothing for table {table}"
        for table in ("step (steps.jsonl, else the timeline)", "step_period (steps.jsonl)")
    ]


def test_what_was_cut_off_is_noted() -> None:
    done = called("query", "-", "SELECT count(*) AS n FROM metric", given=REPORT)
    assert (done.returncode, done.stdout.splitlines()[2]) == (0, "1")
    assert done.stderr.startswith("xladoctor: note: standard input: line 3: cut off inside metric")


# Errors


@pytest.mark.parametrize("form", ["table", "csv", "json", "parquet"])
def test_bad_query_is_status_2_and_one_message(form: str) -> None:
    done = called("query", SAMPLE, "SELECT lne\nFROM counters", "--format", form)
    assert (done.returncode, done.stdout) == (2, "")
    first, *hint = done.stderr.splitlines()
    assert first.startswith("xladoctor: the query failed: ")
    assert "  line 2: FROM counters" in hint
    assert any(line.startswith("  there is: counter") for line in hint)
    assert "`xladoctor query --schema`" in hint[-1]
    assert all(line.startswith("  ") for line in hint)


def test_file_that_cannot_be_written_is_status_2(tmp_path: Path) -> None:
    for form in ("table", "csv"):
        done = called("query", SAMPLE, "SELECT 1", "--format", form, "-o", tmp_path / "no" / "file")
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith(f"xladoctor: cannot write {tmp_path}/no/file: No such file")


def test_failing_query_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_text("mine")
    done = called("query", SAMPLE, "SELECT error('boom')", "--format", "csv", "-o", file)
    assert done.returncode == 2
    assert file.read_text() == "mine"


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        [SAMPLE],
        ["-", "-"],
        [SAMPLE, "SELECT", "1"],
        [SAMPLE, "SELECT 1", "--limit", "-1"],
        [SAMPLE, "SELECT 1", "--format", "xml"],
    ],
    ids=" ".join,
)
def test_wrong_usage_is_status_2(arguments: list[str]) -> None:
    done = called("query", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert "Usage: xladoctor query " in done.stderr


def test_files_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "secret.csv").write_text("a\n1\n")
    for form in ("table", "json"):
        query = f"SELECT * FROM read_csv('{tmp_path}/secret.csv')"
        done = called("query", SAMPLE, query, "--format", form)
        assert (done.returncode, done.stdout) == (2, "")
        assert "Permission Error" in done.stderr


def test_terminal_gets_colours_and_no_parquet() -> None:
    def shown(*options: str) -> str:
        arguments = ["-m", "xladoctor", "query", SAMPLE, "SELECT NULL AS a", *options]
        with pexpect.spawn(
            sys.executable,
            arguments,
            cwd=str(ROOT),
            encoding="utf-8",
            env={**ENVIRONMENT, "TERM": "xterm"},
        ) as terminal:
            terminal.expect(pexpect.EOF)
            return str(terminal.before)

    assert shown() == "\x1b[1ma\x1b[0m\r\n────\r\n\x1b[2mNULL\x1b[0m\r\n"
    refused = shown("--format", "parquet")
    assert refused.startswith("xladoctor: parquet cannot be shown on a terminal\r\n")


# Schema


def test_schema_needs_no_run_and_loads_nothing_heavy() -> None:
    program = (
        "import sys\nfrom xladoctor.cli.main import app\n"
        "sys.argv = ['xladoctor', 'query', '--schema']\n"
        "try:\n    app()\nexcept SystemExit as end:\n    assert not end.code, end.code\n"
        f"print('loaded:', sorted({HEAVY - {'pydantic'}!r} & set(sys.modules)), file=sys.stderr)\n"
    )
    # pydantic is typer's own, for parameters
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=ENVIRONMENT
    )
    assert done.stderr == "loaded: []\n"
    assert set(TABLES) < {line.split()[0] for line in done.stdout.splitlines() if line.strip()}


def test_schema_of_some_tables() -> None:
    heads = [line for line in lines("--schema", "counter", "loop") if line[:1].strip()]
    assert heads == ["counter", "loop  (view)  (stable)"]


def test_schema_has_the_columns_of_views_the_calls_of_macros_and_examples() -> None:
    shown = lines("--schema", "loop", "claim")
    assert "  without_barrier  BOOLEAN  whether it has no barrier; it then counts as one" in shown
    assert any(line.startswith("  e.g. SELECT process, thread, steps,") for line in shown)
    assert any(line.startswith("claim(do, what, file_ := NULL,") for line in shown)


def test_schema_says_its_version_and_leaves_out_what_is_internal() -> None:
    shown = lines("--schema")
    assert shown[0].startswith(f"  Version {EVIDENCE_VERSION}. Instants are nanoseconds")
    assert "steady_step  (view)  (stable)" in shown
    assert "loop_row  (view)" not in shown
    assert lines("--schema", "loop_row")[1].startswith("  Internal: rows of table step")


def test_schema_of_a_run_marks_what_it_lacks(tmp_path: Path) -> None:
    (tmp_path / "report.txt").write_text(READS)
    shown = lines(tmp_path / "report.txt", "counter", "step", "--schema")
    heads = [line for line in shown if line[:1].strip()]
    assert heads == ["counter", "step  (stable)  (not in this run)"]
    assert "recompilation" in lines(SAMPLE, "--schema", "recompilation")


@pytest.mark.parametrize("arguments", [["countr"], [SAMPLE, "countr"], ["counter", "countr"]])
def test_schema_of_a_table_that_does_not_exist_is_status_2(arguments: list[str]) -> None:
    done = called("query", "--schema", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(
        "xladoctor: countr: no such table, view or macro\n  there is: counter"
    )


# Output that cannot be written


@pytest.mark.parametrize(
    "arguments",
    [
        ["query", SAMPLE, COUNTERS],
        ["query", SAMPLE, COUNTERS, "--format", "csv"],
        ["query", SAMPLE, COUNTERS, "--format", "parquet"],
        ["--help"],
        ["--version"],
    ],
    ids=lambda arguments: arguments[-1],
)
def test_full_disk_behind_standard_output_is_named(arguments: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "xladoctor", *arguments],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            cwd=ROOT,
            env=ENVIRONMENT,
            timeout=120,
        )
    assert done.returncode == 2
    told = r"xladoctor: cannot write (standard )?output: No space left on device\n"
    assert re.fullmatch(told, done.stderr)


def test_temporary_files_that_cannot_be_written_are_named() -> None:
    program = (
        "import tempfile\ntempfile._candidate_tempdir_list = lambda: ['/proc/none']\n"
        "from xladoctor.cli.main import main\nmain()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, "query", SAMPLE, COUNTERS, "--format", "csv"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env=ENVIRONMENT,
        timeout=120,
    )
    assert done.returncode == 2
    assert done.stderr.startswith("xladoctor: cannot write temporary files: No usable")
    assert "TMPDIR" in done.stderr
