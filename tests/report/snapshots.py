"""Whole outputs, kept as files. ``XLADOCTOR_UPDATE_SNAPSHOTS=1`` writes them anew."""

from __future__ import annotations

import os
from pathlib import Path


def assert_as_before(path: Path, text: str) -> None:
    """The text is that of the file."""
    if os.environ.get("XLADOCTOR_UPDATE_SNAPSHOTS"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")
