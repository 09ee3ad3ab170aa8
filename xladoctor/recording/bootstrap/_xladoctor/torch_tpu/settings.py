"""Environment variables that the capture records of TorchTPU; none of them holds a secret.

Those of torch_xla are among them: ported programs still set them, and TorchTPU reads none.
"""

from __future__ import annotations

from ..torch import settings
from ..torch_xla import settings as torch_xla

ENTRIES = settings.ENTRIES
WRAPPERS = settings.WRAPPERS

_OWN = (
    "TORCH_LOGS",
    "TORCH_TRACE",
    "TORCH_COMPILE_DISABLE",
    "TORCHDYNAMO_DISABLE",
    "TORCH_COMPILE_DEBUG",
    "TORCH_TPU_LAUNCH_BLOCKING",
    "TORCH_TPU_DEFER_AND_FUSE",
    "TORCH_TPU_ENABLE_DEBUG_CHECKS",
    "TORCH_TPU_ALLOW_LEGACY_DEVICE_APIS",
    "TORCH_TPU_TIER2_COMPILATION_CACHE",
    "TORCH_TPU_TIER3_COMPILATION_CACHE_ROOT",
    "TORCH_TPU_TOPOLOGY",
    "TORCH_TPU_PROFILER_OUTPUT_DIR",
    "TORCH_TPU_INTERNAL_DUMP_MLIR_PASSES_TO",
    "TORCH_TPU_INTERNAL_DETECT_REPEATED_OPS",
    "TORCH_TPU_INTERNAL_DISABLE_INPLACE_BUFFER_DONATION",
    "TORCH_TPU_INTERNAL_XLA_OPTIONS",
    "XLA_FLAGS",
    "LIBTPU_INIT_ARGS",
    "TPU_LIBRARY_PATH",
    "TPU_VISIBLE_CHIPS",
    "TPU_VISIBLE_DEVICES",
    "TPU_PREMAPPED_BUFFER_SIZE",
)
RECORDED = tuple(dict.fromkeys((*_OWN, *torch_xla.RECORDED)))
