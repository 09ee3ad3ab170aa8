"""Repairs metrics reports that were pasted: notes added after values, line ends lost or escaped,
the beginning cut off.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from xladoctor.frontends.vocabulary import DEFAULT, tables

#: The keys of a report's lines.
KEYS = frozenset(
    {
        "Metric",
        "TotalSamples",
        "Accumulator",
        "Mean",
        "StdDev",
        "ValueRate",
        "Rate",
        "Percentiles",
        "Counter",
        "Value",
    }
)
_ANY_KEY = "|".join(sorted(KEYS, reverse=True))
_BETWEEN = re.compile(rf"(?<!\s)(?<!\\n)(?:\\n|\s)++(?=(?:{_ANY_KEY}):\s)")
#: Keys that follow each other in each entry.
_FOLLOWING = (("TotalSamples: ", "Accumulator: "), ("Counter: ", "Value: "))
#: Characters that Markdown and Python's repr put around a line or a value.
EMPHASIS = " \t*_`'\",;"
_PERCENTILES = re.compile(r"\s*(?:\d{1,3}(?:\.\d+)?%=[^\s;]+;?\s*)+", re.ASCII)
_BEHIND = re.compile(r"\s|\\n")
_NOTE = re.compile(r"(?<!\s)\s++[^\w\s]")
_CUT_KEY = re.compile(r"(?:.*\s)?(?P<key>\w*:)?\s*(?P<name>[\w:.]+)\W*$", re.ASCII)
_LONGEST = 500  # characters of what a cut line can begin with
_NAMES = frozenset(tables(DEFAULT)["metric_meaning"]["name"])


def entries(line: str) -> Iterator[str]:
    r"""The report's lines in a line that has lost its line ends, or has them as ``\n``."""
    if any(first in line and second in line for first, second in _FOLLOWING):
        for part in _BETWEEN.split(line):
            yield part if part.endswith("\n") else f"{part}\n"
    else:
        yield line


def without_note(key: str, text: str) -> str:
    """The text after a line's key, without a note that somebody added.

    ``66   <<<< one graph each step`` is 66. Figures and names have no spaces in them.
    """
    if key == "Percentiles":
        figures = _PERCENTILES.match(text)
        return figures[0].strip() if figures else text
    if key in ("Metric", "Counter"):
        return _NOTE.split(text, maxsplit=1)[0].strip(EMPHASIS)
    return _BEHIND.split(text, maxsplit=1)[0].strip(EMPHASIS)


def cut_name(first: str, key: str) -> str | None:
    """The name of the metric or counter that a text begins with, whose first letters are cut off.

    Args:
        first: the first line, such as ``etric: CompileTime``, ``CompileTime`` or ``pileTime``.
        key: the key of the line below it.
    """
    entry = "Counter:" if key == "Value" else "Metric:"
    match = _CUT_KEY.fullmatch(first.strip()[-_LONGEST:])
    if match is None:
        return None
    if match["key"]:
        return match["name"] if entry.endswith(match["key"]) else None
    alike = sorted((name for name in _NAMES if name.endswith(match["name"])), key=len)
    return alike[0] if alike and all(name.endswith(alike[0]) for name in alike) else None
