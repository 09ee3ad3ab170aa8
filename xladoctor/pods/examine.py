"""Diagnoses the hosts of a job: each by itself, then together."""

from __future__ import annotations

from dataclasses import replace

from xladoctor import timings
from xladoctor.diagnosis import engine
from xladoctor.diagnosis.examination import Examination
from xladoctor.diagnosis.selection import Selection
from xladoctor.ingest.interface import Progress
from xladoctor.pods.joined import join_pod
from xladoctor.pods.members import Pod
from xladoctor.pods.where import Where


def examine_pod(
    pod: Pod,
    selection: Selection,
    total_steps: int | None,
    where: Where | None,
    progress: Progress | None,
) -> Examination:
    """Judge what is kept of each host, and add what was found on each; arguments and errors as of
    :func:`xladoctor.doctor.examine`.
    """
    joined = join_pod(pod, selection, where, progress)
    diagnosis = engine.diagnose(
        joined.evidence, selection, total_steps, strict=False, hosts=joined.hosts
    )
    timings.done("judging")
    compared = diagnosis.pod and replace(
        diagnosis.pod,
        processes=[
            replace(process, path=joined.sources[int(process.process)])
            for process in diagnosis.pod.processes
        ],
    )
    warnings = [*diagnosis.warnings, *selection.notes]
    examined = replace(diagnosis, pod=compared, warnings=warnings)
    return Examination(examined, lambda: joined.noted)
