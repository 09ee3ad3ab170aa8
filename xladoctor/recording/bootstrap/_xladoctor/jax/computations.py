"""The text of what JAX compiles, with its lines.

The values of large constants are not in it: a digest of each follows the text, in order.
"""

from __future__ import annotations

import hashlib
from typing import Any

from ..disguise import pass_on
from .graphs import MOST_ELEMENTS, constants, is_large


def text_of(lowered: Any) -> str:
    """The text of a module of MLIR, with locations."""
    module = lowered.operation
    text = module.get_asm(enable_debug_info=True, large_elements_limit=MOST_ELEMENTS)
    large = filter(is_large, constants(module))
    return "\n".join([text, *(f"// constant {_digest(each)}" for each in large)])


def _digest(constant: Any) -> str:
    """A digest of the values of a constant; ``unknown`` for a type that cannot be read."""
    try:
        return hashlib.sha256(memoryview(constant.attributes["value"])).hexdigest()[:16]
    except Exception as error:  # bfloat16 has no buffer, and a resource may have none
        pass_on(error)
        return "unknown"
