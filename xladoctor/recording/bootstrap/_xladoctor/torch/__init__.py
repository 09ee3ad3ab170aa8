"""PyTorch with ``torch.compile`` as a frontend, for programs that use no other framework.

Dynamo reports each compilation and why it was needed; calls of compiled functions are the launches.
A step ends with the optimizer's update or, without an optimizer, with the heaviest call of an
iteration (:mod:`..anchors`). If another frontend's framework is in use, that frontend records, and
this one stays asleep.
"""

from __future__ import annotations

from ..frontend import Frontend
from . import settings


class Torch(Frontend):
    """See :class:`..frontend.Frontend`."""

    name = "torch"
    imported = "ImportedTorch"
    packages = frozenset(("torch", "torchgen", "functorch", "triton"))
    recorded = settings.RECORDED
    ranks = (
        ("RANK", "WORLD_SIZE"),
        ("LOCAL_RANK", "LOCAL_WORLD_SIZE"),
        ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS"),
    )
    entries = settings.ENTRIES
    wrappers = settings.WRAPPERS
    stages = {  # noqa: RUF012 - never changed
        "_lazy_init": "backend",
        "compile_inner": "tracing",
        "call_user_compiler": "compile",
        "compile_fx_inner": "compile",
        "load_with_key": "cache",
        "try_load": "cache",
    }


FRONTEND = Torch()
