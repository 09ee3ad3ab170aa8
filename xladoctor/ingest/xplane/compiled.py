"""Runs loops over bytes and events: interpreted while there is little to do, then compiled.

Importing numba and loading its machine code takes 1.3 s of processor time, in which the
interpreter reads a timeline of some megabytes. So each process interprets the loops over files of
up to :data:`PATIENCE` bytes until it would have looked at more bytes and events than that.

The first process after an installation that compiles takes seconds. The machine code is then kept
in the user's cache folder. If that cannot be written, each process compiles again, and says so.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import pickle
import sys
import warnings
from collections.abc import Callable
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, TypeVar, cast

import numpy as np

from xladoctor.cache_folder import cache_folder
from xladoctor.whole_files import replacing

Function = TypeVar("Function", bound=Callable[..., Any])
#: Bytes and events that a process interprets before it compiles.
PATIENCE = 4_000_000
_FEW = 1 << 12  # bytes that are quickly copied
_CHECKSUM = 32  # bytes
#: By name of the module, its functions that are inlined into compiled ones.
_helpers: dict[str, list[FunctionType]] = {}


class Loop:
    """A function with a loop, which is compiled once that is worth it.

    Attributes:
        interpreted: how many bytes and events all loops of this process have looked at so far.
    """

    interpreted = 0

    def __init__(
        self, function: FunctionType, signature: str, work: Callable[..., int] | None
    ) -> None:
        self._function = function
        self._signature = signature
        self._work = work

    def __call__(self, *arguments: Any) -> Any:
        """Run it. Integers wrap around at 64 bits, as compiled."""
        if self._work is None or any(map(_is_large, arguments)):
            return self.machine_code(*arguments)
        work = max(0, self._work(*arguments))
        if Loop.interpreted + work > PATIENCE:
            return self.machine_code(*arguments)
        Loop.interpreted += work
        with np.errstate(over="ignore"):
            return self._function(*map(_plain, arguments))

    @cached_property
    def machine_code(self) -> Callable[..., Any]:
        """The compiled function, without the GIL and without bounds checks."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            module = self._function.__module__
            function = _in_scope(self._function, _scope(module))
            try:
                return cast(Callable[..., Any], _kept(function, self._signature))
            except Exception:  # unpickling another version's file can raise anything
                jit = compiler().njit(self._signature, nogil=True)
                return cast(Callable[..., Any], jit(function))


def compiled(
    signature: str, work: Callable[..., int] | None = None
) -> Callable[[Function], Function]:
    """Let a function be compiled, for one numba signature.

    Args:
        signature: the types of the arguments and of the result.
        work: from the arguments, how many bytes or events the function looks at. Interpreted, it
            has numbers of any size, and read-only bytes as :class:`bytes`. Without ``work`` it is
            never interpreted.
    """

    def decorate(function: Function) -> Function:
        loop = Loop(cast(FunctionType, function), signature, work)
        return cast(Function, loop)

    return decorate


def helper(function: Function) -> Function:
    """Mark a function that is inlined into compiled functions, and makes no arrays.

    So it needs no reference counts, which would take as long as everything else that it does.
    """
    _helpers.setdefault(function.__module__, []).append(cast(FunctionType, function))
    return function


def helper_or(interpreted: Function) -> Callable[[Function], Function]:
    """Mark a helper in place of which the interpreter calls a function of the same results, made of
    what is quick there: searches and slices.
    """

    def decorate(function: Function) -> Function:
        helper(function)
        return interpreted

    return decorate


@cache
def _scope(module: str) -> dict[str, Any]:
    """The globals of a module, with its helpers and those that it imports as numba takes them."""
    scope = dict(vars(sys.modules[module]))
    for name, origin in _imported(module).items():
        scope[name] = _scope(origin)[name]
    for function in _helpers.get(module, ()):
        inlined = compiler().njit(forceinline=True, _nrt=False)
        scope[function.__name__] = inlined(_in_scope(function, scope))
    return scope


def _imported(module: str) -> dict[str, str]:
    """The functions that a module imports from others with helpers, and which these are."""
    return {
        name: value.__module__
        for name, value in vars(sys.modules[module]).items()
        if isinstance(value, FunctionType) and value.__module__ in _helpers.keys() - {module}
    }


def _in_scope(function: FunctionType, scope: dict[str, Any]) -> FunctionType:
    return FunctionType(function.__code__, scope, function.__name__, function.__defaults__)


def _is_file(argument: Any) -> bool:
    """Whether it is read-only bytes."""
    whole = isinstance(argument, np.ndarray) and not argument.flags.writeable
    return whole and argument.dtype == np.uint8


def _is_large(argument: Any) -> bool:
    """Whether it is a file that is too large to be copied for the interpreter."""
    return _is_file(argument) and len(argument) > PATIENCE


def _plain(argument: Any) -> Any:
    """An argument as the interpreter is quick with it: bytes instead of an array of them."""
    return _bytes(argument) if _is_file(argument) else argument


_last: list[Any] = [None, b""]


def _bytes(array: np.ndarray[Any, Any]) -> bytes:
    """The bytes of an array; if it is large, it most often is the file that the last loop read."""
    if len(array) < _FEW:
        return array.tobytes()
    if _last[0] is not array:
        _last[:] = array, array.tobytes()
    return cast(bytes, _last[1])


@cache
def compiler() -> ModuleType:
    """The module numba, imported after it was said where it keeps machine code.

    Raises:
        Exception: it cannot be imported; a broken one can raise anything.
    """
    folder = cache_folder("numba")
    if folder is not None:
        os.environ.setdefault("NUMBA_CACHE_DIR", str(folder))
    return import_module("numba")


def no_cache_reason() -> str | None:
    """Why every process has to compile; None if the machine code is kept, or was not needed."""
    if not compiler.cache_info().currsize or os.environ.get("NUMBA_CACHE_DIR"):
        return None
    return (
        "no cache folder can be written (set XDG_CACHE_HOME to one): the timeline's decoder is"
        " recompiled each time, which takes a few seconds"
    )


def _kept(function: FunctionType, signature: str) -> Any:
    """The compiled function, read from the cache or added to it."""
    jit = compiler().njit(cache="NUMBA_CACHE_DIR" in os.environ, nogil=True)(function)
    if jit.stats.cache_path is not None:
        jit._cache._cache_file = _CacheFile(jit._cache, function.__module__)
    jit.compile(signature)
    jit.disable_compile()
    return jit


class _CacheFile:
    """Keeps the machine code of a function, in place of numba's index and data files.

    numba trusts its files, and damaged machine code can crash the process. This one begins with a
    checksum and is read once, so that what was checked is what is loaded, whoever else writes it.
    """

    def __init__(self, cache: Any, module: str) -> None:
        self._base = Path(cache.cache_path, cache._impl.filename_base)
        stamp = cache._impl.locator.get_source_stamp()
        self._source = compiler().__version__, stamp, *_stamps_of_others(module)

    def load(self, key: tuple[Any, ...]) -> Any:
        """What was saved under the key; None if nothing was, or it is not whole."""
        try:
            content = self._path(key).read_bytes()
        except OSError:
            return None
        checksum, data = content[:_CHECKSUM], content[_CHECKSUM:]
        return pickle.loads(data) if checksum == self._checksum(data) else None  # noqa: S301

    def save(self, key: tuple[Any, ...], value: Any) -> None:
        """Keep a value under a key: a signature, a kind of processor, and the function's code."""
        data = compiler().core.serialize.dumps(value)
        with contextlib.suppress(OSError), replacing(self._path(key)) as file:
            file.write(self._checksum(data) + data)

    def _path(self, key: tuple[Any, ...]) -> Path:
        code = hashlib.sha256(repr(key).encode()).hexdigest()[:16]
        return self._base.with_name(f"{self._base.name}.{code}.nbc")

    def _checksum(self, data: bytes) -> bytes:
        """Of the data and of what they were made by: the version of numba, the modules' states."""
        return hashlib.sha256(repr(self._source).encode() + data).digest()


def _stamps_of_others(module: str) -> list[tuple[float, int]]:
    """The states of the modules whose helpers a module imports, as numba has them of its own."""
    origins = sorted({*_imported(module).values()})
    states = [Path(str(sys.modules[name].__file__)).stat() for name in origins]
    return [(state.st_mtime, state.st_size) for state in states]
