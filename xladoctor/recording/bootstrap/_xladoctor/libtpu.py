"""Which libtpu a program has: the library that compiles for TPUs and runs them."""

from __future__ import annotations

import functools
import re
from contextlib import suppress

_PIN = re.compile(r"libtpu *== *([\w.]+)")


@functools.cache
def of_libtpu(framework: str = "") -> dict[str, str]:
    """The version of libtpu, or else the one that a framework's package pins; empty if unknown."""
    from importlib import metadata

    with suppress(Exception):  # not installed; or metadata that is damaged
        return {"libtpu": metadata.version("libtpu")}
    with suppress(Exception):
        for pin in map(_PIN.match, (framework and metadata.requires(framework)) or []):
            if pin:
                return {"libtpu (pinned)": pin[1]}
    return {}
