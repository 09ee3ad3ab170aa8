"""Reads from a failed guard why a function was compiled again.

For each earlier compilation of the function, the most recent first, Dynamo reports the first guard
that fails, as text: ``0/2: tensor 'x' size mismatch at index 0. expected 2, actual 3`` or
``0/1: self.scale == 2.0   # return x * self.scale  # model.py:9 in forward (HINT: …)``.
The guard states the expected value; the actual one is looked up in the frame, if that runs no code
of the program. The line that needs the guard follows it; since torch 2.13 with the frames above it
("User stack trace:").
"""

from __future__ import annotations

import re
from typing import Any, Callable, Iterable, Mapping, NamedTuple, Sequence

from ..redaction import redact_text

_TEXT = 160  # characters of a value that are kept
_LONGEST_HINT = 400
_LONGEST = 5_000  # characters of a reason: some patterns take quadratic time
_PREFIX = re.compile(r"(?<!\d)(\d+/\d+(?:_\d+)?):(?: |$)")
#: The end of the condition.
_END = re.compile(r"\s+# |\s{2,}|\n| \(HINT: |\. ?Guard failed on ")
_HINT = re.compile(
    r"\(HINT: (?:guard on \"(?P<variable>\w+)\"(?P<path>[^\s,)]*)(?:, )?)?"
    r"(?:type \S+)?(?P<hint>.*?)\)(?= \(HINT: |\s*$)"
    r"|Guard failed on a \w+, (?P<parameter>\S.*)"
    r"|If this is unexpected, (?P<backend>[^.]*\.[^.]*\.)",
    re.MULTILINE,
)
_TRACED = re.compile(r'^[ \t]*File "(.+?)", line (\d{1,9}), in (.+)$', re.MULTILINE)
_AT = re.compile(r"(\S[^#]*?):(\d{1,9}) in (<[^>]*>|\S+)")
#: Folders of torch, with which guards name its own files.
_OF_TORCH = re.compile(
    r"(?:_\w+|amp|autograd|distributed|fx|nn|optim|utils)/|functional\.py|overrides\.py"
)
_SEPARATOR = re.compile(r"[/\\]")
_TENSOR = re.compile(
    r"tensor '(.*?)' (?:\w+ )*?(\w+) mismatch(?: at index (\d+))?\."
    r" expected (.*?), actual (.*)",
    re.IGNORECASE,
)
#: A property of a tensor in a guard's text -> what changed, and a template for its value.
_OF_TENSOR = {
    "size": ("shape", "size {0} of dimension {1}"),
    "rank": ("shape", "{0} dimensions"),
    "stride": ("type", "stride {0} of dimension {1}"),
    "index": ("sharding", "device {0}"),
}
_NUMBER_OF = re.compile(
    r"len\((.+?)\) [=!<>]=? (.+)|list\((.+?)\.keys\(\)\) == (.+)|"
    r"(?:not )?___dict_contains\(.*, (.+)\)()"
)
_OBJECT = re.compile(
    r"_{2,3}check_obj_id\((.+?), .*|CodeGuardAccessor: .* on (.+)|"
    r"___check_type_id\((.+?), .*"
)
_CLASS = re.compile(r"<class '(?:\w+\.)*(\w+)'>")
_TYPE = re.compile(f"type={_CLASS.pattern}")
#: Expressions that belong to a module at hand, not to the call itself.
_MEMBER = re.compile(r"(?!G\[)(?:self\[|\w+(?:\[[^\]]*\])*\.)")
_STEP = re.compile(r"\.(\w+)|\[(?:'([^']*)'|(\d+))\]")
_GLOBAL = re.compile(r"G\['([^']+)'\]")
_PLAIN = (int, float, bool, str, type(None))
_MISSING = object()
_Texts = tuple[str, str, str, str]  # the texts of a Change


class Change(NamedTuple):
    """One difference; see :class:`..jax.keys.Change`. ``guard``: a guard that cannot be parsed."""

    what: str
    argument: str
    was: str
    now: str


class TracedFrame(NamedTuple):
    """A frame of traced code, with the names of :class:`traceback.FrameSummary`."""

    filename: str
    lineno: int
    name: str


class Frame(NamedTuple):
    """The values of the frame to be compiled.

    Attributes:
        again: whether it was compiled before for the same object that the guard starts with.
    """

    locals: Mapping[str, Any]
    globals: Mapping[str, Any]
    again: bool = False

    def value(self, path: str) -> Any:
        """The value of an expression of names, attributes and keys; _MISSING if that runs code."""
        if match := _GLOBAL.match(path):
            name, rest, known = match[1], path[match.end() :], self.globals
        else:
            name = re.match(r"\w*", path)[0]  # type: ignore[index]
            rest, known = path[len(name) :], self.locals
        value = known.get(name, _MISSING)
        while rest and value is not _MISSING:
            step = _STEP.match(rest)
            if step is None:
                return _MISSING
            value, rest = _child(value, *step.groups()), rest[step.end() :]
        return value


def _child(value: Any, attribute: str | None, key: str | None, index: str | None) -> Any:
    if attribute is not None:
        held = getattr(value, "__dict__", None)
        return held.get(attribute, _MISSING) if type(held) is dict else _MISSING
    if type(value) is dict:
        return value.get(key if key is not None else int(index or 0), _MISSING)
    if type(value) in (list, tuple) and index is not None and int(index) < len(value):
        return value[int(index)]
    return _MISSING


def owner(reason: str) -> str:
    """The variable that the guard starts with, such as ``self``; empty if there is none."""
    match = _OBJECT.match(_PREFIX.sub("", reason, count=1))
    name = re.match(r"\w*", (match[1] or match[2] or match[3]) if match else "")
    return name[0] if name else ""


def compared_with(reason: str) -> str | None:
    """The id of the compilation whose guard failed."""
    match = _PREFIX.match(reason)
    return match[1] if match else None


def nearest(reasons: Sequence[str]) -> str:
    """The reason given for the earlier compilation that is most like the current one.

    Guards are checked in order: the state of torch, then which objects there are, then sizes and
    values. A compilation that fails only at the last has most in common. The most recent of equals
    counts.
    """
    return max([reason[:_LONGEST] for reason in reasons], key=_depth)


def _depth(reason: str) -> int:
    what = change(reason, Frame({}, {})).what
    return 0 if what == "configuration" else 2 if what in ("shape", "static") else 1


def hint(reason: str) -> str:
    """Dynamo's suggestion, verbatim; empty if there is none."""
    found = (
        match["hint"] or match["parameter"] or match["backend"] for match in _HINT.finditer(reason)
    )
    return _short(next(filter(None, found), ""), _LONGEST_HINT)


def traced(reason: str, files: Iterable[str]) -> list[TracedFrame]:
    """The frames that need the guard, outermost first; before torch 2.13 the innermost alone.

    Args:
        reason: the guard, as Dynamo reports it.
        files: paths that may be meant, the likeliest first: Dynamo removes the prefix that a path
            shares with torch's own folder, and one letter more if that is the root.
    """
    if found := _TRACED.findall(reason):
        return [TracedFrame(file, int(line), name.strip()) for file, line, name in found]
    if not (match := _AT.match(reason.partition("\n")[0].rpartition(" # ")[2])):
        return []
    file = _whole(match[1], [*files])
    return [TracedFrame(file, int(match[2]), match[3].strip())] if file else []


def _whole(short: str, files: Sequence[str]) -> str:
    """The full path of a shortened one; empty if it is torch's."""
    for file in files:
        if file.endswith(short):
            return file
    if _OF_TORCH.match(short):
        return ""
    first = _SEPARATOR.split(short)[0]
    for file in files[:1]:
        parts = _SEPARATOR.split(file)
        if first in parts[1:-1]:
            return file[: len("/".join(parts[: parts.index(first, 1)])) + 1] + short
        if file[2:].startswith(first + "/"):
            return file[:2] + short
    return short


def change(reason: str, frame: Frame) -> Change:
    """The difference that the failed guard shows."""
    text = _PREFIX.sub("", reason, count=1)
    guard = _END.split(text)[0].strip()
    for matches, read in _READERS:
        if match := matches(guard):
            what, argument, was, now = read(match, frame)
            return Change(what, _variable(reason) or _named(argument), _short(was), _short(now))
    return Change("guard", "", _short(guard), "")


def _variable(reason: str) -> str:
    """The closure variable that the guard is on, if Dynamo names it."""
    match = _HINT.search(reason)
    return match["variable"] + match["path"] if match and match["variable"] else ""


def _gradient(match: re.Match[str], frame: Frame) -> _Texts:
    texts = "requires a gradient", "requires no gradient"
    return "type", match[1], *(texts if "requires_grad=1" in match.string else texts[::-1])


def _no_tensor(match: re.Match[str], frame: Frame) -> _Texts:
    found = _CLASS.sub(lambda of: "None" if of[1] == "NoneType" else f"a {of[1]}", match[2])
    return "structure", match[1], "a tensor", _type_of(frame.value(match[1]), found)


def _tensor(match: re.Match[str], frame: Frame) -> _Texts:
    name, kind, index, expected, actual = match.groups()
    value = frame.value(name)
    if kind == "size" and value is not _MISSING:
        sizes = [*map(str, value.shape)]
        before = [*sizes[: int(index)], expected, *sizes[int(index) + 1 :]]
        dtype = str(value.dtype).rpartition(".")[2]
        return "shape", name, f"{dtype}[{','.join(before)}]", f"{dtype}[{','.join(sizes)}]"
    what, of = _OF_TENSOR.get(kind, ("type", "{0}"))
    expected = expected.rpartition(" to be ")[2]
    return what, name, of.format(expected.lower(), index), of.format(actual.lower(), index)


def _number(match: re.Match[str], frame: Frame) -> _Texts:
    """A change of a float; ``___stack0`` is a result of the code before a graph break."""
    name = "" if match[1].startswith("___") else match[1]
    return "static", name, match[2], _type_of(frame.value(match[1]), "")


def _number_of(match: re.Match[str], frame: Frame) -> _Texts:
    name = match[1] or match[3] or match[5]
    value = frame.value(name)
    now = f"{len(value)} entries" if type(value) in (list, tuple, dict) else ""
    was = f"{match[2]} entries" if match[1] else match[4] or ""
    return "structure", name, was, now


def _object(match: re.Match[str], frame: Frame) -> _Texts:
    name = (match[1] or match[2] or match[3]).removesuffix(".__code__")
    owned = _MEMBER.match(name) and not frame.again
    kind = "member" if owned else "structure" if match[3] else "function"
    type_ = _TYPE.search(match.string) if match[3] else None
    return kind, name, type_[1] if type_ else "", _type_of(frame.value(name), "")


def _offset(match: re.Match[str], frame: Frame) -> _Texts:
    """A view at another place of its storage: backends that compile views have such guards."""
    value = frame.value(match[1])
    now = "" if value is _MISSING else str(value.storage_offset())
    return "offset", match[1], match[2], now


def _size(match: re.Match[str], frame: Frame) -> _Texts:
    shape = getattr(frame.value(match[1]), "shape", None)
    now = "" if shape is None else f"[{','.join(map(str, shape))}]"
    return "shape", match[1], f"sizes for which {match.string}", now


def _equals(match: re.Match[str], frame: Frame) -> _Texts:
    value = frame.value(match[1])
    plain = match[2] == "==" and (value is _MISSING or isinstance(value, _PLAIN))
    kind = "static" if plain else "structure"
    return kind, match[1], match[3], _type_of(value, "")


#: The first pattern that a guard matches has the reader that gives its change.
_READERS: tuple[tuple[Callable[[str], re.Match[str] | None], Callable[..., _Texts]], ...] = (
    (re.compile(r"tensor '(.*?)' requires_grad mismatch").match, _gradient),
    (
        re.compile(r"expected type of '(.*?)' to be a tensor type, ' but found (.*)").match,
        _no_tensor,
    ),
    (_TENSOR.match, _tensor),
    (re.compile(r"___as_tensor\((.+?)\)\.item\(\) == (.+)").match, _number),
    (
        re.compile(r"GLOBAL_STATE changed: (.*)").match,
        lambda match, _: ("configuration", match[1].strip(), "", ""),
    ),
    (_NUMBER_OF.match, _number_of),
    (_OBJECT.match, _object),
    (
        re.compile(r"BACKEND_MATCH failure: ").match,
        lambda *_: ("function", "the backend", "", ""),
    ),
    (re.compile(r"([\w.\[\]']+)\.storage_offset\(\) == (\d{1,18})").fullmatch, _offset),
    (re.compile(r"(?<![\w.\[\]'])([\w.\[\]']+?)\.size\(\)\[(\d+)\]").search, _size),
    (re.compile(r"([\w.\[\]']+) (==|is) (.+)").fullmatch, _equals),
)


def _type_of(value: Any, otherwise: str) -> str:
    if value is _MISSING:
        return otherwise
    if type(value) in _PLAIN:
        return repr(value)
    name = value.__qualname__ if type(value).__name__ == "function" else type(value).__name__
    return str(name)


def _named(argument: str) -> str:
    """``G['limit']`` is the module's variable ``limit``."""
    return _GLOBAL.sub(r"\1", argument)


def _short(text: str, longest: int = _TEXT) -> str:
    text = redact_text(text)
    return text if len(text) <= longest else text[: longest - 1] + "…"
