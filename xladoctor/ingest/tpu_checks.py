"""Reads what a TPU's compiler decided about graphs: ``tpu-check.json``, in runs and elsewhere."""

from __future__ import annotations

from pathlib import Path

from xladoctor.facts.records import TpuCheckFile
from xladoctor.facts.table import table_name
from xladoctor.facts.tpu import TpuBuffer, TpuGraph, TpuOperation, TpuPeakBuffer, TpuProduct
from xladoctor.ingest.compressed import head_of
from xladoctor.ingest.fact_rows import row
from xladoctor.ingest.interface import Ingested, IngestError
from xladoctor.ingest.regular import defect, read_text
from xladoctor.ingest.run_records import FILES, DamagedRecord, read_record

_NAME = "tpu-check.json"
_BEGINS = b'{"tpu_check": '


def is_tpu_check(file: Path) -> bool:
    """Whether a file is what ``xladoctor tpu-check --keep`` wrote."""
    try:
        return file.is_file() and head_of(file).startswith(_BEGINS)
    except (OSError, EOFError):
        return False


def read_tpu_check(file: Path, ingested: Ingested) -> str | None:
    """Add such a file to the tables; returns the frontend that its graphs were made with.

    Raises:
        IngestError: it is damaged.
    """
    try:
        check: TpuCheckFile = read_record(read_text(file), FILES[_NAME])
    except (OSError, UnicodeError, DamagedRecord) as error:
        raise IngestError(
            f"{file}: not what `xladoctor tpu-check --keep` writes: {defect(error)}",
            "make it again",
        ) from error
    add_tpu_check(check, ingested)
    return check.frontend or None


def add_tpu_check(check: TpuCheckFile, ingested: Ingested) -> None:
    """Add a check to the tables, which from then on count as recorded."""
    for kind, facts in (
        (TpuGraph, check.graphs),
        (TpuOperation, check.operations),
        (TpuProduct, check.products),
        (TpuBuffer, check.buffers),
        (TpuPeakBuffer, check.peak),
    ):
        ingested.table(table_name(kind))
        for fact in facts:
            ingested.add(table_name(kind), **row(fact, kind))
