"""Reads JAX's warning of donated arguments that no result can overwrite.

Wording: ``lower_jaxpr_to_module`` in ``jax/_src/interpreters/mlir.py`` of JAX 0.8 to 0.12; some
releases write each array as ``ShapedArray(float32[8,64])``::

    UserWarning: Some donated buffers were not usable: float32[2000,1000], bfloat16[64].
    See an explanation at https://docs.jax.dev/en/latest/faq.html#buffer-donation.
"""

from __future__ import annotations

import re

from xladoctor.ingest.fact_rows import as_hlo
from xladoctor.ingest.warning_log import WarningLog

_ARRAY = re.compile(r"\w{1,20}\[[\d,]{0,200}\]")


class DonationWarnings(WarningLog):
    """Collects the warnings of one process, each with its arrays."""

    NAME = "JAX's warnings of donations"
    LACKING = "JAX's warning of donated buffers is cut off"
    MARKS = ("Some donated buffers were not usable: ",)
    frontend = "jax"

    def take(self, line: str) -> bool:
        """Take a line; False if it names no array."""
        arrays = _ARRAY.findall(line.partition(self.MARKS[0])[2])
        if arrays:
            self.warn("donation refused", ", ".join(map(as_hlo, arrays)))
        return bool(arrays)
