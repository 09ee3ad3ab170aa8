"""How long the loop's threads waited for a processor (``processor.jsonl``) of a captured process.

Written by ``recording/bootstrap/_xladoctor/run_queue.py``, a line for each thread and instant.
"""

from __future__ import annotations

import json
from pathlib import Path

from xladoctor.ingest.interface import Ingested
from xladoctor.regular_files import lines_of, open_text

_COLUMNS = ("thread", "at_ns", "run_ns", "wait_ns")


def read_run_queue(path: Path, process: int, ingested: Ingested) -> None:
    """Fill ``processor_use``; absent where the kernel told nothing. A line cut off is left out."""
    try:
        file = open_text(path)
    except FileNotFoundError:
        return
    except OSError as error:
        ingested.notes.append(f"{path}: cannot be read ({error.strerror})")
        return
    ingested.table("processor_use")
    with file:
        for line in lines_of(file):
            _add(line, process, ingested)


def _add(line: str, process: int, ingested: Ingested) -> None:
    try:
        row = [int(value) for value in json.loads(line)]
        values = dict(zip(_COLUMNS, row, strict=True))
    except (ValueError, TypeError, OverflowError, RecursionError):
        return
    ingested.add("processor_use", process=process, **values)
