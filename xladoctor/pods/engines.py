"""Where hosts are reduced: in processes of this machine, or by the workers of a Dask cluster.

A worker that dies takes the host that it had with it, and no other: that one is tried again,
alone.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from asyncio import CancelledError
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any, TypeVar

from xladoctor.errors import XladoctorError

Item = TypeVar("Item")
Result = TypeVar("Result")
#: The word for the scheduler that Dask's own configuration names.
CONFIGURED = "dask"
_TRIES = 2
_JOINING_S = 60.0  # for workers that start on demand, or again after one died
_PDEATHSIG = 1  # of prctl(2)


class ClusterError(XladoctorError):
    """A cluster that cannot be used."""


class WorkerDiedError(XladoctorError):
    """The process that had an item ended, each time that it was tried."""


def on_this_machine(
    work: Callable[[Item], Result], items: Sequence[Item], workers: int
) -> Iterator[tuple[Item, Result | WorkerDiedError]]:
    """The result for each item, from so many processes, in the order in which they are done."""
    pending, suspects = list(reversed(items)), list[Item]()
    while pending:
        with _pool(min(workers, len(pending))) as pool:
            running: dict[Future[Result], Item] = {}
            broken = False
            while running or (pending and not broken):
                while pending and not broken and len(running) < workers:
                    item = pending.pop()
                    try:
                        running[pool.submit(work, item)] = item
                    except BrokenProcessPool:
                        pending.append(item)
                        broken = True
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    item = running.pop(future)
                    try:
                        yield item, future.result()
                    except BrokenProcessPool:
                        suspects.append(item)  # it, or one that ran beside it
                        broken = True
    for item in suspects:
        yield item, _alone(work, item)


def _alone(work: Callable[[Item], Result], item: Item) -> Result | WorkerDiedError:
    for _ in range(_TRIES):
        with _pool(1) as pool:
            try:
                return pool.submit(work, item).result()
            except BrokenProcessPool:
                continue
    return WorkerDiedError(
        "the process that read it died, perhaps out of memory", "fewer --workers leave more"
    )


@contextmanager
def _pool(workers: int) -> Iterator[ProcessPoolExecutor]:
    before = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(
        workers, multiprocessing.get_context("spawn"), _begin, (os.getpid(),)
    )
    try:
        yield pool
    except BaseException:  # an interrupt does not wait for what is being read
        for child in set(multiprocessing.active_children()) - before:
            child.kill()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _begin(parent: int) -> None:
    """In a worker: end with the command that started it, however that ends."""
    import ctypes

    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def on_cluster(
    work: Callable[[Item], Result], items: Sequence[Item], address: str, joining: float = _JOINING_S
) -> Iterator[tuple[Item, Result | WorkerDiedError]]:
    """The same by the workers of a Dask cluster.

    Args:
        address: of its scheduler, as ``tcp://scheduler:8786``; or ``dask``: that which Dask's
            configuration names.
        joining: the seconds in which its first worker must join.

    Raises:
        ClusterError: Dask is not installed, the scheduler does not answer or has no worker, or the
            workers lack this package.
    """
    with _client(address) as client:
        import distributed
        from distributed.scheduler import KilledWorker

        as_completed: Any = distributed.as_completed

        futures = client.map(work, items, key="xladoctor", pure=False, retries=_TRIES - 1)
        try:
            client.wait_for_workers(1, timeout=joining)
        except TimeoutError as error:
            raise ClusterError(
                f"{address}: the scheduler has no workers", f"dask worker {address}"
            ) from error
        of = dict(zip(futures, items, strict=True))
        for future in as_completed(futures):
            try:
                yield of[future], future.result()
            except KilledWorker:
                yield (
                    of[future],
                    WorkerDiedError(
                        "the workers that read it died, perhaps out of memory",
                        "give them more",
                    ),
                )
            except CancelledError as error:
                raise ClusterError(
                    f"{address}: the connection to the scheduler was lost",
                    "what was reduced is kept, so the same command goes on from there",
                ) from error
            except Exception as error:  # of what the workers lack, or have in another version
                raise ClusterError(
                    f"{address}: its workers cannot run xladoctor: {error!r}",
                    "install the same version of xladoctor on them",
                ) from error
            future.release()


@contextmanager
def _client(address: str) -> Iterator[Any]:
    try:
        import dask
        import distributed
    except ImportError as error:
        raise ClusterError("Dask is not installed", "pip install 'xladoctor[cluster]'") from error
    if address == CONFIGURED:
        address = dask.config.get("scheduler-address", None)
        if not address:
            raise ClusterError(
                "Dask's configuration names no scheduler",
                "set DASK_SCHEDULER_ADDRESS, or give --cluster its address: tcp://host:8786",
            )
    try:
        client: Any = distributed.Client(address)  # type: ignore[no-untyped-call]
    except (OSError, ValueError, ImportError) as error:
        raise ClusterError(
            f"{address}: no Dask scheduler answers there: {error}",
            "expected an address such as tcp://host:8786, which `dask scheduler` prints",
        ) from error
    try:
        yield client
    finally:
        client.close()
