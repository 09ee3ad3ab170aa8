"""``xladoctor query``: SQL over the evidence of a run."""

from __future__ import annotations

import io
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO, cast

import typer

from xladoctor.cli.groups import argument, flag, grouped, option
from xladoctor.cli.output import (
    ColorOption,
    EvidenceArgument,
    SessionOption,
    load_evidence,
    temporary_folder,
)
from xladoctor.errors import XladoctorError
from xladoctor.foreign import csv_lines, harmless, json_text
from xladoctor.report.output import Color, emit, say, show, style_for
from xladoctor.storage.address import is_url, local_path, parse_address
from xladoctor.whole_files import replacing

if TYPE_CHECKING:
    from xladoctor.evidence.interface import Evidence
    from xladoctor.evidence.query import Query


class Rows(StrEnum):
    """Formats of rows."""

    table = "table"
    csv = "csv"
    json = "json"
    parquet = "parquet"


@dataclass(frozen=True)
class AnswerOptions:
    """How the rows of an answer are written, and where to."""

    rows: Rows = option("Row format.", "--format", default=Rows.table)
    output: str | None = option(
        "Write the rows to this file, or URL.", "--output", "-o", metavar="PATH"
    )
    limit: int = option("How many rows a table shows; 0 for all.", default=40, min=0, metavar="N")

    def refuse_terminal(self) -> None:
        """Refuse what cannot be shown on a terminal. Raises XladoctorError."""
        if self.rows is Rows.parquet and self.output is None and sys.stdout.isatty():
            raise XladoctorError(
                "parquet cannot be shown on a terminal", "write it to a file with --output"
            )


@grouped
def query(
    *,
    path: Annotated[str | None, EvidenceArgument] = None,
    words: list[str] | None = argument(
        "One SELECT statement in DuckDB's SQL. - reads it from standard input.",
        default=None,
        metavar="QUERY",
    ),
    schema: bool = flag(
        "Describe tables, views and macros: those named in place of QUERY, or all of them."
        " With a PATH, mark those that are not in it."
    ),
    answer: AnswerOptions,
    session: SessionOption = None,
    timeout: float = option(
        "End the query after this; 0 for never.", default=300, min=0, metavar="SECONDS"
    ),
    color: ColorOption = Color.auto,
) -> None:
    """Query the evidence of a run with SQL.

    xladoctor query RUN "SELECT name, sum(duration_ns) FROM event GROUP BY name"

    Queries see the tables and views that rules see, and nothing else. Durations are in nanoseconds
    in every format. Exit status: 0 answered, 2 the input cannot be read or the query fails.
    """
    if schema:
        _describe([*([path] if path else []), *(words or [])], session, color)
        return
    if path is None or not words:
        raise typer.BadParameter("give a run and a query, or --schema", param_hint="PATH QUERY")
    answer.refuse_terminal()
    text = _text(path, words)
    evidence = load_evidence(path, session)
    for note in evidence.notes:
        say(f"note: {note}")
    if answer.rows is Rows.table:
        _show(_closed(evidence, text, timeout), answer.output, answer.limit, color)
    else:
        _write(evidence, text, timeout, answer.rows, answer.output)
    for note in evidence.later_notes():
        say(f"note: {note}")


def _text(path: str, words: list[str]) -> str:
    if len(words) > 1:
        raise typer.BadParameter("quote the query", param_hint="QUERY")
    if words[0] != "-":
        return words[0]
    if path == "-":
        raise typer.BadParameter("only one of the two can be -", param_hint="PATH QUERY")
    return sys.stdin.read()


def _show(checked: Query, output: str | None, limit: int, color: Color) -> None:
    from xladoctor.report import table
    from xladoctor.report.interface import Style

    answer = checked.answer(limit)
    style, shown = style_for(sys.stdout, color), io.StringIO()
    style = style if output is None else Style(style.width)
    table.render(answer.columns, answer.rows, shown, style)
    if output is None:
        emit(shown.getvalue(), colored=style.color)
    else:
        with _target(output) as target:
            target.write(harmless(shown.getvalue()).encode())
    if answer.count > len(answer.rows):
        shown_of = f"{answer.count:,} rows; {len(answer.rows):,} shown"
        emit(f"… {shown_of} (--limit 0 for all)\n", sys.stderr)


def _write(evidence: Evidence, text: str, timeout: float, rows: Rows, output: str | None) -> None:
    """Through a file of our own: the only one that the closed database may write."""
    with temporary_folder() as folder:
        file = Path(folder) / f"rows.{rows}"
        _closed(evidence, text, timeout, file).write(file, rows)
        with file.open("rb") as source, _target(output) as target:
            if rows is Rows.parquet:
                shutil.copyfileobj(source, target)
            else:
                lines = io.TextIOWrapper(source, "utf-8", newline="\n")
                fit = csv_lines(lines) if rows is Rows.csv else map(json_text, lines)
                target.writelines(line.encode() for line in fit)


def _closed(evidence: Evidence, text: str, timeout: float, writable: Path | None = None) -> Query:
    """The query, checked, which from now on sees nothing but the evidence."""
    from xladoctor.evidence.query import Query
    from xladoctor.evidence.schema import TABLES

    evidence.database.close_to_the_outside(writable)
    checked = Query(text, evidence.database, timeout)
    for table in checked.absent(evidence.available):
        source = TABLES[table].source
        say(f"note: this run has nothing for table {table} ({source})")
    return checked


@contextmanager
def _target(output: str | None) -> Iterator[BinaryIO]:
    """The file, or standard output; a reader that has gone is not an error."""
    path = None if output is None else local_path(output) or output
    try:
        if path is None:
            yield sys.stdout.buffer
            sys.stdout.buffer.flush()
        elif is_url(path):
            from xladoctor.storage.store import Store

            with (
                closing(Store(parse_address(path))) as store,
                tempfile.NamedTemporaryFile() as rows,
            ):
                yield cast(BinaryIO, rows)
                rows.flush()
                store.put("", Path(rows.name))
        else:
            with replacing(Path(path)) as file:
                yield file
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        where = output or "standard output"
        raise XladoctorError(f"cannot write {where}: {error.strerror}") from error


def _describe(words: list[str], session: str | None, color: Color) -> None:
    """The named tables, views and macros, or all; the first word may be a run."""
    from xladoctor.evidence.catalog import macro_heads, views
    from xladoctor.evidence.runs import is_there
    from xladoctor.evidence.schema import TABLES
    from xladoctor.report import schema

    known, available = {*TABLES, *views(), *macro_heads()}, None
    if words and words[0] not in known and (words[0] == "-" or is_there(words[0])):
        available = load_evidence(words.pop(0), session).available
    for word in words:
        if word not in known:
            alike = get_close_matches(word, known) or sorted(known)
            raise XladoctorError(
                f"{word}: no such table, view or macro", f"there is: {', '.join(alike)}"
            )
    show(partial(schema.render, words, available), color)
