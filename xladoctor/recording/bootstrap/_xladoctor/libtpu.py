"""Which libtpu a program has: the library that compiles for TPUs and runs them."""

from __future__ import annotations

import functools
import re

_PIN = re.compile(r"libtpu *== *([\w.]+)")


@functools.cache
def of_libtpu(framework: str = "") -> dict[str, str]:
    """The version of libtpu, or else the one that a framework's package pins; empty if unknown."""
    from importlib import metadata

    try:
        return {"libtpu": metadata.version("libtpu")}
    except Exception:  # not installed; or metadata that is damaged
        pass
    try:
        for pin in map(_PIN.match, (framework and metadata.requires(framework)) or []):
            if pin:
                return {"libtpu (pinned)": pin[1]}
    except Exception:  # likewise
        pass
    return {}
