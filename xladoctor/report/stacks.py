"""The stacks of a process: its verdict, then each thread with its verdict and frames."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path
from typing import Any, TextIO

from rich.console import Group, RenderableType
from rich.text import Text

from xladoctor.report.interface import Style
from xladoctor.report.text import inset, plain, shortened, styled, write
from xladoctor.repository import installed
from xladoctor.stacks.interface import Frame, Kind, Stacks, Thread, Verdict
from xladoctor.stacks.verdict import of_process, of_thread, symbol

_STATES = {"D": "in uninterruptible sleep", "T": "stopped", "t": "traced"}


def render(stacks: Stacks, output: TextIO, style: Style, everything: bool = False) -> None:
    """Write a process and its threads.

    Threads of the capture, and those that wait for work, are left out unless ``everything``.
    """
    pairs = [(thread, of_thread(thread, stacks)) for thread in stacks.threads]
    shown = [pair for pair in pairs if everything or _is_informative(*pair, stacks)]
    parts: list[RenderableType] = [_heading(stacks, style), _verdict(of_process(stacks), style)]
    parts += [inset(styled(f"note: {note}", style, "dim")) for note in stacks.notes]
    for thread, verdict in shown:
        parts += [Text(), _thread(thread, verdict, style)]
    waiting = [thread.name for thread, _ in pairs if not thread.own]
    left_out = len(waiting) - sum(not thread.own for thread, _ in shown)
    if left_out:
        noun = "thread waits" if left_out == 1 else "threads wait"
        parts += [Text(), Text(f"{left_out} other {noun} for work (--all)", style="dim")]
    write(parts, output, style)


def record(stacks: Stacks) -> dict[str, Any]:
    """A process and all its threads, with the verdicts, for JSON."""
    threads = [
        {
            "id": thread.id,
            "name": thread.name,
            "running": thread.running,
            "holds_gil": thread.holds_gil,
            "own": thread.own,
            "call": asdict(thread.call) if thread.call else None,
            "verdict": asdict(of_thread(thread, stacks)),
            "frames": [asdict(frame) for frame in thread.frames],
        }
        for thread in stacks.threads
    ]
    return {
        "pid": stacks.pid,
        "command": stacks.command,
        "state": stacks.state,
        "forked": stacks.forked,
        "tasks": stacks.tasks,
        "native": stacks.native,
        "verdict": asdict(of_process(stacks)),
        "threads": threads,
        "children": [asdict(child) for child in stacks.children],
        "notes": list(stacks.notes),
    }


def _is_informative(thread: Thread, verdict: Verdict, stacks: Stacks) -> bool:
    if thread.own:
        return False
    return verdict.kind is not Kind.idle or thread.id == stacks.pid


def _heading(stacks: Stacks, style: Style) -> Text:
    state = f" ({_STATES[stacks.state]})" if stacks.state in _STATES else ""
    text = Text(f"process {stacks.pid}{state}  ", style="bold", no_wrap=True)
    room = style.width - len(text)
    return text.append(_cut(stacks.command, room, style), style="dim")


def _verdict(verdict: Verdict, style: Style) -> Group:
    color = "bold red" if verdict.kind is Kind.deadlock else "bold"
    lines: list[RenderableType] = [_phrase(verdict, style, color)]
    lines += [styled(hint, style) for hint in verdict.hints]
    return Group(*(inset(line) for line in lines))


def _phrase(verdict: Verdict, style: Style, color: str) -> Text:
    text = styled(verdict.text, style, color)
    if verdict.frame is not None:
        text.append(f" at {_place(verdict.frame, style.width - 5, style)}")
        function = _cut(verdict.frame.function, style.width - 5, style)
        text.append(f" in {function}" if function != "<module>" else "")
    return text


def _thread(thread: Thread, verdict: Verdict, style: Style) -> Group:
    title = styled(thread.name, style, "bold")
    title.append(plain(f" ({thread.id}) {verdict.text}", style), style="not bold")
    title.append(" and holds the GIL" if thread.holds_gil else "", style="not bold")
    return Group(title, *(_frame(frame, frame is verdict.frame, style) for frame in thread.frames))


def _frame(frame: Frame, guilty: bool, style: Style) -> Text:
    """The function, and its line to the right of it; an arrow marks the user's line."""
    half = (style.width - 6) // 2
    mark = ("→ " if style.unicode else "> ") if guilty else "  "
    function = _cut(symbol(frame), half, style).ljust(half)
    text = Text(f"  {mark}{function}  {_place(frame, half, style)}", no_wrap=True)
    text.stylize("bold" if guilty else "dim" if frame.native else "")
    return text


def _place(frame: Frame, room: int, style: Style) -> str:
    """As ``train.py:41``, or the library's name; a long path loses its first folders."""
    if frame.native:
        return _cut(Path(frame.file).name, room, style)
    text = plain(f"{_short(frame.file)}:{frame.line}", style)
    return _cut(shortened(text, room, style), room, style)


def _short(file: str) -> str:
    """Relative to the working directory, to where packages are, or to Python's own library."""
    if package := installed(file):
        return package
    below = os.path.relpath(file) if file.startswith("/") else file
    return file if below.startswith("..") else below


def _cut(text: str, room: int, style: Style) -> str:
    text, dots = plain(text, style), "…" if style.unicode else "..."
    return text if len(text) <= room else text[: max(room - len(dots), 0)] + dots
