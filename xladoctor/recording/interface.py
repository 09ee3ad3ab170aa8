"""The capture's request, and what it leaves behind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from xladoctor.errors import XladoctorError
from xladoctor.recording.bootstrap._xladoctor.options import Options

#: The folder for run directories, unless another one is named.
RUNS = "xladoctor-runs"
#: How the run directories of several hosts begin, in the folder that all of them were given.
HOST = "host-"


class CaptureError(XladoctorError):
    """The program could not be run, or the run directory not created."""


@dataclass(frozen=True, slots=True)
class RunRequest:
    """A program to run, as the user asked for it.

    Attributes:
        command: the command as executed, interpreter first if there is one.
        script: what the user named (a script, a module, a command).
        output: the run directory to create, or None for ``xladoctor-runs/<date>-<program>/``.
        needs_framework: whether this interpreter will run the program.
        options: what is asked of the capture itself.
        timeout_s: seconds after which the program counts as hanging: the stacks of its threads
            are written, then it is ended. None for never.
        environment: variables that the program gets besides those of this process.
        said: the file for what it prints; None for where this process prints.
        stop_after_s: seconds after which the program is asked to end at its next step. None for
            never.
    """

    command: tuple[str, ...]
    script: str
    output: Path | None = None
    needs_framework: bool = True
    options: Options = field(default_factory=Options)
    environment: Mapping[str, str] = field(default_factory=dict)
    said: Path | None = None
    timeout_s: float | None = None
    stop_after_s: float | None = None


class _File(str):
    """The name of a file in a run directory; of one, its path."""

    __slots__ = ()

    def __get__(self, run: RunDirectory, _: type[RunDirectory]) -> Path:
        return run.path / self


@dataclass(frozen=True, slots=True)
class RunDirectory:
    """The folder that a captured run leaves on disk; anything later works from it alone."""

    path: Path
    #: ``run.json``: command, versions, how it ended.
    manifest = _File("run.json")
    #: Stands until ``run.json`` is written; whoever creates it owns the directory.
    unwritten_manifest = _File("run.json.new")
    #: ``diagnosis.json``: the last diagnosis, as the JSON report.
    diagnosis = _File("diagnosis.json")
    #: ``report.txt``: the last report, if ``--report-every`` asks for reports.
    report = _File("report.txt")
    #: ``sources.json``: the text of lines that the first diagnosis read from their files.
    sources = _File("sources.json")
    #: ``fixes.json``: the patches that ``xladoctor fix --verify`` tried last.
    fixes = _File("fixes.json")
    #: ``tpu-check.json``: what ``xladoctor tpu-check`` found last.
    tpu_check = _File("tpu-check.json")

    def stacks(self) -> list[Path]:
        """Where the threads of a program stood that took too long: a file for each process."""
        return sorted(self.path.glob("stacks-*.txt"))

    def processes(self) -> list[Path]:
        """The folders of the captured processes, in the order of their numbers."""
        return sorted(
            (p for p in self.path.glob("process-*") if p.is_dir()),
            key=lambda p: (len(p.name), p.name),
        )


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """How the program ended.

    Attributes:
        status: the exit status to pass on (128 + n if signal n ended it, 124 after a timeout).
        runs: a directory for each program that was captured, in order.
        lost: what went wrong, in words.
        limit: what it was ended for: its limit in seconds, by ``timeout_s`` or ``stop_after_s``.
    """

    status: int
    runs: tuple[RunDirectory, ...]
    lost: tuple[str, ...] = ()
    limit: Mapping[str, float] = field(default_factory=dict)
