"""Runs programs in forks of one process, bare or captured, without the command line.

Only this module depends on the package's internals: it does what the launcher does around a
program, and makes the diagnosis in the calling process.
"""

from __future__ import annotations

import atexit
import json
import subprocess
import sys
import tempfile
import time
from contextlib import chdir
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from xladoctor import doctor
from xladoctor.configuration.load import load_configuration
from xladoctor.recording import launcher, manifest, programs
from xladoctor.recording.bootstrap._xladoctor.options import Options
from xladoctor.recording.directory import make_directory
from xladoctor.recording.interface import RunOutcome, RunRequest


@dataclass(frozen=True)
class Finished:
    """How a command ended, and what it wrote."""

    status: int
    stdout: str
    stderr: str


class ForkServer:
    """A process that runs ``fork_server.py``; its programs run one after the other."""

    def __init__(self) -> None:
        self._server = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("fork_server.py"))],
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def run(
        self,
        program: Path,
        arguments: tuple[str, ...],
        cwd: Path,
        environment: dict[str, str],
        limit_s: int,
        compiled: Path | None = None,
    ) -> Finished:
        """Run a program to its end.

        Args:
            limit_s: the program is ended by SIGALRM after this long.
            compiled: file for the number of its compilations.
        """
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        with tempfile.TemporaryDirectory() as scratch:
            streams = {name: str(Path(scratch, name)) for name in ("stdout", "stderr")}
            request = {
                "program": str(program),
                "arguments": arguments,
                "cwd": str(cwd),
                "env": environment,
                "limit_s": limit_s,
                "compiled": None if compiled is None else str(compiled),
                **streams,
            }
            self._server.stdin.write(json.dumps(request) + "\n")
            self._server.stdin.flush()
            status = int(self._server.stdout.readline())
            return Finished(status, *(Path(file).read_text() for file in streams.values()))

    def close(self) -> None:
        """End the process."""
        with self._server as server:
            assert server.stdin is not None
            server.stdin.close()


@cache
def server() -> ForkServer:
    """The fork server of this process, started when first needed."""
    started = ForkServer()
    atexit.register(started.close)
    return started


def capture(
    directory: Path,
    program: Path,
    *arguments: str,
    options: Options,
    cwd: Path,
    environment: dict[str, str],
    limit_s: int,
) -> Finished:
    """Like ``xladoctor run --output directory program``, but without printing the report."""
    command = (sys.executable, str(program), *arguments)
    with chdir(cwd):
        run = make_directory(directory, str(program))
        request = RunRequest(
            command, str(program), directory, options=replace(options, session=run.path.name)
        )
        record = manifest.begin(run, request)
        began = time.monotonic()
        captured = environment | launcher.handed_down(run.path, request.options)
        finished = server().run(program, arguments, cwd, captured, limit_s)
        manifest.finish(run, record, finished.status, time.monotonic() - began)
        outcome = RunOutcome(finished.status, tuple(programs.split(run)))
        list(doctor.examine_outcome(outcome, doctor.selection(load_configuration())))
    return finished
