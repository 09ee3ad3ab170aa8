"""TorchTPU as a frontend: what the capture of PyTorch knows, and what a TPU's device adds.

torch imports it by itself wherever it is installed; so this frontend stays asleep until the program
uses the device. Functions of ``torch.compile`` are recorded as those of PyTorch; operators outside
of them are launched one by one, or deferred and fused, and are counted in :mod:`.launches`.
"""

from __future__ import annotations

from ..torch import Torch
from . import settings


class TorchTpu(Torch):
    """See :class:`..frontend.Frontend`."""

    name = "torch_tpu"
    imported = "ImportedTorchTpu"
    packages = frozenset(("torch", "torch_tpu", "torchgen", "functorch"))
    recorded = settings.RECORDED
    replaces = "torch_xla"

    def before_import(self) -> None:
        """See :class:`..frontend.Frontend`. Torch is there, unless the program imports it later."""
        from ..import_hook import when_imported
        from .launches import switch_on

        when_imported("torch._logging", lambda _: switch_on())


FRONTEND = TorchTpu()
