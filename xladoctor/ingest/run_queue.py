"""Reads how long a captured process's loop threads waited for a processor (``processor.jsonl``).

``recording/bootstrap/_xladoctor/run_queue.py`` writes a line for each thread and instant.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from xladoctor.facts.steps import ProcessorUse
from xladoctor.ingest.fact_decoder import decoded
from xladoctor.ingest.fact_rows import row
from xladoctor.ingest.interface import ProcessRows
from xladoctor.ingest.regular import lines_in
from xladoctor.ingest.run_records import DamagedRecord, line_decoder


def read_run_queue(path: Path, rows: ProcessRows) -> None:
    """Fill ``processor_use``; absent if the kernel has no such data. A cut-off line is skipped."""
    with lines_in(path, rows, "processor_use") as lines:
        if lines is None:
            return
        rows.table("processor_use")
        decode = line_decoder(decoded(ProcessorUse))
        for line in lines:
            with suppress(DamagedRecord):
                rows.add("processor_use", **row(decode(line), ProcessorUse))
