"""Text of the user's program in Markdown and HTML: shown as it is, obeyed nowhere.

Addresses, mentions and references to issues, commits, labels and the like are found in the rendered
text, so no escape of Markdown's keeps them from being links; a space of no width does.
"""

from __future__ import annotations

import html
import re
from collections.abc import Sequence

_SPECIAL = re.compile(r"([\\`*_\[\]<>&|~$!])")
_START = re.compile(r"^(\d*)([-+=.)#])")  # of a list, a heading or the line under one
_CODE = re.compile(  # running_loss, f32[16,64], xm.add_step_closure(log, args=(loss,))
    r"(?<![^\s(])((?=[\w./=-]*[_\[(])(?=-{0,2}[a-z_])[\w./=-]+"
    r"(?:(?:\[[\w.,:*-]{0,80}\]|\((?:[^()`]|\([^()`]{0,40}\)){0,80}\))[\w./]*)*(?<![./=-]))"
    r"(?=[\s,;:.)?!]|$)",
    re.IGNORECASE,
)
_ESCAPED_START = r"\1\\\2"
_LINKED = re.compile(
    r"([@#](?=\\?\w)"  # the letter may be escaped already
    r"|[~%](?=\\?[\w\"])|[!&$](?=\d)|\*(?=iteration:)|\[(?=[a-z_\\]+:)"  # GitLab's own
    r"|:(?=//)|\bwww(?=\.)|\b(?:mailto|xmpp)(?=:)"
    r"|\bG[HL](?=-\d)|\b(?=\d*[a-f])[0-9a-f](?=[0-9a-f]{6,39}\b))",
    re.IGNORECASE,
)
_APART = "\u200b"  # foreign text, which is printable, has none


def inline(text: str) -> str:
    """Text in a paragraph, an item of a list or a cell of a table."""
    return _START.sub(_ESCAPED_START, _escaped(_line(text)))


def prose(text: str) -> str:
    """The same where calls, names with ``_`` and what stands between backticks are code; not in a
    table."""
    parts = [
        (part, nth % 2 or at % 2)
        for nth, quoted in enumerate(re.split("`([^`]+)`", _line(text)))
        for at, part in enumerate([quoted] if nth % 2 else _CODE.split(quoted))
    ]
    shown = [code(part) if is_code else _escaped(part) for part, is_code in parts if part]
    return _START.sub(_ESCAPED_START, "".join(shown))


def element(text: str) -> str:
    """Text in an HTML element of one line."""
    return _entities(html.escape(_apart(_line(text)), quote=False))


def code(text: str) -> str:
    """Code in a paragraph; not in a table."""
    text = _line(text)
    ticks = _fence(text, 1)
    space = " " if text.startswith("`") or text.endswith("`") or not text else ""
    return f"{ticks}{space}{text}{space}{ticks}"


def block(source: str, language: str) -> str:
    """Lines of code."""
    ticks = _fence(source, 3)
    return f"{ticks}{language}\n{source}\n{ticks}"


def table(names: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of cells that are Markdown."""
    lines = [names, ["---"] * len(names), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _escaped(text: str) -> str:
    return _entities(_apart(_SPECIAL.sub(r"\\\1", text)))


def _apart(text: str) -> str:
    return _LINKED.sub(rf"\1{_APART}", text)


def _entities(text: str) -> str:
    return text.replace(_APART, "&#8203;")


def _fence(text: str, least: int) -> str:
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    return "`" * max(least, longest + 1)


def _line(text: str) -> str:
    return " ".join(text.split())
