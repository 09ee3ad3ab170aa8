"""Where the hosts of a pod are reduced."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Where:
    """Where hosts are reduced.

    Attributes:
        workers: processes of this machine; None for one for each of its processors.
        cluster: address of the scheduler of a Dask cluster, as in
            :func:`xladoctor.pods.engines.on_cluster`; None for this machine.
    """

    workers: int | None = None
    cluster: str | None = None

    @property
    def is_named(self) -> bool:
        """Whether it was asked for."""
        return self.workers is not None or self.cluster is not None
