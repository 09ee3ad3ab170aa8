"""Finds why a call site compiled again: input, constant or operation, and the line of it."""

from xladoctor.causes.derive import derive

__all__ = ["derive"]
