"""The vocabulary of each frontend: ``vocabulary.yaml`` in its folder.

A frontend is the framework that a program is written in. Its vocabulary gives the meaning of its
names in evidence: operators, metrics, events and frames. Readers and views use these meanings. The
names of XLA's own runtime are not in it, as they are the same for all frontends.
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
#: What a value is read for: to show progress, to decide what to do next, for a check inside one of
#: the framework's helpers, for a metric, for a line of log.
Purpose = Literal["progress", "condition", "helper", "metric", "log"]
#: The phase of compiling that encloses the others.
FIRST_PHASE = "dynamo"
_NONE = "(?!)"  # matches nothing

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # faster, if PyYAML has it


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
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    call: str
    instead: str
    where: str = ""


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


class Vocabulary(BaseModel):
    """The names of one frontend; a field is left out if the framework has nothing of the kind.

    Attributes:
        title: the framework's common name.
        package: the package to install and import.
        packages: packages whose frames are the framework's, not the user's.
        traits: ``runs_xla``: its graphs are modules of XLA; ``has_barriers``: it records operations
            until a barrier compiles and runs them; ``compiles_functions``: it compiles what a call
            of a function does; ``breaks_graphs``: a function may be split into several graphs;
            ``launches_operators``: it also runs operators one by one. ``captured``: its programs
            can be captured; this follows from the words (``install``).
        checkouts: folders of repositories that people run these packages from.
        requires: packages that a captured program needs, and whose versions matter.
        records_steps: whether each step is recorded again, operation by operation.
        records_reads: whether the capture records where the host reads values; unnecessary on the
            CPU, as nothing waits there.
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
        runtimes: runtimes of devices whose calls the activities name, by their common name: regular
            expression for the whole name of a call.
        strange_runtimes: runtimes whose calls the activities do not name: regular expression for
            the whole category of events, in lower case.
        activities: by activity of the host, regular expression for the whole name of its events.
        phases: phases of compiling, each with a regular expression for the whole name of its
            events; each event of the first is a compilation.
        files: names of the framework's own Python files, without the suffix.
        own_events: regular expression for the framework's events that are not an activity.
        resumed: regular expression for the functions that a compiler makes from what follows a
            graph break; its groups are the program's function and the line.
        frames: what frames mean; the first match counts.
        reading_helpers: helpers of the framework and of libraries; the first match counts.
        replacements: for operators without a lowering, by name without the overload.
        reading_lines: lines of the program, or of libraries, if no helper matches; the first match
            counts.
        preparation: regular expressions for part of the path of files that decode, resize, augment
            or tokenize: work for a loader's workers.
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
        """Its traits, including those that follow from others."""
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
    """The vocabularies of frontends whose programs can be captured, the default first."""
    return tuple(each for each in vocabularies().values() if "captured" in each.all_traits)


def frontends_with(traits: Iterable[FrontendTrait]) -> list[str]:
    """The names of the frontends that have one of these traits, the default first."""
    wanted = frozenset(traits)
    return [name for name, each in vocabularies().items() if wanted & each.all_traits]


def vocabulary(name: str | None = None) -> Vocabulary:
    """The vocabulary of a frontend; the default one if the frontend is unknown."""
    return vocabularies().get(name or DEFAULT, vocabularies()[DEFAULT])


@cache
def events(meaning: Event) -> tuple[str, ...]:
    """The names of events with this meaning in any frontend, as timelines do not name theirs."""
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


def plural(word: str) -> str:
    """The plural of a word for messages."""
    return f"{word}{'es' if word.endswith('ch') else 's'}"


_FILTERS: dict[str, Callable[[str], str]] = {
    "capitalize": str.capitalize,
    "plural": plural,
    "a": lambda word: f"{'an' if word[0] in 'aeiou' else 'a'} {word}",
}


@cache
def with_trait(trait: Trait) -> frozenset[str]:
    """The operators with this trait in any frontend."""
    return frozenset(op for each in vocabularies().values() for op in each.operators.get(trait, ()))


def called(event: str) -> str | None:
    """The compiled function that an event is a call of; None if it is not a call."""
    begins = (name for name in events("call") if event.startswith(name))
    return next((event.removeprefix(name).removesuffix(")") for name in begins), None)


def part_of(event: str) -> str | None:
    """The number of the part that an event is a call of, such as 0/1; None for other events."""
    begins = (name for name in events("part") if event.startswith(name))
    return next((event.removeprefix(name) for name in begins), None)


@cache
def phase_of(event: str) -> str | None:
    """The phase of compiling that an event belongs to, in any frontend; None for other events."""
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
    """The frontend of a timeline with these names: the one whose profiler wrote it, judging by the
    categories of events; or else the one whose events it has; or else whose modules.
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
    """The categories of events that the profilers of all frontends write."""
    return frozenset(chain(*(each.categories for each in vocabularies().values())))


@cache
def of_known_runtime() -> re.Pattern[str]:
    """A pattern for calls of runtimes that are supported, of any frontend."""
    patterns = chain(*(each.runtimes.values() for each in vocabularies().values()))
    return re.compile("|".join(patterns))


def strange_runtime(categories: Iterable[str]) -> str | None:
    """The name of a runtime that is not supported, by the categories of its events."""
    runtimes = chain(*(each.strange_runtimes.items() for each in vocabularies().values()))
    found = (
        name
        for name, pattern in runtimes
        if any(re.fullmatch(pattern, category) for category in categories)
    )
    return next(found, None)


@cache
def own_events() -> re.Pattern[str]:
    """A pattern for the frameworks' own events that are not an activity, of any frontend."""
    return re.compile("|".join(each.own_events for each in vocabularies().values()))


@cache
def resumed(function: str) -> tuple[str, int] | None:
    """The function and line after which a compiler's function continues, in any frontend."""
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
