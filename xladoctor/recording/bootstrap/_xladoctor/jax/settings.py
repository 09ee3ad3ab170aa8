"""Names of JAX: functions that calls pass through, and environment variables of JAX and XLA that
change how a program runs. None of them holds a secret.
"""

from __future__ import annotations

RECORDED = (
    "JAX_PLATFORMS",
    "JAX_PLATFORM_NAME",
    "JAX_NUM_CPU_DEVICES",
    "JAX_CPU_ENABLE_ASYNC_DISPATCH",
    "JAX_ENABLE_X64",
    "JAX_DEFAULT_DTYPE_BITS",
    "JAX_DEFAULT_MATMUL_PRECISION",
    "JAX_DISABLE_JIT",
    "JAX_DEBUG_NANS",
    "JAX_DEBUG_INFS",
    "JAX_LOG_COMPILES",
    "JAX_EXPLAIN_CACHE_MISSES",
    "JAX_CHECK_TRACER_LEAKS",
    "JAX_DEBUG_KEY_REUSE",
    "JAX_ENABLE_CHECKS",
    "JAX_DISABLE_MOST_OPTIMIZATIONS",
    "JAX_TRANSFER_GUARD",
    "JAX_COMPILATION_CACHE_DIR",
    "JAX_ENABLE_COMPILATION_CACHE",
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS",
    "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES",
    "JAX_RAISE_PERSISTENT_CACHE_ERRORS",
    "JAX_DUMP_IR_TO",
    "JAX_THREEFRY_PARTITIONABLE",
    "XLA_FLAGS",
    "LIBTPU_INIT_ARGS",
    "TF_XLA_FLAGS",
    "XLA_PYTHON_CLIENT_PREALLOCATE",
    "XLA_PYTHON_CLIENT_MEM_FRACTION",
    "XLA_PYTHON_CLIENT_ALLOCATOR",
    "CUDA_VISIBLE_DEVICES",
    "TPU_VISIBLE_DEVICES",
    "KERAS_BACKEND",
)

#: Calls pass through ``cache_miss`` when they compile; the other wraps most functions.
ENTRIES = frozenset(("cache_miss",))
WRAPPERS = frozenset(("reraise_with_filtered_traceback",))
