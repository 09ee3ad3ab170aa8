"""How long a program warms up; SQL has it as the macro ``warmup()``."""

from __future__ import annotations

from xladoctor.recording.bootstrap._xladoctor.warmup import LEAST_OF_STEP, WARMUP

__all__ = ["LEAST_OF_STEP", "WARMUP"]
