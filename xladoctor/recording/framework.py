"""Whether this interpreter has a framework whose programs can be captured."""

from __future__ import annotations

import sys
from importlib.util import find_spec

from xladoctor.frontends.vocabulary import captured
from xladoctor.recording.interface import CaptureError


def require_installed() -> None:
    """Raises CaptureError, saying how to install one, if this interpreter has no framework."""
    missing = {
        each.title: [name for name in each.requires if find_spec(name) is None]
        for each in captured()
    }
    if all(missing.values()):
        lacks = "; ".join(
            f"{title} needs {' and '.join(names)}" for title, names in missing.items()
        )
        raise CaptureError(
            f"{sys.executable} has no framework whose programs can be captured: {lacks}",
            f"{install_lines()}\nor use another environment's Python:"
            " xladoctor run -- /path/to/python train.py",
        )


def install_lines() -> str:
    """The commands that install what xladoctor captures with, one of which is enough."""
    return "\nor ".join(each.words["install"] for each in captured())
