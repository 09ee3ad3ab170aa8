"""Graph breaks: where Dynamo splits a function into several graphs, and why, as it reports."""

from __future__ import annotations

import re
from typing import Any, Sequence

from ..call_site import FRAMEWORK, LIBRARY, USER, CallSites
from ..redaction import redact_text

_RESUMED = re.compile(r"torch_dynamo_resume_in_(.+)_at_(\d+)$")
_EXPLANATION = re.compile(r"Explanation: (.*?)(?=\n\s*Hint: |\n\s*Developer debug|\n\n|\Z)", re.S)
_HINT = re.compile(r"Hint: (.*?)(?=\n\s*Hint: |\n\s*Developer debug|\n\n|\Z)", re.S)
#: Hints that come with every other break, and say nothing about the one at hand.
_GENERAL = (
    "This graph break is fundamental",
    "It may be possible to write Dynamo tracing rules",
    "This is likely to be a Dynamo bug",
    "Please report an issue",
)
_ASKED_FOR = re.compile(
    r"Call(?:ed|ing)?\b[^\n]*\b_dynamo\.graph_break\b|User-inserted graph break"
)
#: Since torch 2.10 a reason may start with what was being traced.
_ATTEMPT = re.compile(r"Encountered graph break [^\n]*(?:\n\s*\n|$)")
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
_TEXT = 400  # characters


def function_name(name: str) -> str:
    """The readable form of a name that Dynamo gave to a function, or to its rest after a break."""
    match = _RESUMED.match(name)
    return f"{match[1]} after line {match[2]}" if match else name


def resumed(name: str) -> str:
    """The function whose rest, after a break, Dynamo gave this name; empty for other names."""
    match = _RESUMED.match(name)
    return match[1] if match else ""


def reason(text: str) -> tuple[str, str]:
    """The reason for a break, and Dynamo's suggestion, which may be empty."""
    text = _ATTEMPT.sub("", text.lstrip(), count=1) or text
    found = _EXPLANATION.search(text)
    title = text.strip().splitlines()[0].strip() if text.strip() else "unknown"
    why = f"{title}: {_line(found[1])}" if found and found[1].strip() else title
    hints = [hint for each in _HINT.findall(text) if not (hint := _line(each)).startswith(_GENERAL)]
    return _short(why), _short(hints[0] if hints else "")


def asked_for(text: str) -> bool:
    """Whether the code asks for the break: ``torch._dynamo.graph_break()``."""
    return _ASKED_FOR.search(text) is not None


def intended(sites: CallSites, stack: Sequence[Any], text: str) -> bool:
    """Whether the framework's own code asks for the break, as its optimizers do, so that the
    program cannot avoid it.
    """
    return bool(stack) and asked_for(text) and sites.kind(stack[-1].filename) == FRAMEWORK


def place(sites: CallSites, stack: Sequence[Any], called_at: int | None) -> int | None:
    """The call site of a break.

    Args:
        sites: the call sites of the process.
        stack: the traced code's frames, as ``FrameSummary``, outermost first.
        called_at: the line that called the traced code; after a break, not necessarily the one that
            called the compiled function.
    """
    guilty: Any = None
    for frame in reversed(stack):
        kind = sites.kind(frame.filename)
        if kind == USER:
            context = (None, None, None) if guilty is None else _line_of(frame)
            return sites.intern((*_line_of(guilty or frame), *context, ""))
        if kind == LIBRARY:
            guilty = guilty or frame
    if called_at is None:
        return None if guilty is None else sites.intern((*_line_of(guilty), None, None, None, ""))
    file, line, function, *outer, _ = sites.rows[called_at]
    function = function.rpartition(".")[2]  # as in the frames of traced code
    row: Any = (file, line, function, *outer, "")
    if guilty is not None:
        row = (*_line_of(guilty), file, line, function, "")
    return sites.intern(row)


def _line_of(frame: Any) -> tuple[str, int, str]:
    return frame.filename, frame.lineno or 0, frame.name


def _line(text: str) -> str:
    return " ".join(text.split())


def _short(text: str) -> str:
    text = redact_text(_ADDRESS.sub("", text))
    return text if len(text) <= _TEXT else text[: _TEXT - 1] + "…"
