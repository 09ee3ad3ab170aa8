"""Text of the user's program in Markdown and HTML: shown as it is, obeyed nowhere.

Addresses, mentions and references to issues, commits, labels and the like are found in the rendered
text, so no escape of Markdown's keeps them from being links; a space of no width does.
"""

from __future__ import annotations

import html
import re
from collections.abc import Sequence

from xladoctor.frontends.vocabulary import vocabularies

_SPECIAL = re.compile(r"([\\`*_\[\]<>&|~$!])")
_START = re.compile(r"^(\d*)([-+=.)#])")  # of a list, a heading or the line under one
_ESCAPED_START = r"\1\\\2"
_LINKED = re.compile(
    r"([@#](?=\\?\w)"  # the letter may be escaped already
    r"|[~%](?=\\?[\w\"])|[!&$](?=\d)|\*(?=iteration:)|\[(?=[a-z_\\]+:)"  # GitLab's own
    r"|:(?=//)|\bwww(?=\.)|\b(?:mailto|xmpp)(?=:)"
    r"|\bG[HL](?=-\d)|\b(?=\d*[a-f])[0-9a-f](?=[0-9a-f]{6,39}\b))",
    re.IGNORECASE,
)
_APART = "\u200b"  # foreign text, which is printable, has none

#: As programs call modules of the packages, and of what they build on.
_MODULES = {"jnp", "np", "nn", "xm", "xp", "optax"}


def _code_in_prose() -> re.Pattern[str]:
    """Names with ``_``, calls, options, and what is assigned or computed from them, in a text
    whose brackets are hollow: running_loss, dynamic=False, n = len(), x[] < n, if step % 10 == 0:
    """
    bracket = r"(?:\(\0*\)|\[\0*\])"
    more = rf"(?:{bracket}|\.[a-z_]\w*)*+"
    name = r"(?:-{0,2}|\.)[a-z_]\w*+(?:[./=-]+\w+)*+"
    packages = {name for each in vocabularies().values() for name in each.packages}
    names = "|".join(sorted(packages | _MODULES))
    item = rf"[\w.-]++{more}(?: [%*+-] [\w.-]++)?+"
    telling = (
        rf"(?:{name}(?=[\[(]){more}|[\w./-]++(?<=\.py):\d+|(?=[\w./=-]*_){name}{more}|[a-z]\w*=[\w'\".-]+"
        rf"|(?:{names})\.[a-z]\w*{more}|\(-?\d+(?:, {item})++\))(?<![./=-])"
    )
    group = rf"[(\[](?:[^()\[\]]|{bracket}){{0,80}}+[)\]]{more}"
    term = rf"(?:{telling}|[a-z_][\w.]*(?<!\.)|-?\d[\w.]*(?<!\.)|{group}|\"[^\"]*\")"
    sets, joins = r"(?:[+*/-]?=|==|!=|\*\*)", r"(?:[<>]=?|//?|[*%+@&|-])"
    either = f"(?:{sets}|{joins})"
    computed = rf"(?:{term} {either} ){{0,6}}{telling}(?: {either} {term}){{0,6}}"
    assigned = rf"{term}(?: {joins} {term}){{0,4}} {sets} {term}(?: {joins} {term}){{0,4}}"
    tested = rf"(?:if|while) {term}(?: {either} {term}){{1,4}}:"
    found = rf"(?<![^\s(])(?:{tested}|{computed}|{assigned})(?=[\s,;:.)?!]|$)"
    return re.compile(found, re.IGNORECASE)


_CODE = _code_in_prose()
_ENDS_NAME = re.compile(r"[\w)\]]")


def _hollow(text: str) -> str:
    """The text with what is in the brackets of calls and indices replaced, character by
    character.
    """
    opened, closed = list[int](), dict[int, int]()
    for at, character in enumerate(text):
        if character in "([":
            opened.append(at)
        elif character in ")]" and opened:
            closed[opened.pop()] = at
    shown, done = "", 0
    for begin, end in sorted(closed.items()):
        if begin >= done and _ENDS_NAME.match(text, max(begin - 1, 0), begin):
            shown += text[done : begin + 1] + "\0" * (end - begin - 1)
            done = end
    return shown + text[done:]


def inline(text: str) -> str:
    """Text in a paragraph, an item of a list or a cell of a table."""
    return _START.sub(_ESCAPED_START, _escaped(_line(text)))


def prose(text: str) -> str:
    """The same with its code as code; not in a table."""
    shown = [code(part) if is_code else _escaped(part) for part, is_code in divided(_line(text))]
    return _START.sub(_ESCAPED_START, "".join(shown))


def divided(text: str) -> list[tuple[str, bool]]:
    """The parts of a text, and whether each is code: what looks like it, or stands in backticks."""
    parts = list[tuple[str, bool]]()
    for nth, part in enumerate(re.split("`([^`]+)`", text)):
        done = len(part) * (nth % 2)
        for found in _CODE.finditer(_hollow(part)) if not nth % 2 else ():
            parts += [(part[done : found.start()], False), (part[slice(*found.span())], True)]
            done = found.end()
        parts.append((part, True) if nth % 2 else (part[done:], False))
    return [(part, is_code) for part, is_code in parts if part]


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
