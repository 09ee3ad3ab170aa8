"""TorchTPU as a frontend: what the capture of PyTorch knows, and what a TPU's device adds.

torch imports it by itself wherever it is installed; so this frontend stays asleep until the program
uses the device. Functions of ``torch.compile`` are recorded as those of PyTorch; operators outside
of them are launched one by one, or deferred and fused, and are counted in :mod:`.launches`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..frontend import Frontend
from . import settings

if TYPE_CHECKING:
    from ..framework import Framework


class TorchTpu(Frontend):
    """See :class:`..frontend.Frontend`."""

    name = "torch_tpu"
    packages = frozenset(("torch", "torch_tpu", "torchgen", "functorch"))
    recorded = settings.RECORDED
    ranks = (
        ("RANK", "WORLD_SIZE"),
        ("LOCAL_RANK", "LOCAL_WORLD_SIZE"),
        ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS"),
    )
    entries = settings.ENTRIES
    wrappers = settings.WRAPPERS
    replaces = "torch_xla"

    def before_import(self) -> None:
        """See :class:`..frontend.Frontend`. Torch is there, unless the program imports it later."""
        from ..import_hook import when_imported
        from .launches import switch_on

        when_imported("torch._logging", lambda _: switch_on())

    def attach(self, module: Any) -> Framework:
        from .framework import ImportedTorchTpu

        return ImportedTorchTpu(module)


FRONTEND = TorchTpu()
