"""Checks where xladoctor writes: runs in the current directory, machine code in the cache."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from xladoctor.environment.interface import Check, failure, ok, warning
from xladoctor.ingest.xplane import compiled

_MEGABYTE = 10**6
#: A run takes tens of megabytes, its timeline at most a few hundred: with less free space than the
#: first, one run may not fit; with less than the second, several will not.
_FULL, _SCARCE = 200 * _MEGABYTE, 2_000 * _MEGABYTE


def run_directory() -> Check:
    """Whether runs can be written to the current directory, and how many fit."""
    try:
        here = Path.cwd()
        with tempfile.TemporaryFile(dir=here) as file:
            file.write(b"x")
        free = shutil.disk_usage(here).free
    except OSError as error:
        advice = "change to a directory you can write to, or name one with `xladoctor run --output`"
        return failure("run directory", f"cannot write here: {error.strerror}", advice)
    room = f"{here}: {_size(free)} free"
    if free >= _SCARCE:
        return ok("run directory", room)
    judge, word = (failure, "too little") if free < _FULL else (warning, "little")
    return judge(
        "run directory",
        f"{room}, {word} for runs",
        "free some space, remove old xladoctor-runs, or name another disk with"
        " `xladoctor run --output`",
    )


def decoder_cache() -> Check:
    """Whether the timeline's decoder works, and its machine code can be kept."""
    try:
        compiled.compiler()
    except Exception as error:  # a broken numba or LLVM can raise anything
        advice = "pip install --force-reinstall numba llvmlite"
        return failure("decoder cache", f"numba cannot be imported: {error}", advice)
    if compiled.no_cache_reason() is None:
        return ok("decoder cache", os.environ["NUMBA_CACHE_DIR"])
    return warning(
        "decoder cache",
        "no cache folder is writable: the timeline's decoder"
        " is compiled each time, which takes a few seconds",
        "set XDG_CACHE_HOME to a folder you can write to",
    )


def _size(size: int) -> str:
    return f"{size / 1e9:,.1f} GB" if size >= 1e9 else f"{size / 1e6:,.0f} MB"
