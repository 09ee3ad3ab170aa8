"""The command line from outside, without the two seconds that its libraries take to load.

A server that has loaded them forks a child for each call; the child is a process of its own, with
its own streams, environment, folder and arguments, and ends as the command does.
"""

from __future__ import annotations

import io
import multiprocessing
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.cli.command import ENVIRONMENT, ROOT

_LIMIT_S = 120
SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(
    [
        "duckdb",
        "jinja2.sandbox",
        "numba",
        "pydantic",
        "rich.console",
        "tests.cli.forked",
        "tests.cli.preloaded",
        "typer",
        "xladoctor.cli.main",
        "xladoctor.comparison.compare",
        "xladoctor.diagnosis.engine",
        "xladoctor.evidence.load",
        "xladoctor.gate.programs",
        "xladoctor.ingest.xplane.wire",
        "xladoctor.report.terminal",
    ]
)


def called(
    *arguments: str | Path,
    given: str = "",
    folder: Path = ROOT,
    environment: dict[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """As :func:`tests.cli.command.started`, which starts an interpreter."""
    words = [str(word) for word in arguments]
    with tempfile.TemporaryDirectory() as scratch:
        streams = [Path(scratch, name) for name in ("in", "out", "err")]
        streams[0].write_text(given, encoding="utf-8")
        child = SERVER.Process(
            target=child_main,
            args=(words, streams, folder, {**ENVIRONMENT, **(environment or {})}),
        )
        child.start()
        child.join(_LIMIT_S)
        if child.exitcode is None:
            child.kill()
            raise subprocess.TimeoutExpired(words, _LIMIT_S)
        output = [stream.read_text(encoding="utf-8", errors="replace") for stream in streams[1:]]
    return subprocess.CompletedProcess(words, child.exitcode, *output)


def child_main(
    words: list[str], streams: list[Path], folder: Path, environment: dict[str, str]
) -> None:
    """In the child: the command, from its streams to its end."""
    from xladoctor.cli.main import main

    encoding = environment.get("PYTHONIOENCODING", "utf-8")
    for number, (path, mode) in enumerate(zip(streams, ("r", "w", "w"), strict=True)):
        with path.open(mode) as file:
            os.dup2(file.fileno(), number)
    sys.stdin, sys.stdout, sys.stderr = (
        io.TextIOWrapper(io.FileIO(number, mode), encoding=encoding, write_through=True)
        for number, mode in enumerate(("r", "w", "w"))
    )
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.argv = ["xladoctor", *words]
    main()
