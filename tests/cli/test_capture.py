"""``xladoctor capture`` from outside: statuses, streams, formats, and what is loaded."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.command import ENVIRONMENT, started
from tests.recording.servers import closed_port, profiler, sends


def test_the_report_is_on_stdout_and_the_rest_on_stderr(tmp_path: Path) -> None:
    with profiler(sends) as address:
        done = started("capture", address, "--duration", "50ms", folder=tmp_path)

    (run,) = tmp_path.glob("xladoctor-runs/*-capture")
    assert done.returncode == 0
    assert (tmp_path / "xladoctor-runs/.gitignore").read_text().endswith("\n*\n")
    assert done.stdout.startswith(f"xladoctor  xladoctor-runs/{run.name}")
    assert f"  in full: xladoctor analyze xladoctor-runs/{run.name} -v\n" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert done.stderr == f"xladoctor: recording 0.05 s from {address}\n"


def test_json_is_the_report_that_the_directory_keeps(tmp_path: Path) -> None:
    with profiler(sends) as address:
        words = ("--duration", "50ms", "-o", "run", "--format", "json", "--quiet")
        done = started("capture", address, *words, folder=tmp_path)

    assert json.loads(done.stdout) == json.loads((tmp_path / "run/diagnosis.json").read_text())
    assert json.loads(done.stdout)["run"]["kind"] == "remote"
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nowhere"], "'nowhere' is not the address of a profiler server"),
        (["a:1", "a:1"], "a:1 is named twice"),
        (["a:1", "--duration", "3d"], "--duration '3d': not a duration between 1ms and 5m"),
        (["a:1", "--wait", "-1s"], "--wait '-1s': not a duration between 0ms and 1440m"),
        ([], "Missing argument 'HOST:PORT'"),
    ],
)
def test_usage(tmp_path: Path, words: list[str], message: str) -> None:
    done = started("capture", *words, folder=tmp_path)

    assert done.returncode == 2
    assert done.stdout == ""
    assert message in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_no_profile_at_all(tmp_path: Path) -> None:
    closed = f"localhost:{closed_port()}"
    done = started("capture", closed, "--wait", "0s", "-o", "run", folder=tmp_path)

    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == (
        f"xladoctor: recording 3 s from {closed}\n"
        f"xladoctor: {closed}: connection refused: no profiler server listens there\n"
        "  start it in the program, and keep what it returns:\n"
        "    PyTorch/XLA:\n"
        "      import torch_xla.debug.profiler as xp\n"
        "      server = xp.start_server(PORT)\n"
        "    JAX:\n"
        "      import jax\n"
        "      server = jax.profiler.start_server(PORT)\n"
        "  it may still be starting: --wait 1m gives it time\n"
    )
    assert list(tmp_path.iterdir()) == []


def test_help_loads_nothing_heavy() -> None:
    program = (
        "import sys\nfrom xladoctor.cli.main import app\n"
        "sys.argv = ['xladoctor', 'capture', '-h']\ntry:\n    app()\nexcept SystemExit:\n"
        "    print({'grpc', 'google.protobuf', 'duckdb', 'numba', 'rich'} & set(sys.modules),"
        " file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=ENVIRONMENT
    )
    assert "HOST:PORT" in done.stdout
    assert done.stderr == "set()\n"
