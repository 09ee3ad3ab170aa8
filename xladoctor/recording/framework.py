"""Whether this interpreter has a framework whose programs can be captured."""

from __future__ import annotations

import sys
from importlib.util import find_spec

from xladoctor.frontends.vocabulary import vocabulary
from xladoctor.recording.bootstrap import _xladoctor
from xladoctor.recording.interface import CaptureError


def require_installed() -> None:
    """Raises CaptureError, saying how to install it, if this interpreter lacks a part."""
    missing = [name for name in vocabulary().requires if find_spec(name) is None]
    if missing:
        raise CaptureError(
            f"{' and '.join(missing)} not installed for {sys.executable}, which would run the"
            " program",
            f"{install_line()}\nor name another environment's Python:"
            " xladoctor run -- /path/to/python train.py",
        )


def installed() -> str:
    """The module name of the framework that this process can be captured with.

    Raises:
        CaptureError: there is none.
    """
    framework = _xladoctor.installed()
    if framework is None:
        raise CaptureError(f"{vocabulary().package} is not installed for {sys.executable}",
                           install_line())  # fmt: skip
    return framework


def install_line() -> str:
    """The command that installs what xladoctor captures with."""
    return vocabulary().words["install"]
