"""Machine code for the loops over the wire format: numba, with a cache on disk.

The first call after an installation compiles, which takes seconds; the machine code is then kept in
the user's cache folder. Where none can be written, each process recompiles, and says so once.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

Function = TypeVar("Function", bound=Callable[..., Any])


def _cache_folder() -> Path | None:
    """``numba`` below ``$XDG_CACHE_HOME/xladoctor``; None where nothing can be written there."""
    home = os.environ.get("XDG_CACHE_HOME", "")
    base = Path(home) if home.startswith("/") else Path("~/.cache").expanduser()
    folder = base / "xladoctor" / "numba"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError:
        return None


_folder = _cache_folder()
if _folder is not None:
    os.environ.setdefault("NUMBA_CACHE_DIR", str(_folder))  # before numba is imported

import numba  # noqa: E402

#: Why every process has to compile; None where the machine code is kept.
no_cache_reason = (
    None
    if _folder is not None or os.environ.get("NUMBA_CACHE_DIR")
    else "no cache folder can be written (set XDG_CACHE_HOME to one): the timeline's decoder is"
    " recompiled each time, which takes a few seconds"
)


def _discard() -> None:
    """Throw away machine code that cannot be read; the next process recompiles it."""
    if _folder is not None and os.environ.get("NUMBA_CACHE_DIR") == str(_folder):
        shutil.rmtree(_folder, ignore_errors=True)


def compiled(signature: str) -> Callable[[Function], Function]:
    """Compile for one signature of numba's, without the GIL; arrays are not checked for bounds."""

    def decorate(function: Function) -> Function:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                jit = numba.njit(signature, cache=no_cache_reason is None, nogil=True)
                return cast(Function, jit(function))
            except Exception:  # unpickling what was damaged or cut off can raise anything
                _discard()
                return cast(Function, numba.njit(signature, nogil=True)(function))

    return decorate


def helper(function: Function) -> Function:
    """A function that compiled functions call; compiled with them."""
    return cast(Function, numba.njit(function))
