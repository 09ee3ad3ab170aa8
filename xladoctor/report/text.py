"""Writing text: within a width, in what the output's encoding can carry."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable
from dataclasses import fields, is_dataclass, replace
from typing import TextIO, TypeVar, cast

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.measure import Measurement
from rich.text import Text

from xladoctor.report.interface import Style

_PLAIN = (("·", "-"), ("×", "x"), ("µ", "u"), ("…", "..."), ("→", "->"), ("—", "-"), ("–", "-"),
          ("│", "|"), ("─", "-"))  # fmt: skip

Value = TypeVar("Value")


def write(parts: Iterable[RenderableType], output: TextIO, style: Style) -> None:
    """Write parts one under the other."""
    text = io.StringIO()
    console = Console(
        file=text, width=style.width, no_color=not style.color, force_terminal=style.color,
        color_system="standard" if style.color else None, highlight=False, emoji=False,
        markup=False,
    )  # fmt: skip
    console.print(Group(*parts), crop=False)  # what is to be copied may be longer
    output.writelines(f"{line.rstrip()}\n" for line in text.getvalue().splitlines())


class FittedText:
    """A text that is made for the width it gets, as that of a column.

    Args:
        make: gives the text for a width.
    """

    def __init__(self, make: Callable[[int], Text]) -> None:
        self._make = make

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield self._make(options.max_width)

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement(1, options.max_width)


def plain(text: str, style: Style) -> str:
    """The text without control characters, in what the output's encoding can carry."""
    text = text.expandtabs(4)
    text = "".join(c if c.isprintable() or c == "\n" else f"\\x{ord(c):02x}" for c in text)
    if style.unicode:
        return text
    for special, ascii_text in _PLAIN:
        text = text.replace(special, ascii_text)
    return text.encode("ascii", "replace").decode()


def printable(value: Value, style: Style) -> Value:
    """The same with all texts in it made fit for the terminal: they come from the program."""
    if isinstance(value, str):
        return cast(Value, plain(value, style))
    if isinstance(value, list):
        return cast(Value, [printable(item, style) for item in value])
    if is_dataclass(value) and not isinstance(value, type):
        texts = {f.name: printable(getattr(value, f.name), style) for f in fields(value)}
        return replace(value, **texts)
    return value
