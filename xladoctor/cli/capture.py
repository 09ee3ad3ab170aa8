"""``xladoctor capture``: a profile of a program that is already running, and its findings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from xladoctor import doctor
from xladoctor.cli.configured import ConfigOptions
from xladoctor.cli.destination import CaptureOutputOption, Destination
from xladoctor.cli.groups import argument, flag, grouped, option
from xladoctor.cli.output import ReportOptions, TotalStepsOption, extras
from xladoctor.cli.progress_bar import progress_bar
from xladoctor.report.output import say

if TYPE_CHECKING:
    from pathlib import Path

    from xladoctor.recording.interface import CaptureError
    from xladoctor.recording.remote.interface import RemoteRequest


@dataclass(frozen=True)
class RecordingOptions:
    """How servers are asked for a profile."""

    duration: str = option("How long to record: 500ms, 3s, 2m.", default="3s")
    output: CaptureOutputOption = None
    wait: str = option(
        "How long to retry while a server is busy or not yet listening.", default="10s"
    )
    server_directory: str | None = option(
        "Where servers that cannot send their profile write it: a folder on their machine,"
        " or gs://… (default: the path of the run directory).",
        metavar="DIR",
    )

    def request(self, addresses: list[str], folder: Path | None) -> RemoteRequest:
        """What is asked of these servers, to be written into that run directory."""
        from xladoctor.recording.remote.address import (
            RECORDING,
            WAITING,
            parse_addresses,
            parse_milliseconds,
        )
        from xladoctor.recording.remote.interface import RemoteRequest

        return RemoteRequest(
            addresses=parse_addresses(addresses),
            duration_ms=parse_milliseconds(self.duration, "--duration", *RECORDING),
            wait_ms=parse_milliseconds(self.wait, "--wait", *WAITING),
            output=folder,
            server_directory=self.server_directory,
        )


@grouped
def capture(
    *,
    addresses: list[str] = argument(
        "Where the program's profiler server listens, such as localhost:9012. Give an"
        " address for each host or process.",
        metavar="HOST:PORT",
    ),
    recording: RecordingOptions,
    total_steps: TotalStepsOption = None,
    config: ConfigOptions,
    report: ReportOptions,
    quiet: bool = flag("Show no progress.", "--quiet", "-q"),
) -> None:
    """Record a running program, and print what slows it down.

    The program must have called start_server(PORT), of torch_xla.debug.profiler or jax.profiler.
    Needs neither torch nor JAX. Exit status: 0 recorded and analyzed, 2 no server sent a profile.
    """
    from xladoctor.recording.progress import Silence
    from xladoctor.recording.remote.fetch import fetch

    outputs, chosen = report.outputs(), config.selection()
    destination = Destination(recording.output)
    destination.observer(Silence())  # before it takes time to record
    request = recording.request(addresses, destination.folder)
    directory = fetch(request, _Progress(quiet)).directory
    destination.finish(directory.path, quiet=True)
    with progress_bar() as bar:
        examination = doctor.examine_run(
            directory, chosen, total_steps, progress=bar, extras=extras(outputs)
        )
    report.deliver(examination.diagnosis, outputs)
    destination.finish(directory.path, quiet=quiet)


class _Progress:
    """A line on standard error for each event."""

    def __init__(self, quiet: bool) -> None:
        self._quiet = quiet

    def asking(self, request: RemoteRequest) -> None:
        """Say what is recorded, as that takes a while."""
        servers = request.addresses
        of = str(servers[0]) if len(servers) == 1 else f"{len(servers)} servers"
        self._say(f"recording {request.duration_ms / 1e3:g} s from {of}")

    def waiting(self, why: CaptureError) -> None:
        """Say why nothing happens yet."""
        self._say(f"{why.what}; trying again")

    def _say(self, text: str) -> None:
        if not self._quiet:
            say(text)
