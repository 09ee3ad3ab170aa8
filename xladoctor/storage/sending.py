"""The launcher's part of uploading a run: when it is done, and what is said about it.

The run directory on this machine comes first, and stays. Whatever goes wrong with the store, the
program runs on and its run is kept.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, NamedTuple

import msgspec

from xladoctor.foreign import quoted
from xladoctor.recording.job import Launcher
from xladoctor.recording.launcher import Observer
from xladoctor.repository import from_here
from xladoctor.storage.address import StorageError, parse_address
from xladoctor.storage.upload import Answer, Order

#: Seconds between two uploads of a program that goes on after its last window.
EVERY_S = 600.0
_LOOK_S = 2.0
_LATER = {"gs": "gcloud storage rsync -r {run} {url}", "s3": "aws s3 sync {run} {url}"}
#: The interpreter, without the working directory in its path: what is there is the program's.
_COMMAND = (
    sys.executable,
    "-P",
    "-c",
    "import sys; sys.path.append(sys.argv[1]); from xladoctor.storage.upload import main; main()",
    str(Path(__file__).parents[2]),
)


class _Child(NamedTuple):
    """A process that uploads, and the file of its answer."""

    process: subprocess.Popen[bytes]
    answer: BinaryIO


class Sending:
    """Uploads a run at the end of each window of the profiler, and at its end.

    An observer of the program, with another one behind it.
    """

    def __init__(
        self,
        url: str,
        behind: Observer,
        say: Callable[[str], None],
        launcher: Launcher | None = None,
    ) -> None:
        """
        Args:
            url: where the run directory goes; nothing may be there.
            behind: the observer behind it.
            say: shows a line to the user.
            launcher: whose run it is, if runs of the same job may be there: it then gets a folder
                of its own beside theirs.

        Raises:
            StorageError: nothing can be uploaded there.
        """
        self._all, self._launcher = url, launcher
        self._url, self._address = url, parse_address(url)
        self._behind, self._say = behind, say
        self._sent: dict[str, tuple[int, int]] = {}
        self._windows: dict[str, int] = {}
        self._seen: dict[str, int] = {}
        self._looked = self._began = 0.0
        self._child: _Child | None = None
        self._directory: Path | None = None
        answer = self._waited(self._started(Order("check", url, launcher=launcher)))
        if answer.refused:
            raise StorageError(answer.what, answer.hint)
        if answer.what:
            self._say(f"{answer.what}; the run is kept here, but its upload is still tried")

    def started(self, directory: Path) -> None:
        """Called before the program starts."""
        if self._launcher is not None:
            self._claim(self._launcher, directory)
        self._directory, self._began = directory, time.monotonic()
        self._behind.started(directory)

    def tick(self) -> None:
        """Called while the program is running."""
        self._behind.tick()
        now = time.monotonic()
        if self._directory is None or now - self._looked < _LOOK_S:
            return
        self._looked = now
        if self._child is not None:
            if self._child.process.poll() is None:
                return
            self._take(self._waited(self._child))
        seen, self._seen = self._seen, self._timelines(self._directory)
        is_new = self._seen == seen != self._windows
        if is_new or now - self._began >= EVERY_S:
            self._windows, self._began = seen, now
            self._child = self._started(self._order(self._directory))

    def ended(self) -> None:
        """Called after the program has ended."""
        self._behind.ended()

    def finish(self, directory: Path, *, quiet: bool = False) -> bool:
        """Upload what is new in a run that is over; say so, or why not, and how to do it later.

        Args:
            quiet: whether success is not worth a line.
        """
        try:
            if self._child is not None:
                self._take(self._waited(self._child))
            order = self._order(directory, ended=True)
            answer = self._waited(self._started(order))
        except SystemExit:
            self._say_kept(directory, "interrupted")
            raise
        self._take(answer)
        if answer.what:
            self._say_kept(directory, answer.what)
            for line in answer.hint.splitlines():
                self._say(f"  {line}")
        elif not quiet:
            self._say(f"uploaded to {self._address.shown}")
        return not answer.what

    def shared(self) -> str | None:
        """The URL that other launchers of the job use, too, without secrets; None if none does."""
        if self._launcher is None:
            return None
        answer = self._waited(self._started(Order("shared", self._all)))
        return parse_address(self._all).shown if answer.shared else None

    def _claim(self, launcher: Launcher, directory: Path) -> None:
        """Take a place of its own among the runs of the job."""
        order = Order("claim", self._all, str(directory), launcher=launcher)
        answer = self._waited(self._started(order))
        place = answer.place
        if answer.what and (answer.refused or launcher.is_one_of_several):
            place = f"{launcher.folder}-{launcher.pid}"  # which no other launcher can have
        if place:
            self._url = f"{self._all.rstrip('/')}/{place}"
            self._address = parse_address(self._url)

    def _order(self, directory: Path, *, ended: bool = False) -> Order:
        return Order("send", self._url, str(directory), sent=self._sent, ended=ended)

    def _take(self, answer: Answer) -> None:
        self._child, self._sent = None, answer.sent or self._sent

    def _say_kept(self, directory: Path, why: str) -> None:
        run, url = quoted(str(from_here(directory))), quoted(self._address.shown)
        later = _LATER.get(self._address.scheme, "copy {run} to {url}").format(run=run, url=url)
        self._say(f"the run is not uploaded: {why}")
        self._say(f"it is kept in {run}; to upload it later: {later}")

    @staticmethod
    def _timelines(directory: Path) -> dict[str, int]:
        """The timelines that are there, with their sizes."""
        sizes = {}
        for file in directory.glob("plugins/profile/*/*"):
            try:
                sizes[str(file)] = file.stat().st_size
            except OSError:  # a provisional one, removed
                continue
        return sizes

    @staticmethod
    def _started(order: Order) -> _Child:
        """A process that carries out an order, out of reach of the terminal's signals.

        Order and answer are in memory that has no name: a pipe would make one wait for the other.
        """
        given, answer = (open(os.memfd_create("upload"), "w+b") for _ in range(2))  # noqa: PTH123, SIM115
        with given:
            given.write(msgspec.json.encode(order))
            given.seek(0)
            child = subprocess.Popen(
                _COMMAND,
                stdin=given,
                stdout=answer,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        return _Child(child, answer)

    @staticmethod
    def _waited(child: _Child) -> Answer:
        """The answer of such a process; an interrupt ends it."""
        try:
            status = child.process.wait()
        except BaseException:
            child.process.kill()
            raise
        with child.answer as answer:
            answer.seek(0)
            text = answer.read()
        try:
            return msgspec.json.decode(text, type=Answer)
        except msgspec.MsgspecError:
            return Answer(what=f"the process that uploads ended with status {status}")
