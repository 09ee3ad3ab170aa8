"""Writing text: within a width, in what the output's encoding can carry."""

from __future__ import annotations

import io
from collections.abc import Iterable
from typing import TextIO

from rich.console import Console, Group, RenderableType

from xladoctor.report.interface import Style

_PLAIN = (("·", "-"), ("×", "x"), ("µ", "u"), ("…", "..."), ("→", "->"), ("—", "-"), ("–", "-"),
          ("│", "|"), ("─", "-"))  # fmt: skip


def write(parts: Iterable[RenderableType], output: TextIO, style: Style) -> None:
    """Write parts one under the other."""
    text = io.StringIO()
    console = Console(
        file=text, width=style.width, no_color=not style.color, force_terminal=style.color,
        color_system="standard" if style.color else None, highlight=False, emoji=False,
        markup=False,
    )  # fmt: skip
    console.print(Group(*parts))
    output.writelines(f"{line.rstrip()}\n" for line in text.getvalue().splitlines())


def plain(text: str, style: Style) -> str:
    """The text without control characters, in what the output's encoding can carry."""
    text = "".join(c if c.isprintable() or c == "\n" else f"\\x{ord(c):02x}" for c in text)
    if style.unicode:
        return text
    for special, ascii_text in _PLAIN:
        text = text.replace(special, ascii_text)
    return text.encode("ascii", "replace").decode()
