"""The vocabulary of each frontend: ``vocabulary.yaml`` in its folder.

A frontend is the framework that a program is written in. Its vocabulary is how it names what
matters in evidence: operators, metrics, events and frames. Readers and views go by the meaning of a
name. Names of XLA's own runtime are not in it, as they are the same for each frontend.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cache
from itertools import chain
from operator import methodcaller
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict

from xladoctor.facts.parts import Activity
from xladoctor.frontends import folders

#: For evidence that does not name its frontend: metrics reports, timelines of other profilers.
DEFAULT = "torch_xla"

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
#: What rules call things where a framework has no word of its own for them.
_PLAIN: dict[Word, str] = {
    "tensor": "tensor",
    "graph": "graph",
    "launch": "launch",
    "input": "input",
    "compiled": "graph",
}
_WORD = re.compile(r"\{\{ words\.(\w+)(?: \| (capitalize|a|plural))* \}\}")
#: What a framework does; rules name what they are about, and not each framework that does it.
FrontendTrait = Literal[
    "captured",
    "runs_xla",
    "has_barriers",
    "compiles_functions",
    "breaks_graphs",
    "launches_operators",
]
SettingKind = Literal["place", "device"]
#: What values are read for: to show progress, to decide what to do next, for a check that a helper
#: of the framework makes, for a metric, for a line of log.
Purpose = Literal["progress", "condition", "helper", "metric", "log"]
#: Of compiling: what is around the others.
FIRST_PHASE = "dynamo"
_NONE = "(?!)"  # matches nothing

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # faster, if PyYAML has it


class FramePattern(BaseModel):
    """What a frame inside the user's line means, in the stacks of a running program.

    Attributes:
        kind: of :class:`xladoctor.stacks.interface.Kind`.
        text: what the thread does; empty for barriers.
        barrier: it is in a barrier, so that native code decides what the thread does.
        function: regular expression for a part of the function's name; of native code its symbol.
        file: the end of the file's path matches it; None for native code.
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
        function: regular expression for the whole name of what the program called, for the
            framework's own; of a library, for the end of the name of the function that reads.
        reads: kinds of the reads, as in table ``host_sync``.
        purpose: what it reads for; None if that is nothing special.
        cure: a sentence.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    package: str | None = None
    function: str
    reads: tuple[str, ...]
    purpose: Purpose | None = None
    cure: str


class Replacement(BaseModel):
    """Code that does without an operator that has no lowering.

    Attributes:
        call: code that uses the operator.
        instead: code that gives the same values.
        where: what defines its names, if anything.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    call: str
    instead: str
    where: str = ""


class ReadingLine(BaseModel):
    """What a line tells of the values that it reads.

    Attributes:
        call: regular expression for the end of the name of what it calls, as the program writes it.
        method: regular expression for the last part of the name of the function that it is in.
        but: regular expression for kinds of reads that it does not tell of.
        purpose: what they are read for.
        cure: a sentence; empty if the rule's own words say it.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    call: str = ""
    method: str = ""
    but: str = ""
    purpose: Purpose
    cure: str = ""


class Vocabulary(BaseModel):
    """The names of one frontend; it has no name for what is left out.

    Attributes:
        title: what people call it.
        package: what to install and import.
        packages: those whose frames are the framework's, not the user's.
        traits: ``runs_xla``: its graphs are modules of XLA; ``has_barriers``: it records operations
            until a barrier compiles and runs them; ``compiles_functions``: it compiles what a call
            of a function does; ``breaks_graphs``: a function may be split into several graphs;
            ``launches_operators``: it also runs operators one by one. That its programs can be
            ``captured`` follows from the words (``install``).
        checkouts: folders of repositories that people run these packages from.
        requires: packages that a captured program needs, and whose versions matter.
        records_steps: whether each step is recorded anew, operation by operation.
        records_reads: whether the capture records where the host reads values; of programs on the
            CPU it need not, as nothing waits there.
        words: how programs write a barrier, what the host does that launches, if that is no graph
            (``dispatch``), what to do where nothing ran on a device (``idle``: what is said then,
            if not of a device of XLA), what logs graphs, and graph breaks (``breaks``), the command
            that installs it, and the code that starts its profiler's server on PORT; and what
            rules call a tensor, a graph and its launch, an input, and what is compiled.
        operators: by trait, as counters name them (``a::b``, which modules write ``a__b``).
            ``constant``: a number of the program; ``device_data``: a tensor that lies on the
            device; ``insignificant``: comes and goes with the optimization around it;
            ``reads_scalar``: its fallbacks are reads; ``sized_by_data``: the data decide the size
            of its result; ``takes_numbers``: Python's numbers are inputs of it, but for special
            ones.
        own_counters: prefixes of operators that are counted but are not fallbacks.
        settings: regular expressions for environment variables that only say where something is
            written (``place``), or on which devices the program runs (``device``).
        metrics: names of metrics and counters by what they measure; ``eager``: of operators
            compiled and launched one by one, outside of any graph; ``compiled``: graphs that were
            new, ``launched_again``: graphs that were not; ``graph_size``: operations of a graph;
            ``fetch``: transfers from the device; ``upload``, ``sent``: those to it, their time and
            their bytes; ``handles``: counters of the runtime that every report has. The first name
            counts that there are figures of.
        causes: regular expressions for a part of the sentence by which its log says what launched a
            graph: a barrier, or a value that was read before one.
        events: names in timelines, by meaning. ``graph``: one is cut, by a barrier or otherwise;
            ``launch``: one is handed over; ``execution``: the runtime is called, in names that
            begin so; ``compilation``: of a graph, which has its hash; ``client_compilation``: the
            client's part of it; ``fetch`` and ``send``: transfers of tensors; ``call``: of a
            compiled function, in names that begin so and end in the function's and a bracket;
            ``step``: of the loop, in names that begin so and end in its number; ``backward``: of a
            thread that runs the backward pass, and ``operator``: that the host runs one by one, in
            names that begin so; ``compiled``: compiled code runs instead, ``update``: the optimizer
            does, and ``collective``: a device exchanges with others, likewise; ``part``: of a
            compiled function, in names that begin so and end in the number that its compiler gave
            it, FUNCTION/VERSION.
        modules: how the names of its modules begin.
        categories: of the events that its own profiler writes, in small letters.
        runtimes: of devices whose calls the activities name, by what people call them: regular
            expression for the whole name of a call.
        strange_runtimes: of devices whose calls they do not name: one for the whole category of
            events, in small letters.
        activities: regular expression for the whole name of events in which the host does that.
        phases: of compiling, each with a regular expression for the whole name of its events; those
            of the first are a compilation each.
        files: names of the framework's own Python files, without the suffix.
        own_events: one for those that are neither an activity nor the program's labels.
        resumed: one for the functions that compilers make of what follows a graph break, with that
            of the program and the line in groups.
        frames: what frames mean, the first that fits.
        reading_helpers: the framework's and those of libraries, the first that fits.
        replacements: for operators without a lowering, by name without the overload.
        reading_lines: of the program, or of libraries, where no helper is known, likewise.
        preparation: regular expressions for a part of the path of files that decode, resize,
            augment or tokenize: work for a loader's workers.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    title: str
    package: str
    traits: tuple[FrontendTrait, ...] = ()
    packages: tuple[str, ...] = ()
    checkouts: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()
    records_steps: bool = True
    records_reads: bool = True
    words: dict[Word, str] = {}
    operators: dict[Trait, tuple[str, ...]] = {}
    own_counters: tuple[str, ...] = ()
    settings: dict[SettingKind, str] = {"place": _NONE, "device": _NONE}
    metrics: dict[Meaning, tuple[str, ...]] = {}
    causes: dict[Cause, str] = {}
    events: dict[Event, tuple[str, ...]] = {}
    modules: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    runtimes: dict[str, str] = {}
    strange_runtimes: dict[str, str] = {}
    activities: dict[Activity, str] = {}
    phases: dict[str, str] = {}
    files: tuple[str, ...] = ()
    own_events: str = _NONE
    resumed: str = _NONE
    frames: tuple[FramePattern, ...] = ()
    reading_helpers: tuple[ReadingHelper, ...] = ()
    replacements: dict[str, Replacement] = {}
    reading_lines: tuple[ReadingLine, ...] = ()
    preparation: tuple[str, ...] = ()

    @property
    def all_traits(self) -> frozenset[FrontendTrait]:
        """With those that follow from the others."""
        captured: tuple[FrontendTrait, ...] = ("captured",) if "install" in self.words else ()
        return frozenset((*self.traits, *captured))


@cache
def vocabularies() -> dict[str, Vocabulary]:
    """All vocabularies by name, the default first."""
    texts = {
        name: (path / "vocabulary.yaml").read_text("utf-8") for name, path in folders().items()
    }
    return {
        name: Vocabulary.model_validate(yaml.load(texts[name], _Loader))  # noqa: S506  # safe
        for name in sorted(texts, key=lambda name: (name != DEFAULT, name))
    }


@cache
def captured() -> tuple[Vocabulary, ...]:
    """Those of the frontends whose programs can be captured, the default first."""
    return tuple(each for each in vocabularies().values() if "captured" in each.all_traits)


def frontends_with(traits: Iterable[FrontendTrait]) -> list[str]:
    """The names of the frontends that have one of these traits, the default first."""
    wanted = frozenset(traits)
    return [name for name, each in vocabularies().items() if wanted & each.all_traits]


def vocabulary(name: str | None = None) -> Vocabulary:
    """The vocabulary of a frontend; the default if it has none or is unknown."""
    return vocabularies().get(name or DEFAULT, vocabularies()[DEFAULT])


@cache
def events(meaning: Event) -> tuple[str, ...]:
    """The names of events with this meaning in any frontend: a timeline does not say which."""
    return tuple(name for each in vocabularies().values() for name in each.events.get(meaning, ()))


def in_words(text: str, frontend: str) -> str:
    """A text with the words of a frontend for ``{{ words.tensor }}`` and the like.

    Filters: ``capitalize``, ``plural``, and ``a``, which puts the article before it.
    Raises ValueError where there is no such word.
    """
    words: Mapping[Any, str] = {**_PLAIN, **vocabulary(frontend).words}

    def word(match: re.Match[str]) -> str:
        found = words.get(match[1])
        if found is None:
            raise ValueError(f"no such word: {match[1]} (known: {', '.join(_PLAIN)})")
        for name in re.findall(r"\| (\w+)", match[0]):
            found = _FILTERS[name](found)
        return found

    return _WORD.sub(word, text)


_FILTERS: dict[str, Callable[[str], str]] = {
    "capitalize": str.capitalize,
    "plural": lambda word: f"{word}{'es' if word.endswith('ch') else 's'}",
    "a": lambda word: f"{'an' if word[0] in 'aeiou' else 'a'} {word}",
}


@cache
def with_trait(trait: Trait) -> frozenset[str]:
    """The operators with this trait in any frontend."""
    return frozenset(op for each in vocabularies().values() for op in each.operators.get(trait, ()))


def called(event: str) -> str | None:
    """The compiled function that an event is a call of; None if it is of no call."""
    begins = (name for name in events("call") if event.startswith(name))
    return next((event.removeprefix(name).removesuffix(")") for name in begins), None)


def part_of(event: str) -> str | None:
    """The number of the part of a compiled function that an event is a call of, as 0/1; or None."""
    begins = (name for name in events("part") if event.startswith(name))
    return next((event.removeprefix(name) for name in begins), None)


@cache
def phase_of(event: str) -> str | None:
    """The phase of compiling that an event is of, in any frontend; None for other events."""
    return next(
        (
            phase
            for each in vocabularies().values()
            for phase, names in each.phases.items()
            if re.fullmatch(names, event)
        ),
        None,
    )


def written_in(names: Collection[str], categories: frozenset[str] = frozenset()) -> str | None:
    """The frontend of a timeline with these names: whose profiler wrote it, by the categories of
    its events; or else whose events it has; or else whose modules.
    """
    of: tuple[Callable[[Vocabulary], Iterable[str]], ...] = (
        lambda words: chain(*words.events.values()),
        lambda words: words.modules,
    )
    by_category = (
        name for name, words in vocabularies().items() if categories & {*words.categories}
    )
    by_name = (
        name
        for begins in of
        for name, words in vocabularies().items()
        if any(map(methodcaller("startswith", tuple(begins(words))), names))
    )
    return next(by_category, None) or next(by_name, None)


@cache
def categories() -> frozenset[str]:
    """The categories of events that a framework's own profiler writes, of any frontend."""
    return frozenset(chain(*(each.categories for each in vocabularies().values())))


@cache
def of_known_runtime() -> re.Pattern[str]:
    """The names of calls of runtimes whose calls are understood, of any frontend."""
    patterns = chain(*(each.runtimes.values() for each in vocabularies().values()))
    return re.compile("|".join(patterns))


def strange_runtime(categories: Iterable[str]) -> str | None:
    """What a runtime is called whose calls are not understood, by the categories of its events."""
    runtimes = chain(*(each.strange_runtimes.items() for each in vocabularies().values()))
    found = (
        name
        for name, pattern in runtimes
        if any(re.fullmatch(pattern, category) for category in categories)
    )
    return next(found, None)


@cache
def own_events() -> re.Pattern[str]:
    """The frameworks' own events that are no activity, of any frontend."""
    return re.compile("|".join(each.own_events for each in vocabularies().values()))


@cache
def resumed(function: str) -> tuple[str, int] | None:
    """The function and the line that a function of a compiler goes on after, in any frontend."""
    found = (re.fullmatch(each.resumed, function) for each in vocabularies().values())
    match = next(filter(None, found), None)
    return (match[1], int(match[2])) if match else None


@cache
def own_files() -> frozenset[str]:
    """The names of the frameworks' own Python files, of any frontend."""
    return frozenset(name for each in vocabularies().values() for name in each.files)


def tables(frontend: str) -> dict[str, dict[str, list[Any]]]:
    """The vocabulary of a frontend as tables of the evidence, in columns."""
    words = vocabulary(frontend)
    traits = [(op, trait) for trait, ops in words.operators.items() for op in ops]
    helpers = [(helper, kind) for helper in words.reading_helpers for kind in helper.reads]
    meanings = [
        (name, meaning, rank)
        for meaning, names in words.metrics.items()
        for rank, name in enumerate(names)
    ]
    return {
        "operator_trait": {
            "op": [op for op, _ in traits],
            "op_type": [op.replace("::", "__") for op, _ in traits],
            "trait": [str(trait) for _, trait in traits],
        },
        "own_counter": {"prefix": list(words.own_counters)},
        "metric_meaning": {
            "name": [name for name, _, _ in meanings],
            "meaning": [str(meaning) for _, meaning, _ in meanings],
            "rank": [rank for _, _, rank in meanings],
        },
        "cause_meaning": {
            "sentence": list(words.causes.values()),
            "meaning": [str(meaning) for meaning in words.causes],
        },
        "reading_helper": {
            "package": [helper.package or "" for helper, _ in helpers],
            "function": [helper.function for helper, _ in helpers],
            "kind": [kind for _, kind in helpers],
            "purpose": [helper.purpose for helper, _ in helpers],
            "cure": [helper.cure for helper, _ in helpers],
        },
        "replacement": {
            "op": list(words.replacements),
            "call": [each.call for each in words.replacements.values()],
            "instead": [each.instead for each in words.replacements.values()],
            "given": [each.where or None for each in words.replacements.values()],
        },
        "unrecorded": {"what": [] if words.records_reads else ["read"]},
        "preparation": {"file": list(words.preparation)},
        "reading_line": {
            "call": [line.call for line in words.reading_lines],
            "method": [line.method for line in words.reading_lines],
            "but": [line.but for line in words.reading_lines],
            "purpose": [str(line.purpose) for line in words.reading_lines],
            "cure": [line.cure for line in words.reading_lines],
        },
    }
