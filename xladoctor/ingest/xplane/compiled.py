"""Compiles the loops over the wire format with numba, with a cache on disk.

The first call after an installation compiles, which takes seconds. The machine code is then kept in
the user's cache folder. If that cannot be written, each process compiles again, and says so once.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

Function = TypeVar("Function", bound=Callable[..., Any])


def _cache_folder() -> Path | None:
    """``numba`` below ``$XDG_CACHE_HOME/xladoctor``; None if it cannot be written."""
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

#: Why every process has to compile; None if the machine code is kept.
no_cache_reason = (
    None
    if _folder is not None or os.environ.get("NUMBA_CACHE_DIR")
    else "no cache folder can be written (set XDG_CACHE_HOME to one): the timeline's decoder is"
    " recompiled each time, which takes a few seconds"
)


def compiled(signature: str) -> Callable[[Function], Function]:
    """Compile for one numba signature, without the GIL and without bounds checks."""

    def decorate(function: Function) -> Function:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                return cast(Function, _kept(function, signature))
            except Exception:  # unpickling another version's file can raise anything
                return cast(Function, numba.njit(signature, nogil=True)(function))

    return decorate


def _kept(function: Function, signature: str) -> Any:
    """The compiled function, read from the cache or added to it.

    numba trusts its files, and damaged machine code can crash the process. So each file has a
    checksum beside it, and is deleted if that does not match.
    """
    jit = numba.njit(cache=no_cache_reason is None, nogil=True)(function)
    folder = jit.stats.cache_path
    for file in _files(folder, function):
        if not _is_whole(file):
            file.unlink()
    try:
        jit.compile(signature)
    except Exception:  # the next process writes them again
        for file in _files(folder, function):
            file.unlink()
        raise
    jit.disable_compile()
    if jit.stats.cache_misses:
        with contextlib.suppress(OSError):
            for file in _files(folder, function):
                _checksum(file).write_bytes(_digest(file))
    return jit


def _files(folder: str | None, function: Callable[..., Any]) -> list[Path]:
    """The files in which numba keeps a function, by version of Python and kind of processor."""
    code = function.__code__
    name = f"{Path(code.co_filename).stem}.{function.__qualname__}-{code.co_firstlineno}"
    return list(Path(folder).glob(f"{name}.*.nb[ic]")) if folder else []


def _is_whole(file: Path) -> bool:
    try:
        return _checksum(file).read_bytes() == _digest(file)
    except OSError:
        return False


def _checksum(file: Path) -> Path:
    return file.with_name(f"{file.name}.sha256")


def _digest(file: Path) -> bytes:
    return hashlib.sha256(file.read_bytes()).hexdigest().encode()


def helper(function: Function) -> Function:
    """Compile a function that is inlined into compiled functions, and makes no arrays.

    So it needs no reference counts, which would take as long as everything else that it does.
    """
    options: dict[str, Any] = {"forceinline": True, "_nrt": False}
    return cast(Function, numba.njit(**options)(function))
