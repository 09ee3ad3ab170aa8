"""Writing text: within a width, in what the output's encoding can carry."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any, TextIO, TypeVar, cast

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.measure import Measurement
from rich.padding import Padding
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from xladoctor.foreign import clean
from xladoctor.report.interface import Style

_PLAIN = (
    ("·", "-"),
    ("×", "x"),
    ("µ", "u"),
    ("…", "..."),
    ("→", "->"),
    ("≤", "<="),
    ("≥", ">="),
    ("—", "-"),
    ("–", "-"),
    ("│", "|"),
    ("─", "-"),
)

_SHORTEST = 24  # columns of a file's name and line, which stay whole

#: What is called on what another call or an index gives.
_CALLS = re.compile(r"(?<=[)\]])(?=\.)")
#: Fields whose newlines are meant: texts of rules, and patches.
_OF_LINES = {"why", "fix", "example", "diff"}
#: Fields that are code to insert: exact, for formats that escape what they hold.
_EXACT = {"new_text"}

#: Columns of a grid: of texts, of numbers.
FOLDED: Mapping[str, Any] = {"overflow": "fold"}
NUMBERS: Mapping[str, Any] = {"justify": "right", "no_wrap": True}

Value = TypeVar("Value")


def write(parts: Iterable[RenderableType], output: TextIO, style: Style) -> None:
    """Write parts one under the other."""
    text = io.StringIO()
    console = Console(
        file=text,
        width=style.width,
        no_color=not style.color,
        force_terminal=style.color,
        color_system="standard" if style.color else None,
        highlight=False,
        emoji=False,
        markup=False,
    )
    console.print(_Sanitized(Group(*parts)), crop=False)  # texts to copy may be longer
    output.writelines(f"{line.rstrip()}\n" for line in text.getvalue().splitlines())


class _Sanitized:
    """A renderable without control characters, except the ones that rich itself adds."""

    def __init__(self, drawn: RenderableType) -> None:
        self._drawn = drawn

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for text, style, control in console.render(self._drawn, options):
            yield Segment(clean(text, lines=True), style, control)


class FittedText:
    """A text that is made for the available width, such as a column's.

    Args:
        make: returns the text for a width.
    """

    def __init__(self, make: Callable[[int], Text]) -> None:
        self._make = make

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield self._make(options.max_width)

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement(1, options.max_width)


class Hanging:
    """An indented text whose lines after the first are indented further."""

    def __init__(self, text: Text) -> None:
        self._text = text

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for number, line in enumerate(self._text.wrap(console, options.max_width - 4)):
            yield Text("    " if number else "  ").append_text(line)


def shortened(path: str, room: int, style: Style) -> str:
    """A path, without folders in its middle where it is longer than there is room, then without
    some of the file's name; a line behind it stays.
    """
    first, *parts = path.split("/")
    dots = "…" if style.unicode else "..."
    while len(path) > room and len(parts) > 1:
        del parts[0]
        path = "/".join([first, dots, *parts])
    if len(path) > room and parts:
        path = f"{dots}/{parts[0]}"
    if (over := len(path) - max(room, _SHORTEST)) > 0:
        name, colon, line = path.rpartition(":") if ":" in path else (path, "", "")
        left = len(name) - over - len(dots)
        path = f"{name[: left // 2]}{dots}{name[left // 2 - left :]}{colon}{line}"
    return path


def breakable(text: str, width: int) -> str:
    """The text with spaces before some dots of words that are wider: code stays code with them."""
    return " ".join(_broken(word, width) for word in text.split(" "))


def _broken(word: str, width: int) -> str:
    lines = [""]
    for part in _CALLS.split(word):
        if lines[-1] and cell_len(lines[-1] + part) > width:
            lines.append("")
        lines[-1] += part
    return " ".join(lines)


def plain(text: str, style: Style, *, lines: bool = False) -> str:
    """The text in printable characters that the output's encoding can carry.

    Args:
        lines: whether its newlines are meant.
    """
    text = clean(text.expandtabs(4), lines=lines)
    if style.unicode:
        return text
    for special, ascii_text in _PLAIN:
        text = text.replace(special, ascii_text)
    return text.encode("ascii", "backslashreplace").decode()


def styled(text: str, style: Style, look: str = "") -> Text:
    """The text made plain, in a look as rich names it."""
    return Text(plain(text, style), look)


def headed(title: str, facts: Iterable[str], style: Style) -> Text:
    """A heading, and what else there is to say on its line."""
    beside = styled("".join(f" · {fact}" for fact in facts), style, "not bold dim")
    return styled(title, style, "bold").append_text(beside)


def inset(part: RenderableType, by: int = 2) -> Padding:
    """A part that begins so many columns to the right."""
    return Padding(part, (0, 0, 0, by))


def grid(
    rows: Iterable[Sequence[RenderableType]], *columns: Mapping[str, Any], gap: int = 2
) -> Table:
    """Rows of cells below each other, without lines.

    Args:
        columns: how each is set, as rich's ``add_column`` takes it; by default each as it fits.
        gap: columns of space between two.
    """
    table = Table.grid(padding=(0, gap))
    for column in columns:
        table.add_column(**column)
    for row in rows:
        table.add_row(*row)
    return table


def printable(value: Value, style: Style) -> Value:
    """The value with all texts in it, which come from the program, made plain.

    Only texts of rules and patches may have several lines.
    """
    return cast(Value, _printable(value, style, lines=False))


def _printable(value: Any, style: Style, *, lines: bool) -> Any:
    if type(value) is str:  # not a constant of an enumeration
        return plain(value, style, lines=lines)
    if type(value) in (list, tuple):
        return type(value)(_printable(item, style, lines=lines) for item in value)
    if isinstance(value, dict):
        return {
            _printable(key, style, lines=False): _printable(item, style, lines=lines)
            for key, item in value.items()
        }
    if is_dataclass(value) and not isinstance(value, type):
        printable = {
            f.name: _printable(getattr(value, f.name), style, lines=f.name in _OF_LINES)
            for f in fields(value)
            if f.name not in _EXACT
        }
        return replace(value, **printable)
    return value
