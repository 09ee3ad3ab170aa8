"""JAX as a frontend: all that the capture knows about it.

JAX has no barriers: a program calls compiled functions, and the call that computes most in a turn
of a loop ends its step (:mod:`..anchors`). Each compilation is told of by a hook, with what of the
function's key is new (:mod:`.keys`), and with its module, so that no metrics are needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import settings

if TYPE_CHECKING:
    from ..frontend import Framework, Frontend


class Jax:
    """See :class:`..frontend.Frontend`."""

    name = "jax"
    packages = frozenset(("jax", "jaxlib"))
    recorded: tuple[str, ...] = settings.RECORDED
    ranks: tuple[str, ...] = ("JAX_PROCESS_ID", "RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK")
    #: A line has the same name with and without them.
    entries = settings.ENTRIES
    wrappers = settings.WRAPPERS
    logs = False

    def attach(self, module: Any) -> Framework:
        from .framework import ImportedJax

        return ImportedJax(module)

    def begin_log(self, path: str, users: dict[str, str]) -> str | None:
        return None  # it has none


FRONTEND: Frontend = Jax()
