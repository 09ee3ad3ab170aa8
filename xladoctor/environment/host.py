"""Checks of the interpreter, the system and xladoctor itself."""

from __future__ import annotations

import platform
import sys

from xladoctor import __version__
from xladoctor.environment.interface import Check, failure, ok
from xladoctor.errors import XladoctorError

_OLDEST = (3, 11)  # requires-python in pyproject.toml


def python() -> Check:
    """Whether xladoctor supports this version of Python."""
    version = f"{platform.python_version()}, {sys.executable}"
    if sys.version_info[:2] < _OLDEST:
        oldest = ".".join(map(str, _OLDEST))
        return failure("Python", version, f"use Python {oldest} or later")
    return ok("Python", version)


def system() -> Check:
    """Whether programs can be captured on this system at all."""
    description = f"{platform.system()} {platform.release()}, {platform.machine()}"
    if sys.platform != "linux":
        advice = "programs are captured on Linux only; here, `xladoctor analyze` can read what was"
        return failure("system", description, f"{advice} captured elsewhere")
    return ok("system", description)


def xladoctor() -> Check:
    """Whether xladoctor is complete: its rules are files of their own, and need DuckDB."""
    import duckdb  # noqa: F401

    from xladoctor.diagnosis.pack import load_rules

    version = __version__
    advice = "reinstall xladoctor: pip install --force-reinstall xladoctor"
    try:
        rules = load_rules()
    except XladoctorError as error:
        return failure("xladoctor", f"{version}; {error.what}", advice)
    if not rules:
        return failure("xladoctor", f"{version}, without its rules", advice)
    return ok("xladoctor", f"{version}, {len(rules)} rules")
