"""What is asked of profiler servers, and what came of it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from xladoctor.capture.interface import CaptureError, RunDirectory


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
        wait_ms: how long to try again where no server listens yet, or another profile is taken.
        output: the run directory to make, or None for ``xladoctor-runs/<date>-capture/``.
        server_directory: where servers write that do not send their profile: a folder of *their*
            machine, or of a bucket (``gs://…``); None for the run directory's own path.
    """

    addresses: tuple[Address, ...]
    duration_ms: int
    wait_ms: int = 10_000
    output: Path | None = None
    server_directory: str | None = None


@dataclass(frozen=True, slots=True)
class Profile:
    """What came of one server; it is in the run directory where neither text says otherwise.

    Attributes:
        address: the server.
        left_at: where the server wrote its timeline, if that cannot be seen from here.
        missing: why there is none.
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
        profiles: what came of each server, in the order they were asked for.
    """

    directory: RunDirectory
    profiles: tuple[Profile, ...]


class Observer(Protocol):
    """Hears what the capture is at; called from several threads."""

    def asking(self, request: RemoteRequest) -> None:
        """All servers are about to be asked."""

    def waiting(self, why: CaptureError) -> None:
        """A server cannot take a profile yet; it is asked again."""
