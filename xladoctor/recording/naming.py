"""What a run is called: the program that is named somewhere in the command that starts it."""

from __future__ import annotations

from collections.abc import Sequence

from xladoctor.recording.interface import RunRequest

#: What modules are called that start the program named behind them.
_LAUNCHERS = ("run", "launch", "runner", "coverage")
_SCRIPTS = (".py", ".sh")


def program_of(request: RunRequest) -> str:
    """The script, module or command that a run directory is named after."""
    words = request.command[1:]
    if request.needs_framework and words[0] != "-m":
        return request.script
    return _named_in(words) or request.script


def _named_in(words: Sequence[str]) -> str | None:
    """The program behind a command that starts it; None if no word looks like one."""
    before = ""
    for word in words:
        if before == "-m" and _last(word) not in _LAUNCHERS:
            return _last(word)
        if word.endswith(_SCRIPTS) and not set(word) & set(" ;&|"):
            return word
        before = word
    return None


def _last(module: str) -> str:
    return module.rpartition(".")[2]
