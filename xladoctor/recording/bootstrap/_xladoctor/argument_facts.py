"""Facts about the arguments of compiled functions; see ``facts.py``."""

from typing import Annotated

from .facts import Count, Duration, Fact, Number, Site, Size, ThreadId


class Flattening(
    Fact,
    event="flattening",
    source="steps.jsonl",
    example="SELECT leaves, duration_ns - plain_ns AS ns, file, line FROM flattening",
):
    """What a call of a compiled function takes to flatten its arguments, timed once beside it."""

    thread: ThreadId
    compiled: Annotated[str, "the function"]
    leaves: Annotated[Size, "arrays and numbers in the arguments"]
    duration_ns: Annotated[Duration, "of a call"]
    plain_ns: Annotated[Duration, "the same, if the leaves were given as a tuple"]
    argument: Annotated[str, "the argument that takes most of it"]
    argument_leaves: Annotated[Size, "leaves of that"]
    node: Annotated[str | None, "class of the first node that is none of Python's own"] = None
    site: Site


class ArgumentUse(
    Fact,
    event="use",
    source="steps.jsonl",
    example="SELECT compiled, number, used FROM argument_use WHERE used IS NOT NULL",
):
    """A large argument of a compiled function, and what still needed it after some call."""

    thread: ThreadId
    compiled: Annotated[str, "the function"]
    number: Annotated[Number, "which array of the arguments, from 0; as in call_array"]
    used: Annotated[
        str | None,
        "again (passed twice, or to the next call too), launch (of another line), read, or kept "
        "(alive at the next call); NULL if nothing was seen to need it",
    ] = None
    site: Site


class ArgumentReshard(
    Fact,
    event="reshard",
    source="steps.jsonl",
    example="SELECT compiled, number, calls, bytes, before, after, line FROM argument_reshard",
):
    """A large array that a line passed again and again, and that each call first brought to another
    sharding; after 4, 8, 16, … calls.
    """

    thread: ThreadId
    compiled: Annotated[str, "the function"]
    number: Annotated[Number, "which array of the arguments, from 0; as in call_array"]
    calls: Annotated[Count, "with this array, after the first"]
    bytes: Annotated[Size, "of the array"]
    sent_bytes: Annotated[Size, "that all devices have of it then, copies included"]
    before: Annotated[str, "how it was placed"]
    after: Annotated[str, "how the function wants it"]
    duration_ns: Annotated[Duration, "that these calls took to bring it there, as the host sees it"]
    span_ns: Annotated[Duration, "since the first call"]
    site: Site
