"""How long the loop's threads waited for a processor (``processor.jsonl``) of a captured process.

Written by ``recording/bootstrap/_xladoctor/run_queue.py``, a line for each thread and instant.
"""

from __future__ import annotations

import json
from pathlib import Path

from xladoctor.ingest.interface import Ingested
from xladoctor.ingest.regular import read_text

_COLUMNS = ("thread", "at_ns", "run_ns", "wait_ns")


def read_run_queue(path: Path, process: int, ingested: Ingested) -> None:
    """Fill ``processor_use``; absent where the kernel told nothing. A line cut off is left out."""
    try:
        lines = read_text(path, errors="replace").splitlines()
    except FileNotFoundError:
        return
    except OSError as error:
        ingested.notes.append(f"{path}: cannot be read ({error.strerror})")
        return
    ingested.table("processor_use")
    for line in lines:
        try:
            row = [int(value) for value in json.loads(line)]
            values = dict(zip(_COLUMNS, row, strict=True))
        except (ValueError, TypeError):
            continue
        ingested.add("processor_use", process=process, **values)
