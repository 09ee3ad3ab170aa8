"""Reads how long a captured process's loop threads waited for a processor (``processor.jsonl``).

``recording/bootstrap/_xladoctor/run_queue.py`` writes a line for each thread and instant.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from xladoctor.facts.run import ProcessorUse
from xladoctor.ingest.fact_decoder import decoded
from xladoctor.ingest.fact_rows import row
from xladoctor.ingest.interface import ProcessRows
from xladoctor.ingest.regular import open_text
from xladoctor.ingest.run_records import DamagedRecord, line_decoder
from xladoctor.regular_files import lines_of


def read_run_queue(path: Path, rows: ProcessRows) -> None:
    """Fill ``processor_use``; absent if the kernel has no such data. A cut-off line is skipped."""
    try:
        file = open_text(path)
    except FileNotFoundError:
        return
    except OSError as error:
        rows.lose(f"{path}: cannot be read ({error.strerror})", "processor_use")
        return
    rows.table("processor_use")
    decode = line_decoder(decoded(ProcessorUse))
    with file:
        for line in lines_of(file):
            with suppress(DamagedRecord):
                rows.add("processor_use", **row(decode(line), ProcessorUse))
