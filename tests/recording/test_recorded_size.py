"""The estimate of a recording's size, by the memory of this process."""

from __future__ import annotations

import subprocess
import sys

from xladoctor.recording.bootstrap._xladoctor.recorded_size import (
    BYTES_OF_MEMORY,
    RecordedSize,
)

MB = 1_000_000
EVENT = 1000  # bytes: Python asks malloc for more than 512


def test_small_objects_are_counted_and_large_ones_are_not() -> None:
    # A process of its own: malloc places a large object in a hole that earlier work has left
    code = f"""
from {RecordedSize.__module__} import allocated
before = allocated()
events = [bytes({EVENT}) for _ in range(20_000)]
small = allocated() - before
tensor = bytes({64 * MB})
print(small, allocated() - before - small)
"""
    printed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    small, large = map(int, printed.split())
    assert 18 * MB < small < 30 * MB
    assert large < 10 * MB


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
