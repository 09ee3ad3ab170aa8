"""Requests to profiler servers, and their outcomes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from xladoctor.recording.interface import CaptureError, RunDirectory


@dataclass(frozen=True, slots=True)
class Address:
    """Where a profiler server listens.

    Attributes:
        host: a name, an IPv4 or an IPv6 address (without brackets).
        port: 1 to 65535.
    """

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def file(self) -> str:
        """The name of its timeline in a session: ``<host>_<port>.xplane.pb``."""
        host = re.sub(r"[^\w.-]", "_", self.host)
        return f"{host}_{self.port}.xplane.pb"


@dataclass(frozen=True, slots=True)
class RemoteRequest:
    """Servers to profile at the same time.

    Attributes:
        addresses: the servers, each once.
        duration_ms: how long each records.
        wait_ms: how long to retry if no server listens yet, or another profile is being taken.
        output: the run directory to make, or None for ``xladoctor-runs/<date>-capture/``.
        server_directory: where servers that do not send their profile write it: a folder on
            *their* machine, or in a bucket (``gs://…``); None for the run directory's own path.
    """

    addresses: tuple[Address, ...]
    duration_ms: int
    wait_ms: int = 10_000
    output: Path | None = None
    server_directory: str | None = None


@dataclass(frozen=True, slots=True)
class Profile:
    """The outcome of one server; its profile is in the run directory if both texts are None.

    Attributes:
        address: the server.
        left_at: where the server wrote its timeline, if that cannot be seen from here.
        missing: why there is no profile.
    """

    address: Address
    left_at: str | None = None
    missing: CaptureError | None = None

    @property
    def here(self) -> bool:
        """Whether its timeline is in the run directory."""
        return self.left_at is None and self.missing is None


@dataclass(frozen=True, slots=True)
class Fetched:
    """A run directory with the profile of at least one server.

    Attributes:
        directory: the run directory.
        profiles: the outcome of each server, in the order of the request.
    """

    directory: RunDirectory
    profiles: tuple[Profile, ...]


class Observer(Protocol):
    """Receives the progress of the capture; called from several threads."""

    def asking(self, request: RemoteRequest) -> None:
        """Called before all servers are asked."""

    def waiting(self, why: CaptureError) -> None:
        """Called if a server cannot take a profile yet; it will be asked again."""
