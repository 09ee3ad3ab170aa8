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
from typing import Any

import yaml

from xladoctor.frontends import folders
from xladoctor.frontends.vocabulary_file import Event, FrontendTrait, Trait, Vocabulary, Word

#: For evidence that does not name its frontend: metrics reports, timelines of other profilers.
DEFAULT = "torch_xla"

#: What rules call things where a framework has no word of its own for them.
_PLAIN: dict[Word, str] = {
    "tensor": "tensor",
    "graph": "graph",
    "launch": "launch",
    "input": "input",
    "compiled": "graph",
}
_WORD = re.compile(r"\{\{ words\.(\w+)(?: \| (capitalize|a|plural))* \}\}")
#: The phase of compiling that encloses the others.
FIRST_PHASE = "dynamo"

#: What a vocabulary has of another that it ``reads_like``.
_OF_READS = ("frames", "reading_helpers", "reading_lines", "preparation")

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # faster, if PyYAML has it


@cache
def vocabularies() -> dict[str, Vocabulary]:
    """All vocabularies by name, the default first."""
    texts = {
        name: (path / "vocabulary.yaml").read_text("utf-8") for name, path in folders().items()
    }
    given = {name: yaml.load(text, _Loader) for name, text in texts.items()}  # noqa: S506  # safe
    for words in given.values():
        if (other := words.get("reads_like")) is not None:
            words.update({key: given[other][key] for key in _OF_READS if key not in words})
    return {
        name: Vocabulary.model_validate(given[name])
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
    function = _behind("call", event)
    return function and function.removesuffix(")")


def part_of(event: str) -> str | None:
    """The number of the part that an event is a call of, such as 0/1; None for other events."""
    return _behind("part", event)


def _behind(meaning: Event, event: str) -> str | None:
    begins = (name for name in events(meaning) if event.startswith(name))
    return next((event.removeprefix(name) for name in begins), None)


@cache
def phase_of(event: str) -> str | None:
    """The phase of compiling that an event belongs to, in any frontend; None for other events."""
    phases = chain(*(each.phases.items() for each in vocabularies().values()))
    return next((phase for phase, names in phases if re.fullmatch(names, event)), None)


def written_in(names: Collection[str], categories: frozenset[str] = frozenset()) -> str | None:
    """The frontend of a timeline with these names: the one whose marks it has; or else whose
    profiler wrote it, judging by the categories of events; or else whose events it has; or else
    whose modules.
    """
    by_category = (
        name for name, words in vocabularies().items() if categories & {*words.categories}
    )
    return (
        marked(names)
        or next(by_category, None)
        or _beginning(names, lambda words: chain(*words.events.values()))
        or _beginning(names, lambda words: words.modules)
    )


def marked(names: Collection[str]) -> str | None:
    """The frontend whose marks these names have; None without any."""
    return _beginning(names, lambda words: words.marks)


def _beginning(names: Collection[str], begins: Callable[[Vocabulary], Iterable[str]]) -> str | None:
    """The first frontend with one of whose beginnings one of the names begins."""
    for frontend, words in vocabularies().items():
        if any(map(methodcaller("startswith", tuple(begins(words))), names)):
            return frontend
    return None


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
    for name, pattern in chain(
        *(each.strange_runtimes.items() for each in vocabularies().values())
    ):
        if any(re.fullmatch(pattern, category) for category in categories):
            return name
    return None


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
    traits = ((op, str(trait)) for trait, ops in words.operators.items() for op in ops)
    return {
        "operator_trait": _columns(
            "op op_type trait", ((op, op.replace("::", "__"), trait) for op, trait in traits)
        ),
        "frontend_trait": _columns(
            "frontend trait", ((frontend, str(trait)) for trait in words.traits)
        ),
        "own_counter": _columns("prefix", zip(words.own_counters)),
        "metric_meaning": _columns(
            "name meaning rank",
            (
                (name, str(meaning), rank)
                for meaning, names in words.metrics.items()
                for rank, name in enumerate(names)
            ),
        ),
        "cause_meaning": _columns(
            "sentence meaning", ((text, str(meaning)) for meaning, text in words.causes.items())
        ),
        "reading_helper": _columns(
            "package function kind purpose cure",
            (
                (helper.package or "", helper.function, kind, helper.purpose, helper.cure)
                for helper in words.reading_helpers
                for kind in helper.reads
            ),
        ),
        "replacement": _columns(
            "op call instead given but",
            (
                (op, each.call, each.instead, each.where or None, each.but or None)
                for op, each in words.replacements.items()
            ),
        ),
        "replaced_name": _columns("name instead", words.replaced.items()),
        "unrecorded": _columns("what", () if words.records_reads else (("read",),)),
        "preparation": _columns("file", zip(words.preparation)),
        "reading_line": _columns(
            "call method but purpose cure",
            (
                (line.call, line.method, line.but, str(line.purpose), line.cure)
                for line in words.reading_lines
            ),
        ),
    }


def _columns(names: str, rows: Iterable[tuple[Any, ...]]) -> dict[str, list[Any]]:
    """Rows as columns of these names."""
    made = list(rows)
    return {name: [row[at] for row in made] for at, name in enumerate(names.split())}
