"""Timelines: when they were recorded, and what they hold."""

from typing import Annotated

from xladoctor.facts.files import TIMELINE_FILES
from xladoctor.recording.bootstrap._xladoctor.facts import (
    ONLY_RECORDED,
    Duration,
    Fact,
    Instant,
    Kind,
    Number,
    Size,
)


class _Decoded(Fact, source=".xplane.pb", files=TIMELINE_FILES): ...


class CaptureWindow(
    Fact,
    source="process.json",
    kept=True,
    example="SELECT session, steps, ended_by, bytes FROM capture_window",
):
    """A period that the profiler recorded."""

    session: Annotated[str | None, "name of its timeline, for --session"] = None
    begin_ns: Annotated[Instant, "when it opened"]
    end_ns: Annotated[
        Instant | None, "when it closed; NULL if the process was cut short before"
    ] = None
    of_program: Annotated[bool, "whether the program itself had it recorded"] = False
    steps: Annotated[Size, "barriers in it"] = 0
    ended_by: Annotated[
        str | None, "step limit, time limit, size limit, slow end, the program, end of program, …"
    ] = None
    bytes: Annotated[Size | None, "size of its file"] = None
    stop_ns: Annotated[
        Duration | None, "time the program was stopped for the profiler to deliver its data"
    ] = None
    write_ns: Annotated[Duration | None, "time writing took while the program ran"] = None
    file: Annotated[str | None, ONLY_RECORDED] = None
    jumped_ns: Annotated[
        int,
        Kind("BIGINT", -(2**62), 2**62),
        ONLY_RECORDED,
        "how far the system's clock was set meanwhile",
    ] = 0


class Timeline(
    _Decoded, example="SELECT file, events, complete, steps_from FROM timeline", kept=True
):
    """A captured timeline (an XSpace)."""

    host: Annotated[str, "name of the machine, as the timeline or its file says"]
    pid: Annotated[int, "id of the process, where the timeline says it"]
    rank: Annotated[Number, "rank in a distributed job, where the timeline or its name says it"]
    file: Annotated[str, "path of the file"]
    begin_ns: Annotated[Instant, "start of the profile"]
    end_ns: Annotated[Instant, "end of its last event"]
    planes: Annotated[Number, "number of planes"]
    lines: Annotated[Number, "number of lines"]
    events: Annotated[int, "number of events"]
    bytes: Annotated[int, "size of the file"]
    complete: Annotated[bool, "whether all of it could be read"]
    steps_from: Annotated[
        str, "what marked steps: StepMarker, executions …; span: all is one; or NULL"
    ]
    frontend: Annotated[str, "framework whose events or compiled functions are in it, if any"]
    not_understood: Annotated[
        str, "what drives the device, where its calls are not understood; or NULL"
    ]


class Plane(_Decoded, example="SELECT plane, name, kind FROM plane"):
    """A plane of the timeline: a host, a device, or what goes with them."""

    plane: Annotated[Number, "number of the plane in its file"]
    name: Annotated[str, "name, as /host:CPU or /device:TPU:0"]
    kind: Annotated[str, "host, device, metadata or other"]


class Line(_Decoded, example="SELECT name, events FROM line WHERE main"):
    """A line of a plane: a thread, a stream, or a view of the device."""

    line: Annotated[Number, "number of the line in its file"]
    plane: Annotated[Number, "number of its plane"]
    id: Annotated[int, "id that the profiler gave it"]
    name: Annotated[str, "name of the thread or stream"]
    main: Annotated[bool, "the thread that ran the loop"]
    begin_ns: Annotated[Instant, "its origin"]
    events: Annotated[int, "number of events"]


class Event(
    _Decoded,
    example="SELECT name, sum(self_ns) AS ns FROM event GROUP BY name ORDER BY ns DESC LIMIT 10",
):
    """An event of the timeline, with its own stats or its metadata's; large, decoded when a
    query names it.
    """

    event: Annotated[int, "number of the event in its file"]
    line: Annotated[Number, "number of its line"]
    plane: Annotated[Number, "number of its plane"]
    name: Annotated[str, "name of the event"]
    start_ns: Annotated[Instant, "when it began"]
    duration_ns: Annotated[Duration, "how long it took"]
    depth: Annotated[Number, "events of the same line that were open when it began"]
    self_ns: Annotated[Duration, "duration without that of the events inside it"]
    step: Annotated[Number, "step that it began in, as in timeline_step"]
    occurrences: Annotated[int, "how many events it sums up, where it does"]
    graph_hash: Annotated[str, "stat: graph of a compilation"]
    hlo_module: Annotated[str, "stat: module that was executed"]
    hlo_op: Annotated[str, "stat: instruction of the module, or the short name of a device's event"]
    program_id: Annotated[int, "stat: number of the program, its 64 bits taken as signed"]
    op: Annotated[str, "stat: operation, as the framework names it"]
    file: Annotated[str, "stat: source file"]
    file_line: Annotated[int, "stat: line in it"]
    flow_out: Annotated[int, "stat _p: the flow that begins here"]
    flow_in: Annotated[int, "stat _c: the flow that arrives here"]
    flow_out_type: Annotated[int, "stat _pt: kind of that flow"]
    flow_in_type: Annotated[int, "stat _ct: kind of that flow"]


class EventStat(_Decoded, example="SELECT name, count(*) AS n FROM event_stat GROUP BY name"):
    """Every stat of every event; large, decoded when a query names it."""

    event: Annotated[int, "number of the event"]
    name: Annotated[str, "name of the stat"]
    kind: Annotated[str, "double, uint64, int64, str, bytes or ref"]
    value: Annotated[str, "its value as text; bytes as their number"]
    number: Annotated[float, "its value where it is one"]
