"""Whether the capture would start: it is a ``sitecustomize``, found through PYTHONPATH."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from xladoctor.environment.interface import Check, failure, ok, warning
from xladoctor.recording.bootstrap._xladoctor.options import Options
from xladoctor.recording.launcher import handed_down

_STARTED = "import sys; print('_xladoctor' in sys.modules, sys.flags.ignore_environment)"
_LIMIT_S = 30  # to start an interpreter; a cold network disk takes seconds


def capture(executable: str = sys.executable) -> Check:
    """Start Python as ``xladoctor run`` does, and see whether the capture is in it."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            done = _start(executable, folder)
        except subprocess.TimeoutExpired:
            return failure(
                "capture",
                f"Python did not start within {_LIMIT_S} s",
                f"see what it imports when it starts: {executable} -v -c pass",
            )
        except OSError as error:
            return failure(
                "capture",
                f"cannot run {executable!r}: {error.strerror}",
                "check the Python that runs the program: /path/to/python -m xladoctor env",
            )
    words = done.stdout.split()[-2:]
    said = " ".join(done.stderr.split())[:300]
    if words[1:] == ["1"] and (done.returncode or words[0] != "True"):
        return failure(
            "capture",
            f"{executable} ignores PYTHONPATH",
            "it is a wrapper that runs Python with -E or -I; use the Python behind it:"
            " xladoctor run -- /path/to/python train.py",
        )
    if done.returncode or words[:1] != ["True"]:
        fault = f"does not start{said and f': {said}'}"
        advice = f"see what Python does when it starts: {executable} -v -c pass"
        return failure("capture", fault, advice)
    if "sitecustomize" in said:
        found = f"starts, but your sitecustomize fails: {said}"
        return warning("capture", found, "fix or remove it")
    return ok("capture", "starts with the program's Python")


def _start(executable: str, run_directory: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [executable, "-c", _STARTED],
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        timeout=_LIMIT_S,
        stdin=subprocess.DEVNULL,
        env={**os.environ, **handed_down(Path(run_directory), Options())},
    )
