"""Whose error it is, and what of the capture a program's traceback shows."""

from __future__ import annotations

import contextlib
import signal
import sys
import traceback
from collections.abc import Callable
from functools import partial
from types import FrameType, SimpleNamespace
from typing import Any

import pytest

from xladoctor.recording.bootstrap._xladoctor import disguise
from xladoctor.recording.bootstrap._xladoctor.calls import Calls


class Stop(Exception):  # noqa: N818  # what a program calls its own
    pass


def plain(number: int, frame: FrameType | None) -> None:
    raise Stop


def starred(*received: Any) -> None:
    raise Stop


def wrapped(*received: Any) -> None:
    plain(*received)


class Handler:
    def __call__(self, number: int, frame: FrameType | None) -> None:
        raise Stop

    def with_more(self, more: int, number: int, frame: FrameType | None) -> None:
        raise Stop


def caught(action: Callable[[], object]) -> Exception:
    with pytest.raises(Stop) as caught:
        action()
    return caught.value


def interrupt() -> None:
    """Raise the signal below a function of the standard library, as if it had taken long."""
    with contextlib.ExitStack() as stack:
        stack.callback(signal.raise_signal, signal.SIGUSR1)


@pytest.mark.parametrize(
    "handler",
    [plain, starred, wrapped, Handler(), partial(Handler().with_more, 1)],
    ids=["function", "starred", "wrapped", "object", "partial"],
)
def test_error_of_a_signal_handler_interrupts(handler: Any) -> None:
    before = signal.signal(signal.SIGUSR1, handler)
    try:
        error = caught(interrupt)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert disguise.interrupts(error)


def test_error_of_a_trace_function_interrupts() -> None:
    def trace(frame: FrameType, event: str, argument: object) -> None:
        if frame.f_code is interrupt.__code__:
            raise Stop

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        error = caught(interrupt)
    finally:
        sys.settrace(before)
    assert disguise.interrupts(error)


def test_error_of_a_function_that_was_called_does_not_interrupt() -> None:
    assert not disguise.interrupts(caught(lambda: plain(1, None)))
    assert not disguise.interrupts(caught(lambda: plain(1, sys._getframe().f_back)))
    assert not disguise.interrupts(caught(lambda: starred((1, 2), [3])))
    assert not disguise.interrupts(Stop())


def test_traceback_that_leaves_a_wrapper_shows_none_of_it() -> None:
    calls: Any = Calls(SimpleNamespace(off=True), *[None] * 4)  # type: ignore[arg-type]
    barrier = calls.barrier(partial(plain, 0, None))

    def program() -> None:
        barrier()

    shown = [frame.name for frame in traceback.extract_tb(caught(program).__traceback__)]
    assert shown[-2:] == ["program", "plain"]
