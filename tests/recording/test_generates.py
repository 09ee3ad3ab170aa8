"""Which frames of the program run for a generator of its own."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from xladoctor.recording.bootstrap._xladoctor.call_site import CallSites

SITES = CallSites(())


def _generates() -> bool:
    frame = sys._getframe(1)
    above = frame
    while above is not None:
        SITES.kind(above.f_code.co_filename)
        above = above.f_back  # type: ignore[assignment]
    return SITES.generates(frame)


def _decoded() -> bool:
    return _generates()


def _batches() -> Iterator[bool]:
    yield _generates()
    yield from [_decoded() for _ in range(2)]


def _epochs() -> Iterator[bool]:
    yield _trained()


def _trained() -> bool:
    return _step()


def _step() -> bool:
    return _generates()


def test_a_generator_and_what_it_calls_make_what_the_loop_asks_for() -> None:
    assert list(_batches()) == [True, True, True]


def test_a_function_far_below_a_generator_does_not() -> None:
    assert list(_epochs()) == [False]
    assert not _decoded()


def test_an_expression_that_is_added_up_is_no_generator_of_batches() -> None:
    assert sum(_generates() for _ in range(3)) == 0
