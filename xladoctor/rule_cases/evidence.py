"""Evidence made by hand, from rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from xladoctor.causes.derive import derive
from xladoctor.errors import XladoctorError
from xladoctor.evidence.interface import Evidence
from xladoctor.evidence.load import build
from xladoctor.evidence.row import Row
from xladoctor.ingest.interface import Ingested
from xladoctor.ingest.run_records import Manifest

Tables = Mapping[str, Sequence[Row]]


class CaseError(XladoctorError):
    """Evidence of a case that cannot be made; says what was expected."""


def ingested(tables: Tables) -> Ingested:
    """Tables as a reader returns them; columns that a row lacks are unknown."""
    result = Ingested()
    for name, given in tables.items():
        names = dict.fromkeys(column for row in given for column in row)
        columns = {column: [row.get(column) for row in given] for column in names}
        result.table(name).update(columns)
    return result


def evidence(tables: Tables, frontend: str | None = None, **manifest: Any) -> Evidence:
    """A database filled with ``tables``, as of a run directory with such a manifest."""
    origin = msgspec.convert({"command": [], **manifest}, Manifest)
    return build(ingested(tables), "a-run", origin, frontend)


def complete(tables: Tables, frontend: str | None = None, **manifest: Any) -> Evidence:
    """The same with the causes of its compilations, as rules see it."""
    return derive(evidence(tables, frontend, **manifest))
