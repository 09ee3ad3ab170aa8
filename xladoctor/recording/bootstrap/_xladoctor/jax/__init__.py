"""JAX as a frontend: all that the capture knows about it.

JAX has no barriers: a program calls compiled functions, and the heaviest call of an iteration ends
its step (:mod:`..anchors`). A hook reports each compilation with its module, and with what is new
in the function's key (:mod:`.keys`), so that no metrics are needed.
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
    ranks: tuple[tuple[str, str], ...] = (
        ("JAX_PROCESS_ID", "JAX_NUM_PROCESSES"),
        ("RANK", "WORLD_SIZE"),
        ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS"),
        ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    )
    #: Functions that do not name a call.
    entries = settings.ENTRIES
    wrappers = settings.WRAPPERS
    logs = False
    replaces: str | None = None

    def before_import(self) -> None: ...

    def attach(self, module: Any) -> Framework:
        from .framework import ImportedJax

        return ImportedJax(module)

    def begin_log(self, path: str, users: dict[str, str]) -> str | None:
        return None  # JAX has no such log


FRONTEND: Frontend = Jax()
