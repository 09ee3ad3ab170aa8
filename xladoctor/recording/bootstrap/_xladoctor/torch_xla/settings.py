"""Environment variables of PyTorch/XLA that the capture records, and those that it sets."""

from __future__ import annotations

from ..settings import names, set_for_capture

#: Variables to set. None enters the hash of a graph; IR debugging is switched at run time.
_WANTED = {
    "PT_XLA_DEBUG_LEVEL": "1",  # a block for each compilation; 2 adds 45 µs to each execution
    "PT_XLA_DEBUG_MAX_FRAME": "32",  # the default of 8 often ends inside a library
}
_DEBUG = "PT_XLA_DEBUG"

_FROM_EARLIER_RELEASES = """
    XLA_DOWNCAST_BF16 XLA_USE_F16 XLA_USE_FP16 XLA_DOWNCAST_FP16 XRT_TPU_CONFIG XRT_DEVICE_MAP
    XRT_WORKERS XRT_LOCAL_WORKER XRT_MESH_SERVICE_ADDRESS XRT_SHARD_WORLD_SIZE
    XLA_TRIM_GRAPH_CHECK_FREQUENCY
"""
#: Variables that change how XLA behaves. None of them holds a secret.
RECORDED = names(
    f"""
    PJRT_DEVICE CPU_NUM_DEVICES TPU_NUM_DEVICES NEURON_NUM_DEVICES XLA_FLAGS LIBTPU_INIT_ARGS
    XLA_USE_SPMD XLA_NO_SPECIAL_SCALARS XLA_COMPILATION_CACHE_SIZE XLA_PERSISTENT_CACHE_PATH
    XLA_USE_BF16 XLA_IR_DEBUG XLA_HLO_DEBUG PT_XLA_DEBUG PT_XLA_DEBUG_LEVEL PT_XLA_DEBUG_FILE
    PT_XLA_DEBUG_MAX_FRAME XLA_SAVE_TENSORS_FILE XLA_SAVE_TENSORS_FMT XLA_SYNC_WAIT
    XLA_USE_EAGER_DEBUG_MODE GET_TENSORS_OPBYOP SYNC_TENSORS_OPBYOP XLA_METRICS_FILE
    XLA_FNTRACKER_FILE XLA_FNTRACKER_LEVEL XLA_DUMP_HLO_GRAPH XLA_EMIT_STEPLOG
    {_FROM_EARLIER_RELEASES}
    """
)


def begin_log(path: str, users: dict[str, str]) -> str | None:
    """Have torch_xla log each compilation; return why it does not, or None.

    If the user debugs with ``PT_XLA_DEBUG*``, that output stays where it is.
    """
    debugging = sorted(name for name in users if name.startswith(_DEBUG))
    if not debugging:
        set_for_capture({f"{_DEBUG}_FILE": path, **_WANTED})
        return None
    set_for_capture({})
    return f"{', '.join(debugging)} set by the program or its environment"
