"""torch_xla as a frontend: all that the capture knows about torch and torch_xla.

Barriers end its steps. Fallbacks are counters named after operators of torch (``aten::nonzero``).
"""

from __future__ import annotations

from ..frontend import Frontend
from . import settings


class TorchXla(Frontend):
    """See :class:`..frontend.Frontend`."""

    name = "torch_xla"
    imported = "ImportedTorchXla"
    packages = frozenset(("torch", "torch_xla", "torchgen"))
    recorded = settings.RECORDED
    ranks = (
        ("RANK", "WORLD_SIZE"),
        ("PJRT_LOCAL_PROCESS_RANK", "PJRT_LOCAL_PROCESS_COUNT"),
        ("LOCAL_RANK", "LOCAL_WORLD_SIZE"),
    )
    stages = {"device": "backend", "xla_device": "backend"}  # noqa: RUF012 - never changed
    logs = True

    def begin_log(self, path: str, users: dict[str, str]) -> str | None:
        return settings.begin_log(path, users)


FRONTEND = TorchXla()
