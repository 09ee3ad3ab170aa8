"""The interpreter, the operating system, and xladoctor itself."""

from __future__ import annotations

import platform
import sys

from xladoctor import __version__
from xladoctor.environment.interface import Check, failure, ok
from xladoctor.errors import XladoctorError

_OLDEST = (3, 11)  # requires-python in pyproject.toml


def python() -> Check:
    """Whether this Python is one that xladoctor is made for."""
    found = f"{platform.python_version()}, {sys.executable}"
    if sys.version_info[:2] < _OLDEST:
        oldest = ".".join(map(str, _OLDEST))
        return failure("Python", found, f"use Python {oldest} or later")
    return ok("Python", found)


def system() -> Check:
    """Whether torch_xla can be installed on this system at all."""
    found = f"{platform.system()} {platform.release()}, {platform.machine()}"
    if sys.platform != "linux":
        advice = "torch_xla is built for Linux alone; here, `xladoctor analyze` can read what was"
        return failure("system", found, f"{advice} captured elsewhere")
    return ok("system", found)


def xladoctor() -> Check:
    """Whether xladoctor is whole: its rules are files of their own."""
    from xladoctor.diagnosis.pack import load_rules

    found, advice = __version__, "install xladoctor again: pip install --force-reinstall xladoctor"
    try:
        rules = load_rules()
    except XladoctorError as error:
        return failure("xladoctor", f"{found}; {error.what}", advice)
    if not rules:
        return failure("xladoctor", f"{found}, without its rules", advice)
    return ok("xladoctor", f"{found}, {len(rules)} rules")
