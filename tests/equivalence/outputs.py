"""What comes of an input: its tables, what is diagnosed, and each format."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path

from xladoctor.diagnosis.engine import diagnose
from xladoctor.diagnosis.pack import load_rules
from xladoctor.diagnosis.rule import Rule
from xladoctor.doctor import load_evidence
from xladoctor.errors import XladoctorError
from xladoctor.evidence.catalog import public_views
from xladoctor.evidence.interface import Evidence
from xladoctor.evidence.schema import TABLES
from xladoctor.report.interface import Report, Style
from xladoctor.report.output import Format

Outputs = dict[str, str]


def outputs_of(run: Path, texts: Path | None = None) -> Outputs:
    """A hash for each table, view and format; what went wrong where there are none.

    Args:
        texts: a folder for the tables and texts themselves.
    """
    hashes = {}
    for name, text in _outputs(run):
        hashes[name] = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        if texts is not None:
            texts.mkdir(parents=True, exist_ok=True)
            (texts / name.replace(" ", "-")).write_text(text, "utf-8", "surrogatepass")
    return hashes


def _outputs(run: Path) -> Iterator[tuple[str, str]]:
    try:
        evidence = load_evidence(str(run))
    except XladoctorError as error:
        yield "error", str(error)
        return
    diagnosis = diagnose(evidence, _rules())
    for name in sorted([*TABLES, *public_views()]):
        yield f"table {name}", _rows(evidence, name)
    for name in Format:
        output = io.StringIO()
        renderer = import_module(f"xladoctor.report.{name.value.replace('-', '_')}")
        renderer.render([Report(diagnosis)], output, Style(80))
        yield f"format {name.value}", output.getvalue()


def _rows(evidence: Evidence, name: str) -> str:
    """A table's rows in an order of their own: that of a reader is no promise."""
    names, rows = evidence.database.table(f'SELECT * FROM "{name}" ORDER BY ALL')
    return "\n".join([", ".join(names), *map(repr, rows)])


@cache
def _rules() -> list[Rule]:
    return load_rules()
