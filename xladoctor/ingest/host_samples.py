"""Reads the samples of a captured process's loop threads (``host_samples.json``).

``recording/bootstrap/_xladoctor/sampler.py`` writes it: a count for each thread, activity and call
site.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from xladoctor.ingest.interface import Ingested
from xladoctor.ingest.regular import defect, read_text
from xladoctor.ingest.run_records import DamagedRecord, HostSamplesFile, Sample, read_record
from xladoctor.ingest.step_log import CallSites


def read_host_samples(path: Path, sites: CallSites, process: int, ingested: Ingested) -> None:
    """Fill ``host_sample``. Without the file the table stays absent: nothing was sampled.

    ``tracing`` is set from the samples alone: whether they are inside the framework.
    """
    try:
        samples = read_record(read_text(path), HostSamplesFile).samples
    except FileNotFoundError:
        return
    except (OSError, DamagedRecord, UnicodeError) as error:
        ingested.lose(
            f"{path}: cannot be read ({defect(error)}); host samples are missing", "host_sample"
        )
        return
    ingested.table("host_sample")
    for sample in samples:
        ingested.add("host_sample", **_row(sample, sites, process))


def _row(sample: Sample, sites: CallSites, process: int) -> dict[str, Any]:
    return {
        "process": process,
        "phase": sample.phase,
        "thread": sample.thread,
        "main": sample.main,
        "doing": sample.doing,
        "in_framework": sample.in_framework,
        "tracing": sample.in_framework,
        "generator": sample.generator,
        "count": sample.count,
        **sites[sample.site].columns(),
    }
