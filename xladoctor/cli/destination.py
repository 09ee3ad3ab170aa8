"""Where a run directory goes: a folder of this machine, or a URL."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from xladoctor.evidence.pod_runs import job_of, members, pod_of
from xladoctor.foreign import quoted
from xladoctor.report.output import say
from xladoctor.repository import from_here
from xladoctor.storage.address import StorageError, is_url, local_path, parse_address

if TYPE_CHECKING:
    from xladoctor.recording.interface import RunOutcome, RunRequest
    from xladoctor.recording.launcher import Observer
    from xladoctor.storage.sending import Sending

_HELP = (
    "Run directory to create (default: xladoctor-runs/DATE-NAME). A URL, such as gs://bucket/run or"
    " s3://bucket/run, uploads it."
)
CaptureOutputOption = Annotated[
    str | None, typer.Option("--output", "-o", metavar="PATH", help=_HELP)
]
RunOutputOption = Annotated[
    str | None,
    typer.Option(
        "--output", "-o", metavar="PATH", help=f"{_HELP} All hosts of a job may name the same one."
    ),
]


_COPY = {
    "gs": "gcloud storage cp -r {url} .",
    "s3": "aws s3 cp --recursive {url} {name}",
    "http": "curl -LO {url}",
    "https": "curl -LO {url}",
}


class Destination:
    """What ``--output`` names.

    Attributes:
        folder: the run directory to create; None for one in ``xladoctor-runs``.
    """

    def __init__(self, output: str | None) -> None:
        """Raises StorageError if it is a URL of a file of another machine."""
        self._url: str | None = None
        self._sending: Sending | None = None
        if output and is_url(output) and not (local := local_path(output)):
            self._url, self.folder = output, None
        else:
            local = local_path(output) if output else None
            self.folder = Path(local or output) if output else None

    def observer(self, behind: Observer, request: RunRequest | None = None) -> Observer:
        """The observer that uploads, in front of another one, if there is something to upload to.

        Args:
            request: what will be run, if other hosts of its job may name the same URL.

        Raises:
            StorageError: nothing can be uploaded there.
        """
        if self._url is None:
            return behind
        from xladoctor.recording.job import Launcher
        from xladoctor.storage.sending import Sending

        launcher = None if request is None else Launcher.here(request.command)
        self._sending = Sending(self._url, behind, say, launcher)
        return self._sending

    def finish(self, directory: Path, *, quiet: bool = False) -> None:
        """Upload what is new in a run that is over, if that was asked for."""
        if self._sending is not None and directory.exists():
            self._sending.finish(directory, quiet=quiet)

    def say_pod(self, directory: Path) -> None:
        """Say how to read the runs of all hosts or processes, if those of others are in the same
        place.
        """
        if self._sending is not None:
            place = self._sending.shared()
        else:
            pod = pod_of(directory) or (directory if members(directory) else None)
            place = None if pod is None else str(from_here(pod))
        if place is not None:
            say(f"all hosts together: xladoctor analyze {quoted(place)}")
        elif runs := job_of(directory):
            shown = quoted(*(str(from_here(run)) for run in runs))
            say(f"{len(runs)} processes together: xladoctor analyze {shown}")


def directory_of(outcome: RunOutcome) -> Path:
    """The run directory of a command: that of its only program, or the folder of several."""
    first = outcome.runs[0].path
    return first if len(outcome.runs) == 1 else first.parent


def refuse_url(word: str, why: str) -> None:
    """Refuse a URL where only a path makes sense.

    Raises:
        StorageError: it is one; says how to copy what is there.
    """
    if not is_url(word) or local_path(word):
        return
    address = parse_address(word)
    copy = _COPY.get(address.scheme, "copy {url} to {name}")
    copy = copy.format(url=quoted(address.shown), name=quoted(address.name))
    raise StorageError(f"{address.shown}: {why}", f"copy it first: {copy}")
