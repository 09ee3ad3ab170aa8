"""Environment variables of TorchTPU that the capture records; none of them holds a secret."""

from __future__ import annotations

from ..torch import settings

ENTRIES = settings.ENTRIES
WRAPPERS = settings.WRAPPERS

RECORDED = (
    "TORCH_LOGS",
    "TORCH_TRACE",
    "TORCH_COMPILE_DISABLE",
    "TORCHDYNAMO_DISABLE",
    "TORCH_COMPILE_DEBUG",
    "TORCH_TPU_LAUNCH_BLOCKING",
    "TORCH_TPU_ENABLE_DEBUG_CHECKS",
    "TORCH_TPU_TIER3_COMPILATION_CACHE_ROOT",
    "TORCH_DEVICE_BACKEND_AUTOLOAD",
    "XLA_FLAGS",
    "LIBTPU_INIT_ARGS",
    "TPU_LIBRARY_PATH",
    "TPU_VISIBLE_CHIPS",
    "PJRT_DEVICE",
    "XLA_USE_BF16",
    "PT_XLA_DEBUG_LEVEL",
)
