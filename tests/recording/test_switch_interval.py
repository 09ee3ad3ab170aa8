"""How soon the sampler gets the interpreter, beside threads that come and go."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator

import pytest

from xladoctor.recording.bootstrap._xladoctor.switch_interval import SwitchInterval

SOME = 50  # samples, enough for what was before to fade


@pytest.fixture
def interval() -> Iterator[SwitchInterval]:
    adjusted = SwitchInterval()
    yield adjusted
    adjusted.restore()


def spinning(stop: threading.Event) -> None:
    while not stop.is_set():
        sum(range(100))


def test_one_thread_alone_has_it_shortened_and_put_back(interval: SwitchInterval) -> None:
    before = sys.getswitchinterval()
    interval.adjust([threading.get_ident()])
    assert sys.getswitchinterval() < before
    interval.restore()
    assert sys.getswitchinterval() == before


def test_threads_that_compete_keep_the_program_s_own(interval: SwitchInterval) -> None:
    before, stop = sys.getswitchinterval(), threading.Event()
    threads = [threading.Thread(target=spinning, args=(stop,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    idents = [thread.ident for thread in threads if thread.ident]
    try:
        interval.adjust(idents)
        assert sys.getswitchinterval() < before
        while sys.getswitchinterval() < before:  # as soon as they have the processor
            interval.adjust(idents)
            time.sleep(0.005)
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def test_threads_that_wait_do_not_compete(interval: SwitchInterval) -> None:
    before, stop = sys.getswitchinterval(), threading.Event()
    waiting = threading.Thread(target=stop.wait)
    waiting.start()
    for _ in range(SOME):
        interval.adjust([threading.get_ident(), waiting.ident or 0])
        time.sleep(0.001)
    assert sys.getswitchinterval() < before
    stop.set()
    waiting.join()


def test_thread_that_ended_meanwhile_is_no_fault(
    interval: SwitchInterval, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = threading.Thread(target=int)
    ended.start()
    ended.join()
    assert ended.ident
    interval.adjust([threading.get_ident(), ended.ident])
    known = threading._active  # type: ignore[attr-defined]
    monkeypatch.setitem(known, ended.ident, ended)  # between its end and its leaving the list
    interval.adjust([threading.get_ident(), ended.ident])
    assert interval.is_exact(0.001)


def test_threads_that_python_did_not_start_are_no_fault(interval: SwitchInterval) -> None:
    interval.adjust([threading.get_ident(), 12345])
    assert interval.is_exact(0.001)


def test_more_threads_than_can_be_asked_keep_the_program_s_own(interval: SwitchInterval) -> None:
    before = sys.getswitchinterval()
    for _ in range(SOME):
        interval.adjust(list(range(1, 30)))
    assert sys.getswitchinterval() == before
