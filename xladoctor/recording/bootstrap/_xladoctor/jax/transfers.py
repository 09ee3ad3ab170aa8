"""Wraps what moves data to the device and to disk: uploads, waits for input, and saves."""

from __future__ import annotations

import functools
import sys
from typing import Any, Iterable

from ..calls import Installer, Make
from ..disguise import hide_frames
from ..pytorch.loaders import Loaders

_CONTAINERS = frozenset({tuple, list, dict})
_FEW = 8  # entries of a container that are searched for NumPy arrays


class Transfers(Installer):
    """Installs the wrappers, which report to ``calls``.

    Attributes:
        host: classes of arrays in the host's memory.
    """

    host: tuple[type, ...] = ()

    def install_uploads(self) -> None:
        """Wrap the function that sends arrays to devices."""
        import numpy
        from jax._src.interpreters import pxla

        literals = sys.modules.get("jax._src.literals")
        wrapper = getattr(literals, "TypedNdArray", numpy.ndarray)
        self.host = (numpy.ndarray, numpy.generic)
        if not issubclass(wrapper, numpy.ndarray):  # JAX 0.8 wraps its argument
            self.host += (wrapper,)

        self._hooks.replace(pxla, "batched_device_put", self._put)

    def _put(self, original: Any) -> Any:
        def batched_device_put(
            aval: Any, sharding: Any, arrays: Any, *args: Any, **kwargs: Any
        ) -> Any:
            what = self._calls.outermost() and self._calls.note(_plain, arrays, self.host)
            try:
                if not what:
                    return original(aval, sharding, arrays, *args, **kwargs)
                return self._calls.upload(what, original, aval, sharding, arrays, *args, **kwargs)
            except BaseException as error:
                hide_frames(error)
                raise

        return batched_device_put

    def sent(self, site: int | None, args: Any) -> None:
        """Note the host's arrays among the arguments of a launch."""
        if arrays := _of_host(args, self.host):
            self._recorder.uploads(site, arrays, 0)

    def install_input(self) -> None:
        """Wrap the iterators of input pipelines, once the program has imported them."""
        grain = "grain._src.python.dataset.transformations"
        for module, owner in (
            ("grain._src.python.data_loader", "DataLoaderIterator"),
            (f"{grain}.map", "_MapDatasetIterator"),
            (f"{grain}.batch", "_BatchDatasetIterator"),
            (f"{grain}.prefetch", "PrefetchDatasetIterator"),
            (f"{grain}.prefetch", "ThreadPrefetchDatasetIterator"),
            (f"{grain}.process_prefetch", "ProcessPrefetchDatasetIterator"),
            ("tensorflow.python.data.ops.dataset_ops", "NumpyIterator"),
            ("tensorflow.python.data.ops.iterator_ops", "OwnedIterator"),
        ):
            self._await("input", module, owner, "__next__", self._calls.input)
        self._hooks.await_module(
            "input",
            "torch.utils.data.dataloader",
            lambda _: Loaders(sys.modules["torch"], self._calls).install(),
        )

    def install_saves(self) -> None:
        """Wrap the functions that write checkpoints, once the program has imported them."""
        for module, owner in (
            ("orbax.checkpoint.checkpoint_manager", "CheckpointManager"),
            ("orbax.checkpoint._src.checkpointers.checkpointer", "Checkpointer"),
            ("orbax.checkpoint._src.checkpointers.async_checkpointer", "AsyncCheckpointer"),
        ):
            self._await("saves", module, owner, "save", self._calls.save)
        for module, names in (
            ("numpy", ("save", "savez", "savez_compressed")),
            ("pickle", ("dump",)),
        ):
            self._hooks.await_module("saves", module, functools.partial(self._written_by, names))

    def _await(self, hook: str, module: str, owner: str, name: str, make: Make) -> None:
        """Wrap a method, if the class has it, once the program has imported its module."""

        def install(found: Any) -> None:
            kind = getattr(found, owner, None)
            if kind is not None and name in vars(kind):
                self._hooks.replace(kind, name, make)

        self._hooks.await_module(hook, module, install)

    def _written_by(self, names: Iterable[str], module: Any) -> None:
        for name in names:
            self._hooks.replace(module, name, functools.partial(self._calls.save, fetched=True))


def _plain(arrays: Any, kinds: tuple[type, ...]) -> list[Any]:
    """The arrays of these kinds among others."""
    return [getattr(array, "val", array) for array in arrays if issubclass(type(array), kinds)]


def _of_host(args: Any, kinds: tuple[type, ...]) -> list[Any]:
    """The arrays of these kinds among the arguments, and in their small containers."""
    values: list[Any] = []
    for arg in args:
        kind = type(arg)
        if kind in _CONTAINERS and 0 < len(arg) <= _FEW:
            for value in arg.values() if kind is dict else arg:
                if issubclass(type(value), kinds):
                    values.append(getattr(value, "val", value))
        elif issubclass(kind, kinds):
            values.append(getattr(arg, "val", arg))
    return values
