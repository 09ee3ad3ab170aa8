"""Why a call site compiled again: input, constant or operation, and the line that it comes from."""

from xladoctor.causes.derive import derive

__all__ = ["derive"]
