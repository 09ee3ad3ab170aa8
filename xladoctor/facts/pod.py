"""Processes of a pod, compared with each other; see ``xladoctor/pods``."""

from typing import Annotated

from xladoctor.facts.files import TIMELINE_FILES
from xladoctor.recording.bootstrap._xladoctor.facts import Fact, Number, Size


class PodProcess(
    Fact,
    source="derived",
    files=TIMELINE_FILES,
    example="SELECT name, offset_ns / 1e6 AS ms, error_ns / 1e6 AS ms_unsure FROM pod_process",
):
    """A process of a job of several, whose steps can be compared with those of the others."""

    name: Annotated[
        str, "its name: its host, with its rank if a host has several; on one host, its rank"
    ]
    host: Annotated[str, "name of the machine"]
    rank: Annotated[Number | None, "rank in the job, where it is known"] = None
    slice: Annotated[Number | None, "slice that its devices are in, where it is known"] = None
    steps: Annotated[Size, "steady steps of its timeline"] = 0
    shift: Annotated[int, "what to add to its step numbers to get the pod's"] = 0
    offset_ns: Annotated[int, "how far its clock is ahead of the pod's, at its first step"] = 0
    error_ns: Annotated[
        int | None, "the possible error of that (the spread of its sources); NULL: unknown"
    ] = None
    drift: Annotated[
        float | None, "seconds by which its clock moves ahead in a second; NULL: unknown"
    ] = None
    aligned_by: Annotated[
        str,
        "how its clock was compared: by collectives, which end on all devices at about the same"
        " time; or by profile: the time that it recorded when its profile began",
    ] = "profile"
