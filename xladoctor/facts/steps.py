"""Steps of the program, the loops around them, and what is judged of them."""

from typing import Annotated

from xladoctor.facts.calls import DataWait, HostSync, StateSave, Upload
from xladoctor.recording.bootstrap._xladoctor.facts import (
    ONLY_RECORDED,
    Count,
    Duration,
    Fact,
    Instant,
    Kind,
    Number,
    Recorded,
    Site,
    Size,
    ThreadId,
    derived,
)

Lifetime = Annotated[int, Kind("BIGINT", 0, 2**62)]  # ns since a thread began


class Step(
    Fact,
    event="step",
    source="steps.jsonl, else the timeline",
    files=("steps.jsonl",),
    example="SELECT index, duration_ns / 1e6 AS ms, compilations FROM step WHERE NOT tail",
    kept=True,
):
    """What a thread did between two barriers that launched work."""

    thread: ThreadId | None
    main: Annotated[bool, "whether it is the main thread"] = False
    tail: Annotated[bool, "whether it is the time after the last barrier, not a step"] = derived()
    index: Annotated[Number, "number of the barrier on its thread, from 0"]
    barriers: Annotated[
        Size, Recorded("steps"), "barriers that this row covers (1, or more in very long runs)"
    ] = 0
    ordinal: Annotated[int, "barriers seen before at the same call site on this thread"] = derived()
    begin_ns: Annotated[Instant, "end of the previous barrier"] = derived()
    end_ns: Annotated[Instant, "end of this one"]
    duration_ns: Annotated[Duration, "time between, without the capture's own work"]
    compile_ns: Annotated[Duration, "spent compiling"] = 0
    read_ns: Annotated[Duration, "blocked in reads of device values, compilation not counted"] = (
        derived()
    )
    input_ns: Annotated[Duration, "waiting for the next batch"] = derived()
    barrier_ns: Annotated[
        Duration, "in the barrier (dispatch, waiting for the device), without compilation"
    ] = 0
    upload_ns: Annotated[Duration, "sending tensors to the device"] = derived()
    save_ns: Annotated[Duration, "saving checkpoints"] = derived()
    capture_ns: Annotated[Duration, "spent by the capture since the previous barrier"] = 0
    executions: Annotated[Size, "graphs that the barrier launched"] = 0
    launches: Annotated[Size, "graphs that reads launched"] = 0
    compilations: Annotated[Size, "graphs compiled"] = 0
    optimizer_steps: Annotated[int, "updates of the optimizer that stepped most"] = derived()
    log_offset: Annotated[Size, Recorded("log"), "size of the analysis log at the end"] = 0
    traced: Annotated[bool, "inside the timeline's window"] = False
    probed: Annotated[bool, "slowed by the search for fallbacks; left out of timings"] = False
    site: Site = None
    reads: Annotated[tuple[HostSync, ...], ONLY_RECORDED] = ()
    uploads: Annotated[tuple[Upload, ...], ONLY_RECORDED] = ()
    saves: Annotated[tuple[StateSave, ...], ONLY_RECORDED] = ()
    input: Annotated[DataWait | None, ONLY_RECORDED] = None
    optimizers: Annotated[
        tuple[tuple[Size, Size], ...], ONLY_RECORDED, "number of each that stepped, and how often"
    ] = ()
    counters: Annotated[
        dict[str, Count], ONLY_RECORDED, "what the framework's counters grew by"
    ] = {}  # noqa: RUF012 - never changed
    fallbacks: Annotated[dict[str, Count], ONLY_RECORDED, "and those of operators"] = {}  # noqa: RUF012


class Tail(Step, event="tail"):
    """What a thread did after its last barrier, until the program ended."""


class CutStep(Step, event="cut"):
    """A part of a step: it ended in a read that launched work, in a program without barriers."""


class Cut(
    Fact,
    source="steps.jsonl, else the timeline",
    files=("steps.jsonl",),
    example="SELECT step, ended_by, duration_ns, launches FROM cut",
):
    """What a thread did from one launch of work to the next, in steps in which reads launched
    some; long steps are also cut elsewhere.
    """

    thread: ThreadId
    main: Annotated[bool, "whether it is the main thread"]
    step: Annotated[Number, "index of the step that it is a part of"]
    ended_by: Annotated[str, "read, barrier or end; a long step is also cut without a launch"]
    begin_ns: Annotated[Instant, "its start"]
    end_ns: Annotated[Instant, "its end"]
    duration_ns: Annotated[Duration, "time between, without the capture's own work"]
    compile_ns: Annotated[Duration, "spent compiling"]
    read_ns: Annotated[Duration, "blocked in reads of device values, compilation not counted"]
    input_ns: Annotated[Duration, "waiting for the next batch"]
    barrier_ns: Annotated[Duration, "in the barrier, without compilation"]
    upload_ns: Annotated[Duration, "sending tensors to the device"]
    save_ns: Annotated[Duration, "saving checkpoints"]
    launches: Annotated[int, "graphs that were launched"]
    compilations: Annotated[int, "graphs compiled"]
    optimizer_steps: Annotated[int, "updates of the optimizer that stepped most"]
    optimizers: Annotated[int, "optimizers that stepped"]
    site: Site


class EnclosingLoop(
    Fact,
    source="call_sites.json",
    listed=True,
    example="SELECT line, loop_file, first_line FROM enclosing_loop WHERE depth = 0",
):
    """A loop of the program around a call site that waited for the device, sent to it or
    updated parameters.
    """

    file: Annotated[str, "path of the call site"] = derived()
    line: Annotated[Number, "its line"] = derived()
    via: Annotated[str, "function of the framework that it called, if any"] = derived()
    depth: Annotated[Number, "0 for the innermost loop"] = derived()
    loop_file: Annotated[str, "path of the file with the loop"]
    first_line: Annotated[Number, "line of its for or while"]
    last_line: Annotated[Number, "last line of its body"]
    loop_function: Annotated[str, "function that the loop is in"]


class ProcessorUse(
    Fact,
    source="processor.jsonl",
    listed=True,
    example="SELECT thread, max(wait_ns) AS waited_ns FROM processor_use GROUP BY thread",
):
    """What a thread of the loop had of the processors, by then."""

    thread: ThreadId
    at_ns: Annotated[Instant, "when"]
    run_ns: Annotated[Lifetime, "how long it had run since it began"]
    wait_ns: Annotated[Lifetime, "how long it had waited for a processor, ready to run"]


class JudgedPart(
    Fact,
    process=False,
    source="derived",
    example="SELECT (end_ns - begin_ns) / 1e9 AS seconds FROM judged_part",
):
    """The part of the run that is judged, such as the block of an expectation; without a row,
    all of it.
    """

    begin_ns: Annotated[Instant, "its start"]
    end_ns: Annotated[Instant, "its end"]


class StepPeriod(
    Fact,
    source="steps.jsonl",
    kept=True,
    example="SELECT process, thread, barriers FROM step_period",
):
    """How many barriers make one iteration."""

    thread: ThreadId
    barriers: Annotated[int, "smallest period of the sequence of barrier call sites"]
