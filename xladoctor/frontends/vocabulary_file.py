"""What a frontend's ``vocabulary.yaml`` may contain."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

from xladoctor.facts.parts import Activity

Trait = Literal[
    "constant", "device_data", "insignificant", "reads_scalar", "sized_by_data", "takes_numbers"
]
Meaning = Literal[
    "compile",
    "execute",
    "read",
    "upload",
    "sent",
    "eager_compile",
    "eager_execute",
    "compiled",
    "launched_again",
    "barrier",
    "graph_size",
    "fetch",
    "handles",
]
Event = Literal[
    "barrier",
    "graph",
    "launch",
    "execution",
    "compilation",
    "client_compilation",
    "fetch",
    "send",
    "call",
    "step",
    "backward",
    "operator",
    "compiled",
    "update",
    "collective",
    "part",
]
Cause = Literal["barrier", "read"]
Word = Literal[
    "barrier",
    "breaks",
    "dispatch",
    "unused",
    "idle",
    "log",
    "install",
    "server",
    "tensor",
    "graph",
    "launch",
    "input",
    "compiled",
]
#: What a framework does; rules name what they are about, and not each framework that does it.
FrontendTrait = Literal[
    "captured",
    "runs_xla",
    "has_barriers",
    "compiles_functions",
    "breaks_graphs",
    "launches_operators",
    "reads_only_wait",
    "reloads_on_host",
]
SettingKind = Literal["place", "device"]
#: What a value is read for: to show progress, to decide what to do next, for a check inside one of
#: the framework's helpers, for a metric, for a line of log.
Purpose = Literal["progress", "condition", "helper", "metric", "log"]
_NONE = "(?!)"  # matches nothing


class FramePattern(BaseModel):
    """What a frame below the user's line means, in the stacks of a running program.

    Attributes:
        kind: see :class:`xladoctor.stacks.interface.Kind`.
        text: what the thread does; empty for barriers.
        barrier: whether it is in a barrier, so that native code shows what the thread does.
        function: regular expression for part of the function's name, or of native code's symbol.
        file: regular expression for the end of the file's path; None for native code.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    kind: str
    text: str = ""
    barrier: bool = False
    function: str = ""
    file: str | None = None


class ReadingHelper(BaseModel):
    """Helpers that read values from the device, and what to do instead.

    Attributes:
        package: the library that they are in; None for the framework's own.
        function: regular expression. For the framework's own, it matches the whole name of what the
            program called; for a library, the end of the name of the function that reads.
        reads: kinds of the reads, as in table ``host_sync``.
        purpose: what it reads for; None for no special purpose.
        cure: what to do instead, as a sentence.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    package: str | None = None
    function: str
    reads: tuple[str, ...]
    purpose: Purpose | None = None
    cure: str


class Replacement(BaseModel):
    """Code that avoids an operator without a lowering.

    Attributes:
        call: code that uses the operator.
        instead: code with the same result.
        where: definitions that it needs, if any.
        but: where the result is another, if it is anywhere.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    call: str
    instead: str
    where: str = ""
    but: str = ""


class ReadingLine(BaseModel):
    """What the text of a line shows about the purpose of its reads.

    Attributes:
        call: regular expression for the end of the name that the line calls, as written there.
        method: regular expression for the last part of the name of the function that it is in.
        but: regular expression for kinds of reads that this does not apply to.
        purpose: what values are read for.
        cure: what to do instead, as a sentence; empty if the rule's own text says it.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    call: str = ""
    method: str = ""
    but: str = ""
    purpose: Purpose
    cure: str = ""


class Advice(BaseModel):
    """What something is, in a few words, and what to do about it, as a sentence."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    title: str
    cure: str = ""


class DiskCacheWords(BaseModel):
    """A framework's cache of compiled code on disk.

    Attributes:
        parts: of its keys, as the framework names them; what to do where one differs.
        options: of parts, where one has advice of its own.
        computation: by what differs in the graph: a ``Kind`` of
            :mod:`xladoctor.cache_keys.computation`.
        reasons: why an entry was not kept, as in table ``cache_lookup``.
        gone: what to do where an entry with the same key was not found.
        settings: environment variables by which it keeps everything in ``{folder}``.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    parts: dict[str, Advice] = {}
    options: dict[str, Advice] = {}
    computation: dict[str, Advice] = {}
    reasons: dict[str, Advice] = {}
    gone: str = ""
    settings: dict[str, str] = {}


class Vocabulary(BaseModel):
    """The names of one frontend; a field is left out if the framework has nothing of the kind.

    Attributes:
        title: the framework's common name.
        package: the package to install and import.
        packages: packages whose frames are the framework's, not the user's.
        traits: ``runs_xla``: its graphs are modules of XLA; ``has_barriers``: it records operations
            until a barrier compiles and runs them; ``compiles_functions``: it compiles what a call
            of a function does; ``breaks_graphs``: a function may be split into several graphs;
            ``launches_operators``: it also runs operators one by one; ``reads_only_wait``: reading
            a value launches nothing, as what it waits for was launched before;
            ``reloads_on_host``: a later run can load what was compiled for the CPU. ``captured``:
            its programs can be captured; this follows from the words (``install``).
        checkouts: folders of repositories that people run these packages from.
        own_files: regular expression for paths of files of these packages, wherever they are
            installed.
        requires: packages that a captured program needs, and whose versions matter.
        records_steps: whether each step is recorded again, operation by operation.
        records_reads: whether the capture records where the host reads values; unnecessary on the
            CPU, as nothing waits there.
        reads_like: the frontend whose frames, reading helpers, reading lines and preparation it
            has, where it has none of its own.
        texts_like: the frontend whose texts of rules it has, where a rule has none for it.
        words: words for messages: how programs write a barrier; what the host launches, if not a
            graph (``dispatch``); what to do if nothing ran on a device, if it is not one of XLA's
            (``idle``); what logs graphs, and graph breaks (``breaks``); the command that installs
            it; the code that starts its profiler's server on PORT; what rules call a tensor, a
            graph and its launch, an input, and what is compiled.
        operators: by trait, as counters name them (``a::b``; modules write ``a__b``).
            ``constant``: a number of the program; ``device_data``: a tensor on the device;
            ``insignificant``: comes and goes with the optimization around it; ``reads_scalar``: its
            fallbacks are reads; ``sized_by_data``: the data decide the size of its result;
            ``takes_numbers``: Python numbers are its inputs, except for special ones.
        own_counters: prefixes of operators that are counted but are not fallbacks.
        settings: regular expressions for environment variables that only choose where something is
            written (``place``), or on which devices the program runs (``device``).
        metrics: names of metrics and counters by what they measure; the first name that has values
            counts. ``eager``: operators compiled and launched one by one, outside of any graph;
            ``compiled``: graphs that were new, ``launched_again``: graphs that were not;
            ``graph_size``: operations of a graph; ``fetch``: transfers from the device; ``upload``,
            ``sent``: time and bytes of transfers to it; ``handles``: counters of the runtime that
            every report has.
        causes: regular expressions for a part of the sentence by which its log says what launched a
            graph: a barrier, or a value that was read before one.
        events: names in timelines, by meaning. ``graph``: a graph is cut, by a barrier or
            otherwise; ``launch``: a graph is handed over; ``execution``: prefix of calls of the
            runtime; ``compilation``: a graph is compiled, with its hash; ``client_compilation``:
            the client's part of it; ``fetch`` and ``send``: transfers of tensors; ``call``: prefix
            of calls of a compiled function, followed by its name and a bracket; ``step``: prefix of
            steps of the loop, followed by the number; ``backward``: prefix of a thread that runs
            the backward pass; ``operator``: prefix of operators that the host runs one by one.
            Likewise prefixes: ``compiled``: compiled code runs instead; ``update``: the optimizer
            runs; ``collective``: a device exchanges data with others; ``part``: part of a compiled
            function, followed by its compiler's number, FUNCTION/VERSION.
        modules: prefixes of the names of its modules.
        categories: categories of events that its own profiler writes, in lower case.
        marks: prefixes of events that only its programs have, whichever profiler writes them.
        runtimes: runtimes of devices whose calls the activities name, by their common name: regular
            expression for the whole name of a call.
        strange_runtimes: runtimes whose calls the activities do not name: regular expression for
            the whole category of events, in lower case.
        activities: by activity of the host, regular expression for the whole name of its events.
        waiting: regular expression for the whole name of events that wait for the device, whatever
            runs within them, in timelines with its marks.
        phases: phases of compiling, each with a regular expression for the whole name of its
            events; each event of the first is a compilation.
        files: names of the framework's own Python files, without the suffix.
        own_events: regular expression for the framework's events that are not an activity.
        resumed: regular expression for the functions that a compiler makes from what follows a
            graph break; its groups are the program's function and the line.
        frames: what frames mean; the first match counts.
        reading_helpers: helpers of the framework and of libraries; the first match counts.
        replacements: for operators without a lowering, by name without the overload.
        replaced: names and settings that programs may still use, of the package that it has
            replaced or of its earlier releases, each with what takes its place.
        reading_lines: lines of the program, or of libraries, if no helper matches; the first match
            counts.
        preparation: regular expressions for part of the path of files that decode, resize, augment
            or tokenize: work for a loader's workers.
        disk_cache: what its cache on disk is made of.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    title: str
    package: str
    traits: tuple[FrontendTrait, ...] = ()
    packages: tuple[str, ...] = ()
    checkouts: tuple[str, ...] = ()
    own_files: str = _NONE
    requires: tuple[str, ...] = ()
    records_steps: bool = True
    records_reads: bool = True
    reads_like: str | None = None
    texts_like: str | None = None
    words: dict[Word, str] = {}
    operators: dict[Trait, tuple[str, ...]] = {}
    own_counters: tuple[str, ...] = ()
    settings: dict[SettingKind, str] = {"place": _NONE, "device": _NONE}
    metrics: dict[Meaning, tuple[str, ...]] = {}
    causes: dict[Cause, str] = {}
    events: dict[Event, tuple[str, ...]] = {}
    modules: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()
    runtimes: dict[str, str] = {}
    strange_runtimes: dict[str, str] = {}
    activities: dict[Activity, str] = {}
    waiting: str = _NONE
    phases: dict[str, str] = {}
    files: tuple[str, ...] = ()
    own_events: str = _NONE
    resumed: str = _NONE
    frames: tuple[FramePattern, ...] = ()
    reading_helpers: tuple[ReadingHelper, ...] = ()
    replacements: dict[str, Replacement] = {}
    replaced: dict[str, str] = {}
    reading_lines: tuple[ReadingLine, ...] = ()
    preparation: tuple[str, ...] = ()
    disk_cache: DiskCacheWords = DiskCacheWords()

    @property
    def all_traits(self) -> frozenset[FrontendTrait]:
        """Its traits, including those that follow from others."""
        captured: tuple[FrontendTrait, ...] = ("captured",) if "install" in self.words else ()
        return frozenset((*self.traits, *captured))
