"""Arrays in files of NumPy, PyTorch and safetensors. No code in a file is run."""

from __future__ import annotations

import io
import json
import pickle
import zipfile
from collections import OrderedDict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
_NAMED = (
    ("F64", "Double", "f8"),
    ("F32", "Float", "f4"),
    ("F16", "Half", "f2"),
    ("BF16", "BFloat16", "bf"),
    ("I64", "Long", "i8"),
    ("I32", "Int", "i4"),
    ("I16", "Short", "i2"),
    ("I8", "Char", "i1"),
    ("U8", "Byte", "u1"),
    ("BOOL", "Bool", "?"),
)
_TYPES = {
    **{name: kind for name, _, kind in _NAMED},
    **{f"{name}Storage": kind for _, name, kind in _NAMED},
}
_FAULTS = (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError, EOFError)


def arrays(path: Path) -> dict[str, Any] | None:
    """What a file holds, by the place in it: arrays, numbers and texts; None if it is no such file
    or cannot be read.
    """
    read = _READERS.get(path.suffix)
    if read is None:
        return None
    try:
        return read(path)
    except (*_FAULTS, zipfile.BadZipFile, pickle.UnpicklingError, RecursionError):
        return None


def _numpy(path: Path) -> dict[str, Any]:
    loaded = np.load(io.BytesIO(path.read_bytes()), allow_pickle=False)
    return (
        {"": loaded} if isinstance(loaded, np.ndarray) else {name: loaded[name] for name in loaded}
    )


def _typed(raw: bytes, kind: str) -> Array:
    if _TYPES[kind] == "bf":  # the upper half of a float32
        return (np.frombuffer(raw, "<u2").astype("<u4") << 16).view("<f4")
    return np.frombuffer(raw, np.dtype(_TYPES[kind]).newbyteorder("<"))


def _safetensors(path: Path) -> dict[str, Any]:
    raw = path.read_bytes()
    size = int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8 : 8 + size])
    header.pop("__metadata__", None)
    return {
        name: _typed(raw[8 + size + each["data_offsets"][0] :][: _length(each)], each["dtype"])
        for name, each in header.items()
    }


def _length(entry: dict[str, Any]) -> int:
    begin, end = entry["data_offsets"]
    return int(end - begin)


class _Inert:
    """Stands for any object that a file would have made."""

    held: list[Any]

    def __new__(cls, *args: Any, **kwargs: Any) -> _Inert:
        made = super().__new__(cls)
        made.held = [args, kwargs]
        return made

    def __init__(self, *args: Any, **kwargs: Any) -> None: ...

    def __call__(self, *args: Any) -> _Inert:
        return _Inert(*args)

    def __setstate__(self, state: Any) -> None:
        self.held.append(state)

    def __setitem__(self, key: Any, value: Any) -> None:
        self.held.append((key, value))

    def append(self, value: Any) -> None:
        """As a list."""
        self.held.append(value)

    def extend(self, values: Any) -> None:
        """As a list."""
        self.held.extend(values)


class _Reader(pickle.Unpickler):
    """Reads PyTorch's format; of the names in it only those below mean anything."""

    def __init__(self, archive: zipfile.ZipFile, pickled: str) -> None:
        super().__init__(io.BytesIO(archive.read(pickled)))
        self._archive = archive
        self._folder = pickled.rpartition("/")[0]

    def find_class(self, module: str, name: str) -> Any:
        """A function or class that is named: tensors are made, all else is inert."""
        if name == "_rebuild_tensor_v2":
            return _tensor
        if name == "_rebuild_parameter":
            return _first
        if name == "OrderedDict":
            return OrderedDict
        return type(name, (_Inert,), {})

    def persistent_load(self, pid: Any) -> Array:
        """The elements of a storage."""
        _, kind, key, *_ = pid
        return _typed(self._archive.read(f"{self._folder}/data/{key}"), kind.__name__)


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


def _first(value: Any, *_: Any) -> Any:
    return value


def _pytorch(path: Path) -> dict[str, Any]:
    with zipfile.ZipFile(path) as archive:
        (pickled,) = [name for name in archive.namelist() if name.endswith("data.pkl")]
        return dict(_leaves(_Reader(archive, pickled).load(), ""))


def _leaves(value: Any, place: str) -> Iterator[tuple[str, Any]]:
    if type(value).__name__ == "_reconstruct":  # an array of NumPy, as tensors of a device are kept
        _, shape, dtype, _, raw = value.held[-1]
        yield place, np.frombuffer(raw, dtype.held[0][0]).reshape(shape)
        return
    if isinstance(value, _Inert):
        value = value.held
    if isinstance(value, dict):
        for key, each in value.items():
            yield from _leaves(each, f"{place}.{key}")
    elif isinstance(value, list | tuple | set):
        for number, each in enumerate(value):
            yield from _leaves(each, f"{place}.{number}")
    elif isinstance(value, np.ndarray | int | float | complex | str | bytes):
        yield place, value


_READERS: dict[str, Callable[[Path], dict[str, Any]]] = {
    ".npy": _numpy,
    ".npz": _numpy,
    ".safetensors": _safetensors,
    ".pt": _pytorch,
    ".pth": _pytorch,
    ".ckpt": _pytorch,
    ".bin": _pytorch,
}


def close(one: Any, other: Any, rtol: float) -> bool:
    """Whether two values are the same: numbers within a tolerance of the largest of their array."""
    if isinstance(one, str | bytes) or isinstance(other, str | bytes):
        return bool(one == other)
    a, b = np.asarray(one), np.asarray(other)
    if a.shape != b.shape or not all(np.issubdtype(each.dtype, np.number) for each in (a, b)):
        return bool(np.array_equal(a, b))
    if not np.array_equal(np.isfinite(a), np.isfinite(b)):
        return False
    finite = np.isfinite(a)
    a, b = a[finite].astype("c16"), b[finite].astype("c16")
    return not a.size or bool(np.abs(a - b).max() <= rtol * np.abs(a).max() + 1e-6)
