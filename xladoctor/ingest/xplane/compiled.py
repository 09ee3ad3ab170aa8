"""Machine code for the loops over the wire format: numba, with a cache on disk.

The first call after an installation compiles, which takes seconds; the machine code is then kept in
the user's cache folder. Where none can be written, each process recompiles, and says so once.
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


def compiled(signature: str) -> Callable[[Function], Function]:
    """Compile for one signature of numba's, without the GIL; arrays are not checked for bounds."""

    def decorate(function: Function) -> Function:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                return cast(Function, _kept(function, signature))
            except Exception:  # unpickling what another version wrote can raise anything
                return cast(Function, numba.njit(signature, nogil=True)(function))

    return decorate


def _kept(function: Function, signature: str) -> Any:
    """The function, compiled, from the cache or into it.

    numba trusts its files, and damaged machine code can end the process: so each has its checksum
    beside it, and is thrown away where that does not fit.
    """
    jit = numba.njit(cache=no_cache_reason is None, nogil=True)(function)
    folder = jit.stats.cache_path
    for file in _files(folder, function):
        if not _is_whole(file):
            file.unlink()
    try:
        jit.compile(signature)
    except Exception:  # the next process writes them anew
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
    """Where numba keeps a function, for each version of Python and kind of processor."""
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
    """A function that compiled functions call, compiled into them; it makes no arrays.

    So it need not count who refers to one, which takes as long as all else that it does.
    """
    options: dict[str, Any] = {"forceinline": True, "_nrt": False}
    return cast(Function, numba.njit(**options)(function))
