"""Runs third-party work in a process of its own, which is killed if it exceeds its limits.

Nothing less is enough: DuckDB and Python check for interrupts only between calls of functions, and
a single call can take forever. The process is forked, so that it has the evidence.
"""

from __future__ import annotations

import faulthandler
import gc
import json
import math
import os
import signal
import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from decimal import Decimal
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import Any, NoReturn

#: Bytes of memory that it may use on top of this process's, and bytes of its whole answer.
MEMORY, ANSWER = 2 << 30, 1 << 20


def contained(work: Callable[[], Iterable[Any]], seconds: float) -> tuple[list[Any], str | None]:
    """What ``work`` yields, in JSON's types, and why it ended early, if it did.

    Dates, bytes and the like become texts, decimals become numbers, and infinite numbers and NaN
    become None.
    """
    if not hasattr(os, "fork"):
        return [], "this system cannot copy a process, in which it would be safe"
    reader, writer = Pipe(duplex=False)
    collects = gc.isenabled()
    gc.disable()  # in the child: finalizers may wait for threads that do not exist there
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about threads, which the child does not need
            child = os.fork()
        if not child:
            _serve(work, writer, seconds)
    except OSError as error:
        return [], f"no process could be started: {error.strerror}"
    finally:
        if collects:
            gc.enable()
    writer.close()
    try:
        return _received(reader, child, time.monotonic() + seconds, seconds)
    finally:
        _end(child)
        reader.close()


def _received(
    reader: Connection, child: int, until: float, seconds: float
) -> tuple[list[Any], str | None]:
    given: list[Any] = []
    while reader.poll(max(0.0, until - time.monotonic())):
        try:
            kind, value = json.loads(reader.recv_bytes(), parse_constant=lambda _: None)
        except (EOFError, OSError):
            return given, _died(child, seconds)
        if kind == "end":
            return given, value
        given.append(value)
    return given, _too_long(seconds)


def _died(child: int, seconds: float) -> str:
    with suppress(ChildProcessError):  # if the program ignores SIGCHLD
        info = os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
        if info and info.si_status == signal.SIGALRM:
            return _too_long(seconds)
        if info and info.si_status:
            return f"crashed with {signal.Signals(info.si_status).name}"
    return "crashed"


def _end(child: int) -> None:
    with suppress(OSError):
        os.kill(child, signal.SIGKILL)  # harmless if the process has ended
        os.waitpid(child, 0)


def _serve(work: Callable[[], Iterable[Any]], writer: Connection, seconds: float) -> NoReturn:
    """Run the work in the child, which must never return into its parent's code."""
    try:
        _limit(seconds)
        writer.send_bytes(json.dumps(("end", _sent(work, writer))).encode())
    finally:
        os._exit(0)


def _sent(work: Callable[[], Iterable[Any]], writer: Connection) -> str | None:
    size = 0
    try:
        for item in work():
            message = json.dumps(("item", _plain(item))).encode()
            size += len(message)
            if size > ANSWER:
                return f"its answer is larger than {ANSWER >> 20} MiB"
            writer.send_bytes(message)
    except MemoryError:
        return _too_much()
    except RecursionError:
        return "nested too deeply"
    except BaseException as error:  # the work can raise anything
        text = str(error)
        return _too_much() if "Out of Memory" in text else (text.splitlines() or [repr(error)])[0]
    return None


def _limit(seconds: float) -> None:
    """Limit the child: it cannot write files, nor outlive its parent by much."""
    faulthandler.disable()
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(nowhere, stream)
    for number in (signal.SIGALRM, signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    signal.alarm(math.ceil(seconds) + 1)
    import resource  # exists only on systems that can fork

    limits = {resource.RLIMIT_FSIZE: 0, resource.RLIMIT_CORE: 0}
    with suppress(OSError):  # only Linux reports its size, and enforces this limit
        pages = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[0])
        limits[resource.RLIMIT_AS] = pages * resource.getpagesize() + MEMORY
    for limit, value in limits.items():
        hard = resource.getrlimit(limit)[1]
        least = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(limit, (least, least))


def _plain(value: Any) -> Any:
    """A value in JSON's types."""
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return str(value)


def _too_long(seconds: float) -> str:
    return f"took longer than {seconds:g} s and was ended"


def _too_much() -> str:
    return f"needs more than {MEMORY >> 30} GiB of memory"
