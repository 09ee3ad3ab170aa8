"""Names of PyTorch: functions that calls of compiled functions pass through, and environment
variables that change how it compiles and runs. None of them holds a secret.
"""

from __future__ import annotations

from ..settings import names

RECORDED = names(
    """
    TORCH_LOGS TORCH_TRACE TORCH_COMPILE_DISABLE TORCHDYNAMO_DISABLE TORCHDYNAMO_VERBOSE
    TORCH_COMPILE_DEBUG TORCHDYNAMO_SUPPRESS_ERRORS TORCHINDUCTOR_CACHE_DIR
    TORCHINDUCTOR_FX_GRAPH_CACHE TORCHINDUCTOR_AUTOGRAD_CACHE TORCHINDUCTOR_FORCE_DISABLE_CACHES
    TORCHINDUCTOR_COMPILE_THREADS TORCHINDUCTOR_MAX_AUTOTUNE TORCHINDUCTOR_CUDAGRAPHS
    TORCHINDUCTOR_FREEZING TORCH_SHOW_CPP_STACKTRACES PYTORCH_CUDA_ALLOC_CONF
    CUDA_LAUNCH_BLOCKING CUDA_VISIBLE_DEVICES OMP_NUM_THREADS NVIDIA_TF32_OVERRIDE
    """
)

#: A call that compiles passes through other functions than one that does not; both name one line.
ENTRIES = frozenset(("compile_wrapper", "_fn"))
WRAPPERS = frozenset(("_wrapped_call_impl", "_call_impl", "__call__"))
