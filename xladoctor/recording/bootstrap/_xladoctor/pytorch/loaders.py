"""Records waits for batches of ``torch.utils.data``, and how its loaders are configured."""

from __future__ import annotations

import functools
import weakref
from types import CodeType, FunctionType, MethodType
from typing import Any, Callable, Iterator

from ..calls import Calls, Installer
from ..disguise import hide_frames
from ..facts import EmptyPass, Loader


class Loaders(Installer):
    """Installs the wrappers, which report to ``calls``."""

    def __init__(self, torch: Any, calls: Calls) -> None:
        super().__init__(calls)
        self._torch = torch
        #: By batch sampler, the call site that made its loader.
        self._made: weakref.WeakKeyDictionary[Any, int | None] = weakref.WeakKeyDictionary()

    def install(self) -> None:
        """Install all wrappers."""
        from torch.utils.data import dataloader
        from torch.utils.data._utils import worker

        calls, replace = self._calls, self._hooks.replace
        replace(worker, "_worker_loop", calls.before(calls.events.leave_worker, handed=False))
        replace(dataloader._BaseDataLoaderIter, "__next__", self._next_batch)
        replace(dataloader.DataLoader, "__init__", calls.after(self._loader_made))

    def _loader_made(self, loader: Any, *_: Any, **__: Any) -> None:
        batches, site = loader.batch_sampler, self._calls.sites.here(4)
        if type(batches) is self._torch.utils.data.BatchSampler:  # no code of the program's
            size, drops = batches.batch_size, batches.drop_last
            places = map(self._calls.definition, _codes_of(loader.collate_fn))
            collate = next((place for place in places if place is not None), None)
            self._made[batches] = site
            last = None if drops else _last_batch(batches.sampler, size)
            made = Loader(
                site=site,
                batch_size=size,
                drop_last=drops,
                workers=loader.num_workers,
                pinned=bool(loader.pin_memory),
                collate=collate,
                last_batch=last,
            )
            self._recorder.log_once(made, site, size, last, drops)

    def _next_batch(self, original: Any) -> Any:
        timed = self._calls.input(original)

        def __next__(batches: Any) -> Any:  # noqa: N807
            try:
                return timed(batches)
            except StopIteration:
                if not batches._num_yielded and not self._recorder.off:
                    self._calls.note(self._gave_nothing, batches._index_sampler)
                raise
            except BaseException as error:
                hide_frames(error)
                raise

        return __next__

    def _gave_nothing(self, batches: Any) -> None:
        """Record that a pass over a loader ended without a batch."""
        if type(batches) is self._torch.utils.data.BatchSampler:
            site, size, drops = self._made.get(batches), batches.batch_size, batches.drop_last
            empty = EmptyPass(site=site, batch_size=size, drop_last=drops)
            self._recorder.log_once(empty, site, size, drops)


def _last_batch(sampler: Any, size: int) -> int | None:
    """The samples in the last batch of a pass, 0 if it is full; None if it is unknown.

    Only torch's own samplers are asked. Their length may be that of the program's data set, which
    torch asks for in each pass, too; one that has none yet fails.
    """
    if not type(sampler).__module__.startswith("torch.utils.data."):
        return None
    try:
        return len(sampler) % size
    except Exception:
        return None


def _codes_of(function: Callable[..., Any]) -> Iterator[CodeType | None]:
    """The code that a function, method, partial or callable object runs, and the code of the
    functions that such an object holds, since it may only wrap one.
    """
    while isinstance(function, functools.partial):
        function = function.func
    function = getattr(function, "__func__", function)
    if hasattr(function, "__code__"):
        yield function.__code__
        return
    yield getattr(type(function).__call__, "__code__", None)
    for held in vars(function).values() if hasattr(function, "__dict__") else ():
        if isinstance(held, (FunctionType, MethodType)):
            yield held.__code__
