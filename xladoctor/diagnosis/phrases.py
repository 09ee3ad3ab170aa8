"""The templates of messages, and their filters: what several rules say in the same words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from jinja2 import StrictUndefined
from jinja2.sandbox import ImmutableSandboxedEnvironment

from xladoctor.frontends.vocabulary import plural
from xladoctor.quantities import duration, percent


def places(values: Iterable[Mapping[str, Any]]) -> str:
    """``a.py:3, b.py:4``: places of structs with a file and a line; with ``count``, how often."""
    return ", ".join(
        f"{value['file']}:{value['line']}"
        + (f" ({value['count']} times)" if "count" in value else "")
        for value in values
    )


def shares(values: Iterable[Mapping[str, Any]]) -> str:
    """``a.py:3 (60%), b.py:4 (20%)``, as table ``hottest_lines`` has them."""
    return ", ".join(f"{value['place']} ({100 * value['share']:.0f}%)" for value in values)


def part_of_step(cause: Mapping[str, Any]) -> str:
    """A sentence on how much of a step the function takes; empty if that is not known."""
    if not cause["frame_ms"]:
        return ""
    step, function = cause["step_ms"], cause["frame_ms"]
    return f" A step without compiling takes {step:.3g} ms, the function {function:.3g} ms of it."


def in_steps(cause: Mapping[str, Any]) -> str:
    """The share of steps that have a read, such as `` in 91% of the steps``; empty if unknown."""
    share = cause["share_of_steps"]
    return "" if share is None else f" in {percent(share)} of {cause['steps_of']}"


def above_barrier(cause: Mapping[str, Any]) -> str:
    """That reads stand above the barrier, and what they cut off; empty if they do not."""
    count = cause["cut_off"]
    if not count:
        return ""
    graphs = f"{count} graphs were" if count > 1 else "one graph was"
    took = f" ({cause['cut_off_s']:.3g} s)" if cause["cut_off_s"] else ""
    return (
        " It is above the barrier, so each read launches a separate graph:"
        f" {graphs} compiled for it{took}."
    )


def of_launches(count: int, cause: Mapping[str, Any], launch: str) -> str:
    """``21 of 24 launches``, or ``21 of 21 warmed-up launches`` if warm-up is not counted.

    ``launch`` is what the framework calls one; the function that was called is named after it.
    """
    if cause["warmed_up"]:
        of = f" of {cause['warmed_up']} warmed-up"
    else:
        of = f" of {cause['launches']}" if cause["launches"] else ""
    called = f" of {cause['compiled']}" if cause["compiled"] else ""
    return f"{count}{of} {plural(launch) if of or count != 1 else launch}{called}"


def since_last(cause: Mapping[str, Any], launch: str) -> str:
    """A sentence on the launches since the last new graph; empty if new ones came to the end."""
    if not cause["quiet"]:
        return ""
    of = f"in the last {cause['quiet']} {plural(launch) if cause['quiet'] != 1 else launch}"
    return f" It has settled: nothing new {of}." if cause["settled"] else f" Nothing new {of}."


def padding_multiple(sizes: Sequence[int]) -> int:
    """The number to pad sizes to a multiple of: one length for similar sizes, else about four."""
    longest = max(sizes)
    return 8 * -(-longest // 8) if longest <= 2 * min(sizes) else 32 * -(-longest // 128)


def variable(name: str | None) -> str:
    """The name of an argument as code has it; ``x`` if it is unknown, or of a part of one."""
    return name if name and name.isidentifier() else "x"


_FILTERS = (
    *(percent, duration, in_steps, above_barrier, of_launches, since_last, part_of_step),
    *(places, shares, padding_multiple, variable),
)
#: Sandboxed: a third-party rule's message can only produce text.
TEMPLATES = ImmutableSandboxedEnvironment(
    undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
)
TEMPLATES.filters.update({each.__name__: each for each in _FILTERS})
