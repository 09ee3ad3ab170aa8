"""Samples of the loop's threads (``host_samples.json``) of a captured process.

Written by ``recording/bootstrap/_xladoctor/sampler.py``: a count for each thread, what it was
doing, and call site.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from xladoctor.ingest.interface import Ingested
from xladoctor.ingest.step_log import CallSites
from xladoctor.regular_files import LISTING, read_json


def read_host_samples(path: Path, sites: CallSites, process: int, ingested: Ingested) -> None:
    """Fill ``host_sample``. Without the file the table stays absent: nothing was looked for.

    ``tracing`` is what is known from the samples alone: whether they lie inside the framework,
    which earlier captures called ``torch``; they have samples of the loop alone.
    """
    try:
        samples = read_json(path, LISTING)["samples"]
        rows = [_row(sample, sites, process) for sample in samples]
    except FileNotFoundError:
        return
    except (OSError, ValueError, KeyError, TypeError) as error:
        ingested.notes.append(f"{path}: cannot be read ({error}); host samples are missing")
        return
    ingested.table("host_sample")
    for row in rows:
        ingested.add("host_sample", **row)


def _row(sample: dict[str, Any], sites: CallSites, process: int) -> dict[str, Any]:
    in_framework = sample["torch"] if "torch" in sample else sample["in_framework"]
    return {
        "process": process, "phase": sample.get("phase", "loop"), "thread": sample["thread"],
        "main": sample["main"], "doing": sample["doing"], "in_framework": in_framework,
        "tracing": in_framework, "count": sample["count"], **sites[sample["site"]].columns(),
    }  # fmt: skip
