"""Captured runs, shared between tests and between the workers of pytest-xdist."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.live.harness import GENERAL, Captured, Captures, marks_of


@pytest.fixture(scope="session")
def captured(tmp_path_factory: pytest.TempPathFactory) -> Captures:
    """``captured(program)``: a captured run of the program, made on the first call."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    folder = shared / "captured"
    folder.mkdir(exist_ok=True)
    return Captures(folder)


@pytest.fixture(
    scope="session",
    params=[pytest.param(p, id=p.stem, marks=marks_of(p)) for p in GENERAL],
)
def example(request: pytest.FixtureRequest, captured: Captures) -> Captured:
    """A captured run of each example."""
    program: Path = request.param
    return captured(program)
