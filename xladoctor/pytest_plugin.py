"""The pytest plugin: a fixture. It costs nothing where it is not used, and imports nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from xladoctor.expectation.block import Block


@pytest.fixture(scope="session")
def xladoctor_expect() -> Callable[..., Block]:
    """``with xladoctor_expect(compilations=0): …``: at most so many events in the block.

    As ``xladoctor.expect``, but counting begins with the test's set-up: what a warm-up compiles can
    then be compared with what is compiled in the block.
    """
    from xladoctor.expectation import expect, session

    session.active()
    return expect


def pytest_unconfigure() -> None:
    """Workers of pytest-xdist end without exit handlers."""
    session: Any = sys.modules.get("xladoctor.expectation.session")
    if session is not None:
        session.end()
