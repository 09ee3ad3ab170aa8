"""What names mean in the frontends that the evidence is of."""

from typing import Annotated

from xladoctor.recording.bootstrap._xladoctor.facts import Fact, Number


class _Vocabulary(Fact, source="frontend", process=False): ...


class OperatorTrait(
    _Vocabulary, example="SELECT op FROM operator_trait WHERE trait = 'sized_by_data'"
):
    """A trait of an operator."""

    op: Annotated[str, "operator, as counters and messages name it"]
    op_type: Annotated[str, "the same, as compiled modules name it"]
    trait: Annotated[str, "what it is or does: constant, sized_by_data, takes_numbers and others"]


class FrontendTrait(
    _Vocabulary, example="SELECT frontend FROM frontend_trait WHERE trait = 'reads_only_wait'"
):
    """What a framework does."""

    frontend: Annotated[str, "the framework, as in process"]
    trait: Annotated[str, "runs_xla, compiles_functions, reads_only_wait and others"]


class OwnCounter(
    _Vocabulary, example="SELECT value FROM counter, own_counter WHERE starts_with(name, prefix)"
):
    """Counters that look like operators but are not."""

    prefix: Annotated[str, "how their names begin"]


class MetricMeaning(
    _Vocabulary, example="SELECT name FROM metric_meaning WHERE meaning = 'compile' ORDER BY rank"
):
    """Metrics that measure what each frontend does."""

    name: Annotated[str, "name of the metric"]
    meaning: Annotated[str, "compile, execute, read, upload, sent, eager_compile, eager_execute, …"]
    rank: Annotated[Number, "of several that mean the same, the lowest counts"]


class CauseMeaning(
    _Vocabulary, example="SELECT sentence FROM cause_meaning WHERE meaning = 'barrier'"
):
    """What a log says that graphs were launched for."""

    sentence: Annotated[str, "regular expression for a part of the log's sentence (cause)"]
    meaning: Annotated[str, "barrier or read: a value that is needed before one"]


class ReadingHelper(_Vocabulary, example="SELECT package, function, cure FROM reading_helper"):
    """Helpers that read from the device."""

    package: Annotated[str, "library that they are in; empty for the framework's own"]
    function: Annotated[
        str, "regular expression for what was called (via), of a library for the reader"
    ]
    kind: Annotated[str, "kind of the read, as in host_sync"]
    purpose: Annotated[
        str, "progress, condition, helper, metric, log: what it reads for, if special"
    ]
    cure: Annotated[str, "what to do instead, a sentence"]


class ReadingLine(_Vocabulary, example="SELECT call, purpose FROM reading_line"):
    """What lines read values for."""

    call: Annotated[str, "regular expression for the end of the name of what they call; or empty"]
    method: Annotated[
        str, "regular expression for the last part of the function's name that they are in"
    ]
    but: Annotated[str, "regular expression for kinds of reads that they do not make"]
    purpose: Annotated[str, "as in reading_helper"]
    cure: Annotated[str, "what to do instead, a sentence"]


class Unrecorded(_Vocabulary, example="SELECT what FROM unrecorded"):
    """What a capture does not record on a device other than the CPU."""

    what: Annotated[str, "read"]


class Preparation(_Vocabulary, example="SELECT file FROM preparation"):
    """Libraries that decode, resize, augment or tokenize."""

    file: Annotated[str, "regular expression for a part of the path of their files"]


class Replacement(_Vocabulary, example="SELECT op, instead FROM replacement"):
    """Code that does without an operator that has no lowering."""

    op: Annotated[str, "operator, without its overload"]
    call: Annotated[str, "code that uses it"]
    instead: Annotated[str, "code that gives the same values, and is lowered"]
    given: Annotated[str, "what defines its names, if anything"]
    but: Annotated[str, "where the result differs, if anywhere"]


class ReplacedName(_Vocabulary, example="SELECT name, instead FROM replaced_name"):
    """What takes the place of names and settings of the package that was replaced, or of earlier
    releases.
    """

    name: Annotated[str, "the name in full; the setting"]
    instead: Annotated[str, "what takes its place, or what to do without it"]
