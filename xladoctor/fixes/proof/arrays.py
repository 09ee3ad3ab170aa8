"""Arrays in files of NumPy, PyTorch and safetensors. No code in a file is run."""

from __future__ import annotations

import io
import json
import pickle
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
#: Types by the names that safetensors and PyTorch give them; ``bf`` is the upper half of a float32.
_NAMES = (
    ("f8", "F64", "Double"),
    ("f4", "F32", "Float"),
    ("f2", "F16", "Half"),
    ("bf", "BF16", "BFloat16"),
    ("i8", "I64", "Long"),
    ("i4", "I32", "Int"),
    ("i2", "I16", "Short"),
    ("i1", "I8", "Char"),
    ("u1", "U8", "Byte"),
    ("?", "BOOL", "Bool"),
)
_TYPES = {name: kind for kind, one, other in _NAMES for name in (one, f"{other}Storage")}
_FAULTS = (OSError, ValueError, LookupError, TypeError, AttributeError, EOFError, RecursionError)


def arrays(path: Path) -> dict[str, Any] | None:
    """What a file holds, by the place in it: arrays, numbers and texts; None if it is no such file
    or cannot be read.
    """
    read = _READERS.get(path.suffix)
    try:
        return read(path) if read else None
    except (*_FAULTS, MemoryError, zipfile.BadZipFile, pickle.UnpicklingError):
        return None


def _numpy(path: Path) -> dict[str, Any]:
    loaded = np.load(io.BytesIO(path.read_bytes()), allow_pickle=False)
    return dict(loaded) if isinstance(loaded, Mapping) else {"": loaded}


def _typed(raw: bytes, kind: str) -> Array:
    if _TYPES[kind] == "bf":
        return (np.frombuffer(raw, "<u2").astype("<u4") << 16).view("<f4")
    return np.frombuffer(raw, np.dtype(_TYPES[kind]).newbyteorder("<"))


def _safetensors(path: Path) -> dict[str, Any]:
    raw = path.read_bytes()
    begin = 8 + int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8:begin])
    header.pop("__metadata__", None)
    return {
        name: _typed(raw[begin:][slice(*each["data_offsets"])], each["dtype"])
        for name, each in header.items()
    }


class _Object(dict[Any, Any]):
    """Stands for any object that a file would have made, and holds what it is made of."""

    def __new__(cls, *args: Any) -> _Object:
        made = super().__new__(cls)
        made.update(enumerate(args))
        return made

    def __init__(self, *args: Any) -> None:
        """All is done: a file may make an object without this."""

    def __call__(self, *args: Any) -> _Object:
        return _Object(self, *args)

    def __setstate__(self, state: Any) -> None:
        self["state"] = state


def _tensor(
    storage: Array, offset: int, size: tuple[int, ...], stride: tuple[int, ...], *_: Any
) -> Array:
    last = offset + sum((n - 1) * step for n, step in zip(size, stride, strict=True))
    if min((offset, *stride)) < 0 or (0 not in size and last >= storage.size):
        raise ValueError("outside of its storage")
    item = storage.itemsize
    return np.lib.stride_tricks.as_strided(
        storage[offset:], size, [step * item for step in stride], writeable=False
    )


#: The functions and classes that mean anything in a file of PyTorch.
_MEANT = {
    "_rebuild_tensor_v2": _tensor,
    "_reconstruct": np.empty(0).__reduce__()[0],
    "ndarray": np.ndarray,
    "dtype": np.dtype,
    "scalar": np.float64().__reduce__()[0],
    "encode": lambda text, encoding: text.encode(encoding),  # how bytes are kept
}


class _Reader(pickle.Unpickler):
    """Reads PyTorch's format, in which storages are files beside the pickled objects."""

    def __init__(self, archive: zipfile.ZipFile, pickled: str) -> None:
        super().__init__(io.BytesIO(archive.read(pickled)))
        self._archive = archive
        self._folder = pickled.rpartition("/")[0]

    def find_class(self, module: str, name: str) -> Any:
        """A function or class that is named: all but those that are meant stand for themselves."""
        return _MEANT.get(name) or type(name, (_Object,), {})

    def persistent_load(self, pid: Any) -> Array:
        """The elements of a storage."""
        _, kind, key, *_ = pid
        return _typed(self._archive.read(f"{self._folder}/data/{key}"), kind.__name__)


def _pytorch(path: Path) -> dict[str, Any]:
    with zipfile.ZipFile(path) as archive:
        (pickled,) = [name for name in archive.namelist() if name.endswith("data.pkl")]
        return dict(_leaves(_Reader(archive, pickled).load(), ""))


def _leaves(value: Any, place: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, list | tuple | set):
        value = dict(enumerate(value))
    if isinstance(value, dict):
        for key, each in value.items():
            yield from _leaves(each, f"{place}.{key}")
    elif isinstance(value, np.ndarray | np.generic | int | float | complex | str | bytes):
        yield place, value


_READERS: dict[str, Callable[[Path], dict[str, Any]]] = {
    **dict.fromkeys((".npy", ".npz"), _numpy),
    ".safetensors": _safetensors,
    **dict.fromkeys((".pt", ".pth", ".ckpt", ".bin"), _pytorch),
}


def close(one: Any, other: Any, rtol: float) -> bool:
    """Whether two values are the same: those of floating point within a tolerance of the largest of
    their array, all others exactly, as whole numbers may be names.
    """
    a, b = np.asarray(one), np.asarray(other)
    if a.shape != b.shape or not all(np.issubdtype(each.dtype, np.inexact) for each in (a, b)):
        return bool(np.array_equal(a, b))
    finite = np.isfinite(a)
    if not np.array_equal(finite, np.isfinite(b)):
        return False
    a, b = a[finite].astype("c16"), b[finite].astype("c16")
    return not a.size or bool(np.abs(a - b).max() <= rtol * np.abs(a).max() + 1e-6)
