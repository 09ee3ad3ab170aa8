"""A signal that comes while NumPy reads an array ends the program as it does without us."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

PROGRAM = """
import os, signal, threading
import jax, jax.numpy as jnp, numpy as np

step = jax.jit(lambda x: x @ x * 1e-3)
x = jnp.ones((600, 600))
threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    for _ in range(20_000):
        x = step(x)
        np.asarray(x)
    print("to the end")
except KeyboardInterrupt:
    print("interrupted")
"""

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(find_spec("jax") is None, reason="jax is not installed"),
]


@pytest.mark.thorough
def test_a_signal_during_a_read_of_memory_reaches_the_program(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "xladoctor",
            "run",
            "--output",
            str(tmp_path / "run"),
            "--format",
            f"terminal={tmp_path / 'report.txt'}",
            str(program),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ},
    )
    assert done.stdout.splitlines()[0] == "interrupted"
    assert "Exception ignored" not in done.stderr
    assert done.returncode == 0
