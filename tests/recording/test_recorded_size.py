"""The estimate of a recording's size, by the memory of this process."""

from __future__ import annotations

from xladoctor.recording.bootstrap._xladoctor.recorded_size import (
    BYTES_OF_MEMORY,
    RecordedSize,
    allocated,
)

MB = 1_000_000
EVENT = 1000  # bytes: Python asks malloc for more than 512


def test_small_objects_are_counted_and_large_ones_are_not() -> None:
    before = allocated()
    events = [bytes(EVENT) for _ in range(20_000)]
    small = allocated() - before
    assert 18 * MB < small < 30 * MB, len(events)
    tensor = bytes(64 * MB)
    assert allocated() - before - small < 10 * MB, len(tensor)


def test_size_is_that_of_what_is_kept() -> None:
    size = RecordedSize(compiled=0)
    events = [bytes(EVENT) for _ in range(40_000)]
    size.measure(compiled=0, steps=10)
    assert 9 * MB < size.bytes < 14 * MB
    del events
    size.measure(compiled=0, steps=20)
    assert 0 <= size.bytes < 2 * MB


def test_compilations_count_as_other_steps_do() -> None:
    size = RecordedSize(compiled=0)
    events = [bytes(EVENT) for _ in range(4_000)]
    size.measure(compiled=0, steps=10)
    modules = [bytes(EVENT) for _ in range(80_000)]
    size.measure(compiled=1, steps=20)
    assert 1.5 * MB < size.bytes < 4 * MB, (len(events), len(modules))
    assert BYTES_OF_MEMORY == 4
