"""Runs programs for the tests: bare or captured, by the command line or in a fork.

``python`` and ``doctor`` run commands as a user does. ``bare`` and ``capture`` are faster: they
fork a process that has imported torch_xla (see ``fork_server.py``). ``command`` captures a program
by the command line; :class:`Captures` captures each example once for all tests.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from tests.live import forked
from tests.live.forked import Finished
from xladoctor.recording.bootstrap._xladoctor.options import Options

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
PROGRAMS = sorted(
    program
    for folder in (".", "clean", "recompilation", "third_party")
    for program in (EXAMPLES / folder).glob("*.py")
)
#: Programs of the tests that apply to any captured run.
GENERAL = [
    program for program in PROGRAMS if program.parent.name not in ("recompilation", "third_party")
]
#: Programs that are captured by the command line, one of each kind; the others are forked.
BY_COMMAND = {
    "recompiling",
    "large_upload",
    "missing_lowering",
    "input_bound",
    "debug_settings",
    "two_threads",
}
#: Programs that are captured each time; the others are thorough: what they show, these or made
#: evidence show too; or tests/known_good judges their recordings; or they go by time, or take long.
EACH_TIME = {
    "recompiling",
    "recompiling_healed",
    "scalar_read",
    "missing_barrier",
    "dynamic_shape",
    "input_type",
    "fixed_shapes",
}
LIMIT_S = 240  # for one program; on a busy machine importing torch_xla takes ten seconds

LIVE = [
    pytest.mark.live,
    pytest.mark.skipif(find_spec("torch_xla") is None, reason="torch_xla is not installed"),
]

#: How most programs of these tests begin: a device, and a tensor on it.
ON_DEVICE = """
import os, signal, sys, time
import torch
import torch_xla
device = torch_xla.device()
weights = torch.ones(8, 8).to(device)
"""

#: torch imports this at exit, where it is installed; Python then forgets that it was interrupted,
#: and its status is 1, bare as well.
INTERRUPTIBLE = """
import contextlib
with contextlib.suppress(ImportError):
    import tabulate
"""

_FOREIGN_PREFIXES = ("PYTEST_", "XLADOCTOR_", "XLA_", "PT_XLA_", "COV_")
_FOREIGN_VARIABLES = {"NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE", "COLUMNS", "LINES", "PYTHONPATH"}


def environment(**changes: str) -> dict[str, str]:
    """This environment without what a shell or the test runner may have set."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(_FOREIGN_PREFIXES) and name not in _FOREIGN_VARIABLES
    }
    return {**kept, "PJRT_DEVICE": "CPU", **changes}


def run(
    *command: str | Path,
    cwd: Path = ROOT,
    stdin: str = "",
    env: Mapping[str, str] | None = None,
    programs: int = 1,
) -> Finished:
    """Run a command to its end.

    Args:
        programs: how many programs it runs, each of which may take :data:`LIMIT_S`.
    """
    done = subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        input=stdin,
        env=environment(**(env or {})),
        capture_output=True,
        text=True,
        timeout=LIMIT_S * programs,
        check=False,
    )
    return Finished(done.returncode, done.stdout, done.stderr)


def python(*words: str | Path, **options: Any) -> Finished:
    """Run a program bare."""
    return run(sys.executable, *words, **options)


def doctor(*words: str | Path, **options: Any) -> Finished:
    """Run ``xladoctor run`` with these arguments."""
    return run(sys.executable, "-m", "xladoctor", "run", *words, **options)


def write(folder: Path, name: str, source: str) -> Path:
    """Write a program, or any text, to a file; indentation is removed."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(dedent(source), encoding="utf-8")
    return path


def line_of(program: Path, text: str) -> int:
    """The number of the only line of a program that begins with ``text``."""
    lines = program.read_text(encoding="utf-8").splitlines()
    (number,) = [n for n, line in enumerate(lines, 1) if line.strip().startswith(text)]
    return number


def marks_of(program: Path) -> list[pytest.MarkDecorator]:
    """The group of the tests that share its capture, and whether they are thorough."""
    thorough = program.stem not in EACH_TIME
    return [pytest.mark.xdist_group(program.stem), *[pytest.mark.thorough] * thorough]


@dataclass(frozen=True)
class Captured:
    """A captured run: its directory, and how it ended."""

    program: Path
    directory: Path
    finished: Finished

    @property
    def report(self) -> dict[str, Any]:
        """The JSON report in the run directory."""
        file = self.directory / "diagnosis.json"
        assert file.exists(), self.finished.stderr
        report: dict[str, Any] = json.loads(file.read_text())
        return report

    @property
    def notes(self) -> list[str]:
        """Those of the report that are not about the machine, which may be busy with other work."""
        return [text for text in self.report["warnings"] if "machine was busy" not in text]

    def findings(self, rule: str) -> list[dict[str, Any]]:
        """The findings of one rule, by line."""
        findings = [finding for finding in self.report["findings"] if finding["rule"] == rule]
        return sorted(findings, key=lambda f: [place["line"] for place in f["locations"]])

    @property
    def process(self) -> Path:
        """The folder of the only process."""
        (folder,) = self.directory.glob("process-*")
        return folder

    def log_lines(self, event: str) -> list[dict[str, Any]]:
        """The lines of one kind in the step log of the only process."""
        lines = map(json.loads, (self.process / "steps.jsonl").read_text().splitlines())
        return [line for line in lines if line["event"] == event]


def capture(
    directory: Path,
    program: Path,
    *arguments: str | Path,
    cwd: Path = ROOT,
    env: Mapping[str, str] | None = None,
    **options: Any,
) -> Captured:
    """Capture a program in a fork, and diagnose it in this process.

    Args:
        options: those of the capture; see :class:`Options`.
    """
    finished = forked.capture(
        directory,
        program,
        *map(str, arguments),
        options=Options(**options),
        cwd=cwd,
        environment=environment(**(env or {})),
        limit_s=LIMIT_S,
    )
    return Captured(program, directory, finished)


def bare(program: Path, log: Path, env: Mapping[str, str]) -> tuple[Finished, int]:
    """Run a program bare in a fork, with an analysis log; also returns how often it compiled."""
    compiled = log.with_suffix(".compiled")
    debugging = {"PT_XLA_DEBUG_LEVEL": "1", "PT_XLA_DEBUG_FILE": str(log)}
    finished = forked.server().run(
        program, (), ROOT, environment(**env, **debugging), LIMIT_S, compiled
    )
    return finished, int(compiled.read_text())


def command(
    directory: Path,
    program: Path,
    *arguments: str | Path,
    flags: tuple[str, ...] = (),
    **options: Any,
) -> Captured:
    """Capture a program by the command line; the report goes to a file, not to standard output.

    Args:
        flags: options of ``xladoctor run``.
    """
    report = directory.with_name(f"{directory.name}.report")
    words = ("--output", directory, "--format", f"terminal={report}", *flags, program, *arguments)
    return Captured(program, directory, doctor(*words, **options))


def settings_of(program: Path) -> dict[str, str]:
    """The environment variables that an example needs, bare or captured."""
    if program.stem == "two_threads":
        return {"CPU_NUM_DEVICES": "2"}
    if program.parent.name in ("recompilation", "third_party", "jax"):
        # Without LLVM's optimization the same graphs compile in half the time.
        return {"XLA_FLAGS": "--xla_backend_optimization_level=0"}
    return {}


class Captures:
    """Captures each program once: the first worker that asks does it, the others wait.

    Programs in :data:`BY_COMMAND` and those for JAX are captured by the command line, the others
    in a fork, which has imported torch_xla.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __call__(self, program: Path) -> Captured:
        key = hashlib.sha256(str(program).encode()).hexdigest()[:8]
        directory = self._folder / f"{program.stem}-{key}"
        record = directory.with_suffix(".json")
        with _locked(directory.with_suffix(".lock")):
            if not record.exists():
                shutil.rmtree(directory, ignore_errors=True)  # left by a run that was cut off
                alone = program.stem in BY_COMMAND or program.parent.name == "jax"
                capture_by = command if alone else capture
                finished = capture_by(directory, program, env=settings_of(program)).finished
                record.write_text(json.dumps(asdict(finished)))
        return Captured(program, directory, Finished(**json.loads(record.read_text())))


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
