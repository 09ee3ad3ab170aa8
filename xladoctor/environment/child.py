"""Runs the probe in a process of its own, and reports how each of its steps ended."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Literal

from xladoctor.environment.interface import Tell

_FATAL = re.compile(r"(^F\d{4}| F \S+:\d+\]|^Fatal )")  # fatal messages of XLA and Python
_LONGEST = 300  # letters of a message
_TAIL = 65_536  # bytes of output in which to look for a message


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a step ended.

    Attributes:
        state: ``done``; ``raised`` an exception; ``died`` with the process; ``hung`` until the
            time limit; or not ``reached``, since an earlier step failed.
        error: one line about what went wrong.
        facts: what a successful step has found.
        kind: class name of the exception.
    """

    state: Literal["done", "raised", "died", "hung", "unreached"]
    error: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)
    kind: str = ""

    @property
    def done(self) -> bool:
        """Whether the step succeeded."""
        return self.state == "done"


Outcomes = Mapping[str, Outcome]


class Probe:
    """A running probe; made by :func:`probing`."""

    def __init__(
        self, steps: Sequence[str], child: subprocess.Popen[bytes], pipe: int, output: IO[bytes]
    ) -> None:
        self._steps = steps
        self._child = child
        self._pipe = pipe
        self._output = output

    def outcomes(self, timeout_s: float, tell: Tell) -> Outcomes:
        """Wait for the probe to end, no longer than ``timeout_s`` for each step."""
        outcomes: dict[str, Outcome] = {}
        step = self._steps[0]  # a process that ends before any step fails in the first
        hung = False
        for line in self._lines(timeout_s):
            if line is None:
                hung = True
                break
            step = line["step"]
            if "facts" in line:
                outcomes[step] = Outcome("done", facts=line["facts"])
            elif "error" in line:
                outcomes[step] = Outcome("raised", _error(*line["error"]), kind=line["error"][0])
            else:
                tell(step)
        if hung:
            outcomes[step] = Outcome("hung", f"no answer within {timeout_s:g} s")
        elif step not in outcomes or (outcomes[step].done and step != self._steps[-1]):
            outcomes[self._next(step, outcomes)] = Outcome("died", self._last_words())
        return {name: outcomes.get(name, Outcome("unreached")) for name in self._steps}

    def _lines(self, timeout_s: float) -> Iterator[dict[str, Any] | None]:
        """The probe's messages; None if there is none for that long."""
        rest = b""
        while True:
            if not select.select([self._pipe], [], [], timeout_s)[0]:
                yield None
                return
            data = os.read(self._pipe, 65_536)
            if not data:
                return
            *lines, rest = (rest + data).split(b"\n")
            yield from map(json.loads, lines)

    def _next(self, step: str, outcomes: Outcomes) -> str:
        """The step in which the process died: the last that began, or else the next."""
        return self._steps[self._steps.index(step) + 1] if step in outcomes else step

    def _last_words(self) -> str:
        """How the process ended, with its last message."""
        status = self._child.wait()
        end = f"exit status {status}"
        if status < 0:
            end = f"ended by signal {-status} ({signal.strsignal(-status)})"
        self._output.seek(max(0, self._output.seek(0, os.SEEK_END) - _TAIL))
        lines = self._output.read().decode(errors="replace").split("\n")
        said = [line.strip() for line in lines if line.strip()]
        fatal = [line.partition("] ")[2] or line for line in said if _FATAL.search(line)]
        words = (fatal or said[-1:] or [""])[0]
        return f"{end}: {words[:_LONGEST]}" if words else end


def _error(kind: str, message: str) -> str:
    text = " ".join(message.split())
    return f"{kind}: {text}"[:_LONGEST] if text else kind


@contextmanager
def probing(steps: Sequence[str], program: Sequence[Path], unset: Sequence[str]) -> Iterator[Probe]:
    """Start a probe with this interpreter; end it, with what it started, on the way out.

    Args:
        program: a program and its arguments; a descriptor to write to is appended.
        unset: variables that make the framework write files, which the probe must not do.
    """
    pipe, for_child = os.pipe()
    with tempfile.TemporaryFile() as output, os.fdopen(pipe, "rb", buffering=0):
        try:
            child = subprocess.Popen(
                [sys.executable, *map(str, program), str(for_child)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                pass_fds=[for_child],
                env=_environment(unset),
                start_new_session=True,
            )
        finally:
            os.close(for_child)
        try:
            yield Probe(steps, child, pipe, output)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()


def _environment(unset: Sequence[str]) -> dict[str, str]:
    """The user's environment, so that its faults show, without variables that make files."""
    kept = {name: value for name, value in os.environ.items() if name not in unset}
    if "XLA_FLAGS" in kept:
        flags = kept["XLA_FLAGS"].split()
        kept["XLA_FLAGS"] = " ".join(f for f in flags if not f.startswith("--xla_dump_to"))
    return kept
