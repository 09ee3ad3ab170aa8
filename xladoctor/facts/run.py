"""A run as a whole: its processes, their settings, metrics, and patches that were tried."""

from typing import Annotated

from xladoctor.facts.timeline import CaptureWindow
from xladoctor.recording.bootstrap._xladoctor.facts import (
    ONLY_RECORDED,
    Duration,
    Fact,
    Identity,
    Instant,
    Kind,
    Names,
    Number,
    Position,
    Size,
    derived,
)

Rank = Annotated[int, Kind("INTEGER", -(2**31), 2**31 - 1)]


class _Process(Fact, source="process.json"): ...


class PythonFolders(Fact):
    """Where the program's Python keeps its own modules and installed packages."""

    standard: tuple[str, ...]
    installed: tuple[str, ...]


class ModulesFile(Fact):
    """A file with compiled modules, and how many compilations there had been by then."""

    file: str
    compilations: Size
    bytes: Size | None = None
    stop_ns: Duration | None = None
    numbered: Annotated[bool, "whether the number of a module is that of its compilation"] = False


class Process(_Process, example="SELECT process, rank, device_kind, ended FROM process", kept=True):
    """A captured process."""

    pid: Annotated[Identity, "process id"]
    rank: Annotated[Rank | None, "rank in a distributed job, if it has one"] = None
    world_size: Annotated[Size | None, "processes of that job, where it is known"] = None
    slice: Annotated[
        Number | None, "slice of a pod that its devices are in, where there are several"
    ] = None
    host: Annotated[str | None, "name of the machine"] = None
    processors: Annotated[Size | None, "processors that the process may use"] = None
    frontend: Annotated[str, "framework that was captured"]
    device_kind: Annotated[str, "kind of the devices: CPU, TPU, NEURON, CUDA"] = derived()
    devices: Annotated[Names, "devices that the process sees"]
    accelerators: Annotated[
        tuple[str, ...] | None, "kinds that the machine has and the framework can drive, if known"
    ] = None
    ended: Annotated[bool, "whether the capture ended normally"]
    stopped: Annotated[
        bool, "whether xladoctor ended the program, as --timeout or --stop-after asks"
    ] = derived()
    running: Annotated[bool, "whether it still ran when this was read"] = derived()
    main: Annotated[str | None, "path of the main script"] = None
    cwd: Annotated[str | None, "working directory"] = None
    began_ns: Annotated[Instant, "when the framework was imported"]
    exit_ns: Annotated[
        Instant | None, "when it had ended and the capture began to write the rest"
    ] = None
    ended_ns: Annotated[Instant, "time of the process's last record"]
    uncaught: Annotated[
        str | None, "uncaught exception that ended it, if any: its type, and the program's line"
    ] = None
    memory_error: Annotated[
        tuple[str, str, Number, str] | None,
        ONLY_RECORDED,
        "what that exception says, if memory did not suffice; the program's file, line, function",
    ] = None
    parent: Annotated[Identity | None, ONLY_RECORDED, "process id of its parent"] = None
    argv: Annotated[tuple[str, ...], ONLY_RECORDED] = ()
    used_device: Annotated[bool, ONLY_RECORDED]
    versions: Annotated[dict[str, str], ONLY_RECORDED, "versions of packages"]
    folders: Annotated[PythonFolders, ONLY_RECORDED]
    settings: Annotated[dict[str, str], ONLY_RECORDED, "environment variables"]
    settings_lines: Annotated[
        dict[str, tuple[str, Number, str]], ONLY_RECORDED, "of those that the program set"
    ]
    no_analysis_log: Annotated[str | None, ONLY_RECORDED, "why there is none"] = None
    windows: Annotated[tuple[CaptureWindow, ...], ONLY_RECORDED] = ()
    meshes: Annotated[
        tuple[dict[str, Size], ...],
        ONLY_RECORDED,
        "of devices that it divides arrays over: devices along each axis",
    ] = ()
    misplaced_lines: Annotated[
        bool,
        ONLY_RECORDED,
        "whether the compiler gives operations of programs of several devices wrong lines",
    ] = False
    modules: Annotated[tuple[ModulesFile, ...], ONLY_RECORDED] = ()
    modules_too_large: Annotated[bool, ONLY_RECORDED, "whether some are left out"] = False
    no_graphs: Annotated[
        str | None, "why no graphs were kept as they were before optimization; NULL if they were"
    ] = "the run was made by a version of xladoctor that kept none"
    graphs_left_out: Annotated[Size, "how many of these were left out for --graph-bytes"] = 0
    files: Annotated[
        dict[str, Size],
        ONLY_RECORDED,
        "sizes in bytes of its files when it ended, by their paths in the run directory",
    ] = {}  # noqa: RUF012 - never changed
    unheard: Annotated[
        str | None,
        ONLY_RECORDED,
        "why not all that the partitioner said was heard: empty if it was, null if nobody listens",
    ] = None
    resharding: Annotated[bool, ONLY_RECORDED, "whether resharded arguments were noted"] = False
    flattening: Annotated[bool, ONLY_RECORDED, "whether flattening was timed, where any is"] = False
    missing: Annotated[
        dict[str, str],
        ONLY_RECORDED,
        "hooks of the capture that its framework has no place for, each with the reason",
    ] = {}  # noqa: RUF012 - never changed


class Version(
    _Process, example="SELECT package, version FROM version WHERE package = 'python'", kept=True
):
    """A package of a captured process."""

    package: Annotated[str, "its name; python for the interpreter"]
    version: Annotated[str, "its version"]


class CaptureFault(
    Fact, source="faults.log", kept=True, example="SELECT text, log FROM capture_fault"
):
    """A fault of the capture itself, which switched it off."""

    text: Annotated[str, "what it was"]
    log: Annotated[str, "path of the file with the details"]


class OtherName(
    Fact, source="python.log", example="SELECT name, file, line FROM other_name ORDER BY line"
):
    """A line of the program's files that uses a name of the package that its framework replaced."""

    name: Annotated[str, "the name in full; of an import, the package"]
    file: Annotated[str, "the line's file"]
    line: Annotated[Number, "the line"]
    function: Annotated[str, "function that the line is in"]


class Environment(_Process, example="SELECT name, value, set_by FROM environment"):
    """User settings that change how XLA works."""

    name: Annotated[str, "environment variable"]
    value: Annotated[str, "its value"]
    set_by: Annotated[str, "environment (before the program started) or program"]
    file: Annotated[str, "file of the line that set it, if the program did"]
    line: Annotated[Number, "that line"]
    function: Annotated[str, "function that the line is in"]


class TriedPatch(
    Fact,
    process=False,
    source="fixes.json",
    example="SELECT rule, title, outcome, times_as_fast FROM tried_patch",
):
    """A patch of ``xladoctor fix --verify``, and what came of it."""

    rule: Annotated[str, "rule of the finding that it is for"]
    fingerprint: Annotated[str, "fingerprint of that finding"]
    kind: Annotated[str, "kind of fix"]
    title: Annotated[str, "what it does"]
    outcome: Annotated[str, "verified, helps less than predicted, does not help, …"]
    digest: Annotated[str | None, "digest of the file and of what the patch changes"] = None
    predicted_s: Annotated[float | None, "seconds of the run that it was predicted to save"] = None
    before_s: Annotated[float | None, "seconds of the loop without it, median"] = None
    after_s: Annotated[float | None, "seconds of the loop with it, median"] = None
    times_as_fast: Annotated[float | None, "how many times as fast the loop is with it"] = None
    least: Annotated[float | None, "lower end of the 95 % interval of that"] = None


class Metric(
    Fact,
    source="metrics.txt",
    example="SELECT name, samples, accumulator, unit FROM metric ORDER BY accumulator DESC",
):
    """A metric of the last report."""

    name: Annotated[str, "name of the metric"]
    unit: Annotated[str, "ns, bytes or none"]
    samples: Annotated[int, "number of samples"]
    since: Annotated[int, "samples since the report before it, where a text has several"]
    accumulator: Annotated[float, "sum of the samples, in the unit"]
    p50: Annotated[float, "median of the retained samples, in the unit"]
    p99: Annotated[float, "the largest but for one in a hundred of them, in the unit"]
    growth: Annotated[float, "what was added in a second when the report was made, in the unit"]


class Counter(
    Fact,
    source="metrics.txt",
    files=("steps.jsonl", "metrics.txt"),
    example="SELECT name, value FROM counter ORDER BY value DESC LIMIT 10",
):
    """A counter of the last report."""

    position: Position = derived()
    name: Annotated[str, "name of the counter"]
    value: Annotated[int, "its value"]
