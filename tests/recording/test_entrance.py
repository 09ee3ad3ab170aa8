"""``xladoctor.capture`` is what captures, whatever else was imported."""

from __future__ import annotations

import xladoctor
import xladoctor.recording.launcher  # which sets attributes of the package
from xladoctor.in_process import InProcessCapture


def test_capture_is_a_name_of_the_package_and_no_folder() -> None:
    assert xladoctor.recording.launcher.__name__
    assert xladoctor.capture is InProcessCapture
