"""The captures that tests of running programs share."""

from tests.live.conftest import captured

__all__ = ["captured"]
