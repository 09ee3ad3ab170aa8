"""The pytest plugin: a fixture. Unless used, it costs nothing and imports nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from xladoctor.expectation.block import Block


@pytest.fixture(scope="session")
def xladoctor_expect() -> Callable[..., Block]:
    """``with xladoctor_expect(compilations=0): …``: limits the events in the block.

    Like ``xladoctor.expect``, but counting starts with the test's set-up, so that graphs of the
    block can be compared with those of a warm-up.
    """
    from xladoctor.expectation import expect, session

    session.active()
    return expect


def pytest_unconfigure() -> None:
    """Workers of pytest-xdist end without exit handlers."""
    session: Any = sys.modules.get("xladoctor.expectation.session")
    if session is not None:
        session.end()
