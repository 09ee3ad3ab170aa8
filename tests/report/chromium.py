"""The browser that tests open pages in: the system's chromium."""

from __future__ import annotations

import os
import shutil

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


def require() -> None:
    """Skip the module where there is no browser; never in CI."""
    if os.environ.get("CI"):
        return
    pytest.importorskip("playwright", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("chromium is not installed", allow_module_level=True)
