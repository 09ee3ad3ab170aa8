"""PyTorch with ``torch.compile`` as a frontend, for programs that use no other framework.

Dynamo reports each compilation and why it was needed; calls of compiled functions are the launches.
A step ends with the optimizer's update or, without an optimizer, with the heaviest call of an
iteration (:mod:`..anchors`). If another frontend's framework is in use, that frontend records, and
this one stays asleep.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import settings

if TYPE_CHECKING:
    from ..frontend import Framework, Frontend


class Torch:
    """See :class:`..frontend.Frontend`."""

    name = "torch"
    packages = frozenset(("torch", "torchgen", "functorch", "triton"))
    recorded: tuple[str, ...] = settings.RECORDED
    ranks: tuple[tuple[str, str], ...] = (
        ("RANK", "WORLD_SIZE"),
        ("LOCAL_RANK", "LOCAL_WORLD_SIZE"),
        ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS"),
    )
    entries = settings.ENTRIES
    wrappers = settings.WRAPPERS
    logs = False
    replaces: str | None = None

    def before_import(self) -> None: ...

    def attach(self, module: Any) -> Framework:
        from .framework import ImportedTorch

        return ImportedTorch(module)

    def begin_log(self, path: str, users: dict[str, str]) -> str | None:
        return None  # its logs have to be requested before it is imported


FRONTEND: Frontend = Torch()
