"""Calls of the framework in a step, by call site: lists in the lines of the step log."""

from typing import Annotated

from xladoctor.recording.bootstrap._xladoctor.facts import (
    Duration,
    Fact,
    Flag,
    NetDuration,
    Number,
    Site,
    Size,
    ThreadId,
    derived,
)


class HostSync(
    Fact,
    listed=True,
    source="steps.jsonl, else the timeline",
    files=("steps.jsonl",),
    example="SELECT kind, file, line, sum(count) AS reads FROM host_sync GROUP BY kind, file, line",
):
    """Reads of device values by the host, by step and call site."""

    thread: ThreadId = derived()
    step: Annotated[Number, "barrier index that they happened before"] = derived()
    tail: Annotated[bool, "after the last barrier"] = derived()
    kind: Annotated[
        str, "item, bool, index, repr, numpy, cpu, wait, …; fetch: a timeline alone tells"
    ]
    closure: Annotated[Flag, "in a step closure, which runs after the barrier"]
    count: Annotated[Size, "how many"]
    duration_ns: Annotated[NetDuration, "time that the host was blocked, compilation not counted"]
    compile_ns: Annotated[Duration, "compilation that they caused"]
    site: Site


class DataWait(
    Fact,
    listed=True,
    source="steps.jsonl",
    kept=True,
    example="SELECT sum(duration_ns) / sum(count) AS ns_a_batch FROM data_wait",
):
    """Waiting for the next batch."""

    thread: ThreadId = derived()
    step: Annotated[Number, "barrier index"] = derived()
    count: Annotated[Size, "batches"]
    duration_ns: Annotated[Duration, "time waited"]


class Upload(
    Fact,
    listed=True,
    source="steps.jsonl",
    example="SELECT file, line, sum(bytes) / count(*) AS bytes_a_step FROM upload GROUP BY file, "
    "line",
):
    """Tensors sent to the device, by step and call site."""

    thread: ThreadId = derived()
    step: Annotated[Number, "barrier index that they were sent before"] = derived()
    tail: Annotated[bool, "after the last barrier"] = derived()
    count: Annotated[Size, "tensors"]
    bytes: Annotated[Size, "their size"]
    duration_ns: Annotated[Duration, "time that the host took"]
    site: Site


class StateSave(
    Fact, listed=True, source="steps.jsonl", example="SELECT step, duration_ns FROM state_save"
):
    """Checkpoints saved, by step and call site."""

    thread: ThreadId = derived()
    step: Annotated[Number, "barrier index that they were saved before"] = derived()
    tail: Annotated[bool, "after the last barrier"] = derived()
    count: Annotated[Size, "how many"]
    duration_ns: Annotated[Duration, "time taken, compilation not counted"]
    site: Site
