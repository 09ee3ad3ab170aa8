"""The environment that programs of the benchmarks run in."""

import os


def for_cpu() -> dict[str, str]:
    """The environment of this process, with the CPU as device."""
    return {**os.environ, "PJRT_DEVICE": "CPU"}
