"""Reads the samples of a captured process's loop threads (``host_samples.json``).

``recording/bootstrap/_xladoctor/sampler.py`` writes it: a count for each thread, activity and call
site.
"""

from __future__ import annotations

from pathlib import Path

from xladoctor.facts.activity import HostSample
from xladoctor.facts.records import HostSamplesFile
from xladoctor.ingest.call_sites import CallSites
from xladoctor.ingest.fact_decoder import decoded
from xladoctor.ingest.fact_rows import located_row
from xladoctor.ingest.interface import ProcessRows
from xladoctor.ingest.regular import defect, read_text
from xladoctor.ingest.run_records import DamagedRecord, read_record


def read_host_samples(path: Path, sites: CallSites, rows: ProcessRows) -> None:
    """Fill ``host_sample``. Without the file the table stays absent: nothing was sampled.

    ``tracing`` is set from the samples alone: whether they are inside the framework.
    """
    try:
        samples = read_record(read_text(path), decoded(HostSamplesFile)).samples
    except FileNotFoundError:
        return
    except (OSError, DamagedRecord, UnicodeError) as error:
        rows.lose(
            f"{path}: cannot be read ({defect(error)}); host samples are missing", "host_sample"
        )
        return
    rows.table("host_sample")
    for sample in samples:
        columns = located_row(sample, HostSample, sites)
        rows.add("host_sample", tracing=sample.in_framework, **columns)
