"""Refuses programs that cannot be captured, before anything is run or written."""

from __future__ import annotations

import errno
import os
import re
import shutil
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from importlib.machinery import PathFinder
from importlib.util import find_spec
from pathlib import Path

from xladoctor.foreign import quoted
from xladoctor.recording.interface import CaptureError, RunRequest

_PYTHON = re.compile(r"(python|pypy)[\d.]*$")
_OPTIONS = re.compile(r"-([^cmWX-]+|(?=[cmWX]))([cmWX]?)(.*)")
_LONG_OPTION = "--check-hash-based-pycs"  # the only one with a value
_NO_SITE = {"E": "ignores PYTHONPATH", "I": "ignores PYTHONPATH", "S": "imports no sitecustomize"}


def refuse(request: RunRequest) -> None:
    """Refuse a program that is not there, or that cannot be captured.

    Raises:
        CaptureError: says what to type instead.
    """
    command, *words = request.command
    if not _is_python(command):
        _refuse_command(command)
        return
    _refuse_isolated(words)
    _refuse_command(command)
    if words[:1] == ["-m"] and request.needs_framework:
        _refuse_module(words[1])
    elif words and not words[0].startswith("-"):
        _refuse_script(words)


def _is_python(command: str) -> bool:
    return _PYTHON.match(Path(command).name) is not None


def _refuse_command(command: str) -> None:
    if shutil.which(command):
        return
    exists = Path(command).exists()
    error = os.strerror(errno.EACCES if exists else errno.ENOENT)
    hint = f"xladoctor run {quoted(command)}" if exists and command.endswith(".py") else ""
    raise CaptureError(f"cannot run {command}: {error}", hint)


def _refuse_script(words: Sequence[str]) -> None:
    script = words[0]
    if script.endswith(".ipynb"):
        as_script = quoted(script.removesuffix(".ipynb") + ".py")
        raise CaptureError(
            f"{script} is a notebook; capture its loop in a cell:",
            "import xladoctor\nwith xladoctor.capture(): …\n"
            f"or run it as a script: jupyter nbconvert --to script {quoted(script)}"
            f" && xladoctor run {as_script}",
        )
    if Path(script).is_file() and Path(script).suffix in (".sh", ".bash"):
        raise CaptureError(
            f"{script} is not a Python script; for a command put -- before it:",
            f"xladoctor run -- bash {quoted(*words)}",
        )
    if Path(script).exists():
        return
    if _is_python(script) and words[1:]:
        raise CaptureError(
            f"{script}: leave it out, or put -- before it:",
            f"xladoctor run {quoted(*words[1:])}\nxladoctor run -- {quoted(*words)}",
        )
    if shutil.which(script) or shutil.which(script, path=str(Path(sys.executable).parent)):
        raise CaptureError(
            f"{script} is a command, not a script; put -- before it:",
            f"xladoctor run -- {quoted(*words)}",
        )
    raise CaptureError(f"{script}: no such script", _alike(script))


def _alike(script: str) -> str:
    """The file that is meant, if one in the folder has nearly that name."""
    named = Path(script)
    names = [file.name for file in named.parent.glob("*.py")]
    alike = get_close_matches(named.name, names)
    there = ", ".join(quoted(str(named.with_name(name))) for name in alike)
    return f"there is {there}" if there else ""


def _refuse_module(module: str) -> None:
    """Refuse a module whose package does not exist; a look inside would import it."""
    top = module.partition(".")[0]
    if module.endswith(".py") and Path(module).exists():
        raise CaptureError(
            f"{module} is a script, not a module; leave out -m:", f"xladoctor run {quoted(module)}"
        )
    if find_spec(top) is None and PathFinder.find_spec(top, [str(Path.cwd())]) is None:
        raise CaptureError(f"no module named {module}")


def _refuse_isolated(words: Sequence[str]) -> None:
    """Refuse Python's own options that keep the capture out of the program."""
    hindering = _isolating(words)
    if hindering:
        raise CaptureError(
            f"python -{hindering} {_NO_SITE[hindering]}, which is how xladoctor gets into a"
            " program",
            f"run it without -{hindering}, or capture from inside:"
            ' with xladoctor.capture("out"): …',
        )


def _isolating(words: Sequence[str]) -> str | None:
    """The first of -E, -I and -S among an interpreter's own options."""
    is_value = False
    for word in words:
        if is_value or word.startswith("--"):
            is_value = word == _LONG_OPTION and not is_value
            continue
        options = _OPTIONS.fullmatch(word)
        if options is None:
            return None
        flags, ending, value = options.groups()
        hindering = next((flag for flag in flags if flag in "EIS"), None)
        if hindering or ending in ("c", "m"):  # the rest is the program
            return hindering
        is_value = bool(ending) and not value
    return None
