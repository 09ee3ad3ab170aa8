"""Facts: what the capture records, and what the tables of the evidence hold; each declared once.

A fact is a class. Its annotations are its fields, in the order of the table's columns: a kind,
which gives unit, SQL type and bounds, and what the value means. From the class follow the line of
``steps.jsonl`` that the capture writes, its decoder and JSON Schema, ``CREATE TABLE``, the files
whose loss the table suffers from, and the page about the evidence (``xladoctor/facts``).

Facts of the capture are below; they are made in the user's process, so this file needs the standard
library alone, and no class is compiled at import as those of ``dataclasses`` are. What it writes
without such objects, and what only readers find, is in ``xladoctor/facts``, in the same form.
"""

import sys
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NamedTuple

if TYPE_CHECKING or sys.version_info >= (3, 11):
    from typing import dataclass_transform
else:

    def dataclass_transform(**_: Any) -> Any:
        return lambda cls: cls


class Kind(NamedTuple):
    """What values are: the SQL type of a column, the bounds that keep sums within it, and what they
    mean where a field does not say. ``role``: not a column of its own, but those of a line.
    """

    sql: str = ""
    least: float | None = None
    most: float | None = None
    text: str = ""
    role: str = ""


class Recorded(NamedTuple):
    """How a record has a field: under another name, or alone."""

    key: str = ""
    only: bool = False


#: Its table has something else instead.
ONLY_RECORDED = Recorded(only=True)


def derived(*, init: Literal[False] = False) -> Any:
    """The default of a field that a table alone has: readers find its values."""
    return derived


_COUNT = 2**53
Duration = Annotated[int, Kind("BIGINT", -_COUNT, _COUNT)]  # ns: 104 days; clocks may step back
Instant = Annotated[int, Kind("BIGINT", 0, 2**62)]  # ns since 1970: the year 2116
Count = Annotated[int, Kind("BIGINT", -_COUNT, _COUNT)]
Size = Annotated[int, Kind("BIGINT", 0, _COUNT)]
Number = Annotated[int, Kind("INTEGER", 0, 2**31 - 1)]  # of a line, a step, a site
#: Of a table whose rows have an order; the database gives it.
Position = Annotated[int, Kind("BIGINT", text="order in which rows were recorded, from 0")]
Shape = Annotated[tuple[Size, ...], Kind("BIGINT[]", most=64)]
#: Of a process or a thread; a profiler's can have any 63 bits.
Identity = Annotated[int, Kind("BIGINT", -(2**31), 2**63 - 1)]
ThreadId = Annotated[int, Kind("BIGINT", -(2**31), 2**63 - 1, "operating-system id of the thread")]
Flag = Annotated[int, Kind("BOOLEAN", role="flag")]  # a record has a number
#: A record has the names, a table how many there are.
Names = Annotated[tuple[str, ...], Kind("BIGINT", role="count")]
#: A record's includes its ``compile_ns``, a table's does not.
NetDuration = Annotated[int, Kind("BIGINT", -_COUNT, _COUNT, "with compile_ns", role="net")]
#: Of an array, as the framework names it; in a table as HLO text does.
ElementType = Annotated[str, Kind(role="element type")]
#: A line by its number in ``call_sites.json``; in a table the seven columns of a line.
Site = Annotated[Number | None, Kind(role="site")]
#: The same, where no function of the framework is called there.
Place = Annotated[Number | None, Kind(role="place")]
#: A function of the program by the site of its first line; in a table file, line and name.
Function = Annotated[Number | None, Kind(role="function")]


class About(NamedTuple):
    """What is true of all facts of a class.

    Attributes:
        event: what tells its lines in ``steps.jsonl`` from others, if the capture writes them.
        process: whether it is of a process, which then is the first column, and in no record: it
            is that whose file it is.
        source: where the table's rows come from; empty where it has no table.
        files: patterns of the files whose rows it has, by default the source.
        example: a query that shows what the table is good for.
        kept: whether the table is kept as it is of each host of a pod with many.
        listed: whether a record is no object, but a list: the site if there is one, then the other
            fields in their order.
    """

    event: str = ""
    source: str = ""
    files: tuple[str, ...] = ()
    example: str = ""
    process: bool = True
    kept: bool = False
    listed: bool = False


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(derived,))
class Fact:
    """A fact; fields without a default have to be given. A class takes what :class:`About` is, and
    has source and files of its base where it takes none.
    """

    about: ClassVar[About] = About()

    def __init_subclass__(cls, **about: Any) -> None:
        own, base = About(**about), cls.about
        source = own.source or base.source
        cls.about = own._replace(
            source=source,
            files=own.files or base.files or (source,),
            process=own.process and base.process,
        )

    def __init__(self, **fields: Any) -> None:
        vars(self).update(fields)


def as_line(fact: Fact) -> dict[str, Any]:
    """A fact as it is logged, with the fields that were given."""
    return {"event": fact.about.event, **vars(fact)}


class Outlier(
    Fact,
    event="outlier",
    source="steps.jsonl",
    kept=True,
    example="SELECT step, duration_ns / typical_ns AS times FROM outlier ORDER BY times DESC",
):
    """A step that took much longer than usual without compiling or saving."""

    thread: ThreadId
    step: Annotated[int, Kind("INTEGER", -1, 2**31 - 1), "index of the step"]
    end_ns: Annotated[Instant, "when it ended"]
    duration_ns: Annotated[Duration, "how long it took"]
    typical_ns: Annotated[Duration, "the running median of the steps before it"]
    traced: Annotated[bool, "whether the steps after it are in a second timeline"]


class Optimizer(
    Fact, event="optimizer", source="steps.jsonl", example="SELECT file, line FROM optimizer"
):
    """An optimizer, and the line that steps it."""

    position: Position = derived()
    thread: ThreadId
    closure: Annotated[Function, "the program's function that it was given to compute the loss"] = (
        None
    )
    site: Site


class IdleOptimizer(
    Fact, event="idle", source="steps.jsonl", example="SELECT file, line FROM idle_optimizer"
):
    """An optimizer that had nothing to update in its third step: its parameters are on the
    host, without gradients.
    """

    thread: ThreadId
    site: Site


class Loader(
    Fact,
    event="loader",
    source="steps.jsonl",
    example="SELECT batch_size, workers, drop_last, file, line FROM loader",
):
    """A loader of batches, and the line that made it."""

    batch_size: Annotated[Size | None, "samples in each batch but the last"]
    drop_last: Annotated[bool, "whether a last, smaller batch is left out"]
    workers: Annotated[Size, "processes that make its batches"]
    pinned: Annotated[bool | None, "whether its batches are put in pinned memory, where known"] = (
        None
    )
    collate: Annotated[Function, "the program's own function that puts its batches together"] = None
    last_batch: Annotated[
        Size | None,
        "samples in its last batch if that is smaller, 0 if not, where its sampler tells",
    ] = None
    site: Site


class EmptyPass(
    Fact,
    event="empty",
    source="steps.jsonl",
    example="SELECT batch_size, drop_last, file, line FROM empty_pass",
):
    """A pass over a loader of batches that gave none, and the line that made the loader."""

    batch_size: Annotated[Size | None, "samples that a batch would have"]
    drop_last: Annotated[bool, "whether a last, smaller batch is left out"]
    site: Site


class Transfer(
    Fact,
    event="upload",
    source="steps.jsonl, logs",
    files=("steps.jsonl",),
    example="SELECT file, line, count(*) AS shapes FROM transfer GROUP BY file, line",
):
    """A shape that a call site sent to the device for the first time; of a log each that it
    names.
    """

    position: Position = derived()
    thread: ThreadId
    step: Annotated[Number, "barrier index"]
    direction: Annotated[str, "to_device; a log has to_host and between_devices, too"] = "to_device"
    shape: Annotated[Shape, "dimensions"]
    dtype: Annotated[ElementType, "element type, as HLO text writes it"]
    site: Site


class KeptGraph(
    Fact,
    event="graph",
    source="steps.jsonl",
    example="SELECT kept_as, name, step, bytes FROM kept_graph ORDER BY bytes DESC",
):
    """A graph that was kept as it was before a compiler optimized it."""

    position: Position = derived()
    thread: ThreadId
    step: Annotated[Number, "index of the step in which it was compiled, or launched since then"]
    kept_as: Annotated[str, "its file, below the run directory"]
    name: Annotated[str | None, "function that it was compiled of, where functions are"] = None
    compilation: Annotated[Number | None, "number of its compilation, where known"] = None
    bytes: Annotated[Size, "its size, uncompressed"]
    constants: Annotated[Size, "bytes of constants that it lacks: each is one repeated number"] = 0
    replicas: Annotated[
        Size | None, "devices that run it with inputs of their own, where known"
    ] = None
    partitions: Annotated[Size | None, "devices that share its arrays, where known"] = None
    site: Site = None


# -- records that readers complete: their tables have other columns -----------------------------

#: What differs in the key of a function, and the path of the argument; was, now.
KeyChange = tuple[str, str, str, str]

#: The site of the line that made an array, its variable, its type and shape, its bytes.
CapturedArray = tuple[Number | None, str, str, Size]

#: Whether it is an argument or a result, its number, its path, its type and shape, its bytes, and
#: whether it is donated.
CallArray = tuple[str, Number, str, str, Size, bool]

#: A line that divides a value over devices, and how, as ``('data', None)``.
Divided = tuple[Number | None, str]

#: A value that is divided in one way, then in another, and perhaps in a third; the site of the line
#: that uses it then; its type and shape, its bytes of all devices.
Redivided = tuple[Divided, Divided, Divided | None, Number | None, str, Size]

#: A line's site, its equations, the commonest, its copies, the bytes of constants it uses first.
LineOfFunction = tuple[Number | None, Size, str, Size, Size]


class Compile(Fact, event="compile"):
    """A compilation: in which step, and in what kind of call.

    Attributes:
        ordinal: launches of its site before it, if the framework reports launches.
        function: that was compiled, where the framework compiles functions.
        defined: the site of its definition, if the program defines it.
        against: number, from 1, of the compilation of the function whose key is most alike.
        changes: what differs from that.
        made: the site of the line that made each of these, where known.
        repeated: of a line that the function goes through many times, its site, an operation and
            its copies; all operations, and the share of them that is repeated.
        captured: large arrays that the function closes over, so that they are constants of the
            graph: the site of the line that made each, where known, its variable, its type and
            shape, its bytes; None if they were not looked for.
        arrays: large arguments and results of the function; None if they were not looked for.
        traced: if compiling took long, equations of the function as it was traced, and whether that
            is all; nanoseconds of tracing and of lowering it, where they are known, which are part
            of the duration; and the lines that most equations come from.
        redivided: large values of a function of several devices that it divides twice with only
            element-wise operations between; None if they were not looked for.
        memory: bytes of the device that the graph takes: ``argument``, ``output``, ``alias`` (which
            is both) and ``temp``.
        callbacks: calls from the graph to the host.
        phases: nanoseconds of each part of compiling, alone.
        cached: whether its code came from a cache on disk, if that is known.
        used: the site of the line that uses what differs.
        hint: what the framework suggests.
    """

    thread: ThreadId
    step: Number
    site: Site
    during: str
    end_ns: Instant
    duration_ns: Duration
    ordinal: Size | None = None
    function: str | None = None
    defined: Number | None = None
    against: Size | None = None
    changes: tuple[KeyChange, ...] = ()
    made: tuple[Number | None, ...] = ()
    repeated: tuple[Number | None, str, Size, Size, float] | None = None
    captured: tuple[CapturedArray, ...] | None = None
    arrays: tuple[CallArray, ...] | None = None
    traced: (
        tuple[Size, bool, Duration | None, Duration | None, tuple[LineOfFunction, ...]] | None
    ) = None
    redivided: tuple[Redivided, ...] | None = None
    memory: dict[str, Size] | None = None
    callbacks: Size = 0
    phases: dict[str, Duration] = {}  # noqa: RUF012 - never changed
    cached: bool | None = None
    used: Number | None = None
    hint: str = ""


class Phases(Fact, event="phases"):
    """Time of compiling that is of an earlier compilation, counted from 1, or of none."""

    thread: ThreadId
    phases: dict[str, Duration]
    number: Number | None = None
    end_ns: Instant | None = None


class Break(Fact, event="break"):
    """A function is split at ``place`` into several graphs, each time that the site calls it.

    Attributes:
        whole: it cannot be split there, and is not compiled from then on.
        ordinal: launches of the site before.
    """

    site: Site
    place: Site
    function: str
    reason: str
    hint: str = ""
    whole: bool = False
    ordinal: int = 0


class Unbroken(Fact, event="unbroken"):
    """A function was compiled with a graph break, and also without, as its arguments differ."""

    site: Site
    function: str


class Split(Fact, event="split"):
    """A collective that runs by itself, so that the function around it runs in parts.

    Attributes:
        place: of the collective.
    """

    site: Site
    place: Site
    operator: str


class Limit(Fact, event="limit"):
    """A function that the site calls is compiled no more, as that was needed too often.

    Attributes:
        defined: the site of its definition, if the program defines it.
        name: of the setting.
        size: its value.
        ordinal: launches of the site before.
        dynamic: whether sizes that have changed are made dynamic, if that is known.
        aborts: an error is raised in place of running it eagerly.
        used: the site of the line that uses what was new at last.
        hint: what the framework suggests.
    """

    site: Site
    function: str
    name: str
    defined: Number | None = None
    size: Size | None = None
    ordinal: Size = 0
    dynamic: bool | None = None
    changes: tuple[KeyChange, ...] = ()
    aborts: bool = False
    used: Number | None = None
    hint: str = ""
