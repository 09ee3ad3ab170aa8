"""The text of what JAX compiles, with its lines: to find where two graphs differ.

Texts are appended to one file as members of gzip, each of which can be read alone. The values of
large constants are not in it: a digest of each follows the text, in order.
"""

from __future__ import annotations

import hashlib
import os
import threading
import zlib
from typing import Any

from ..calls import Calls
from ..disguise import pass_on
from .graphs import MOST_ELEMENTS, constants, is_large
from .modules import Modules

_NAME = "computations.mlir.gz"
_MOST_BYTES = 64_000_000  # of the file
_LEVEL, _GZIP = 3, 31  # of zlib


class Computations:
    """Keeps texts beside the compiled modules, unless graphs are not wanted."""

    def __init__(self, calls: Calls, modules: Modules) -> None:
        self._calls = calls
        self._modules = modules
        self._lock = threading.Lock()
        self._folder: str | None = None
        self._written = 0

    def keep(self, lowered: Any) -> dict[str, Any]:
        """Keep the text of a module; return where, as fields of a lookup."""
        folder = self._modules.folder
        if folder is None or self._calls.graphs.why_none is not None:
            return {}
        if folder != self._folder:
            self._folder, self._written = folder, 0
        if self._written >= _MOST_BYTES:
            return {}
        text = self._calls.hooks.examine("text of computations", _text, lowered)
        if text is None:
            return {}
        packer = zlib.compressobj(_LEVEL, zlib.DEFLATED, _GZIP)
        packed = packer.compress(text.encode()) + packer.flush()
        try:
            with self._lock, open(os.path.join(folder, _NAME), "ab") as texts:
                at = texts.tell()
                texts.write(packed)
        except OSError as error:  # the disk is full; where two graphs differ is not known then
            self._written = _MOST_BYTES
            self._calls.hooks.missing.setdefault("text of computations", repr(error))
            return {}
        self._written += len(packed)
        file = f"{os.path.basename(folder)}/{_NAME}"
        return {"text_file": file, "text_at": at, "text_bytes": len(packed)}


def _text(lowered: Any) -> str:
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
