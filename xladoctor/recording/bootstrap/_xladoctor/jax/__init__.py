"""JAX as a frontend: all that the capture knows about it.

JAX has no barriers: a program calls compiled functions, and the heaviest call of an iteration ends
its step (:mod:`..anchors`). A hook reports each compilation with its module, and with what is new
in the function's key (:mod:`.keys`), so that no metrics are needed.
"""

from __future__ import annotations

from ..frontend import Frontend
from . import settings


class Jax(Frontend):
    """See :class:`..frontend.Frontend`."""

    name = "jax"
    imported = "ImportedJax"
    packages = frozenset(("jax", "jaxlib"))
    recorded = settings.RECORDED
    ranks = (
        ("JAX_PROCESS_ID", "JAX_NUM_PROCESSES"),
        ("RANK", "WORLD_SIZE"),
        ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS"),
        ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    )
    entries = settings.ENTRIES
    wrappers = settings.WRAPPERS
    lowers = True
    stages = {  # noqa: RUF012 - never changed
        "_init_backend": "backend",
        "infer_params": "tracing",
        "_infer_params": "tracing",
        "lower_sharding_computation": "tracing",
        "compile_or_get_cached": "compile",
        "_cache_read": "cache",
    }


FRONTEND = Jax()
