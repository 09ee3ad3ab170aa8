"""Screenshots kept as files. ``XLADOCTOR_UPDATE_SNAPSHOTS=1`` takes them anew: look at them then.

Fonts and browsers differ from machine to machine, so pictures are compared by what is left of them
when they are very small.
"""

from __future__ import annotations

import io
import os
from pathlib import Path

from PIL import Image, ImageChops, ImageStat

TOLERANCE = 0.02  # mean difference of a colour, 0 to 1
_KEPT = 2  # of a picture, one pixel in so many of a line
_CELL = 20  # pixels of what is kept that are compared as one
_COLOURS = 64


def assert_looks_as_before(path: Path, screenshot: bytes, tolerance: float = TOLERANCE) -> None:
    """The picture is about that of the file."""
    picture = Image.open(io.BytesIO(screenshot)).convert("RGB").reduce(_KEPT)
    if os.environ.get("XLADOCTOR_UPDATE_SNAPSHOTS"):
        path.parent.mkdir(exist_ok=True)
        picture.quantize(_COLOURS).save(path, optimize=True)
    assert difference(picture, opened(path)) < tolerance


def opened(path: Path) -> Image.Image:
    """A picture that was kept."""
    with Image.open(path) as picture:
        return picture.convert("RGB")


def difference(one: Image.Image, other: Image.Image) -> float:
    """Mean difference of all cells, in each colour, 0 to 1; of other sizes they differ wholly."""
    if one.size != other.size:
        return 1.0
    size = (one.width // _CELL, one.height // _CELL)
    small = [each.resize(size, Image.Resampling.BOX) for each in (one, other)]
    return sum(ImageStat.Stat(ImageChops.difference(*small)).mean) / 3 / 255
