"""The whole examination where a framework is installed and works."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.live.harness import LIVE, ROOT, run
from tests.live.test_without_xla import interpreter_without

pytestmark = LIVE


def test_sound_installation_is_found_sound(tmp_path: Path) -> None:
    done = run(
        sys.executable,
        "-m",
        "xladoctor",
        "env",
        "--format",
        "json",
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT)},
    )

    assert (done.status, done.stderr) == (0, "")
    report = json.loads(done.stdout)
    assert report["ok"] is True
    checks = {check["name"]: check for check in report["checks"]}
    assert {name for name, check in checks.items() if check["status"] == "skipped"} == {
        "libtpu",
        "Neuron plugin",
    }
    assert checks["device"]["found"] == "1 CPU device"
    assert checks["computation"]["found"] == "correct, and compiled once for two runs"
    assert checks["profiler"]["status"] == "ok"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.thorough
def test_settings_that_break_it_are_found_and_nothing_is_written(tmp_path: Path) -> None:
    files = {
        name: str(tmp_path / name)
        for name in ("PT_XLA_DEBUG_FILE", "XLA_SAVE_TENSORS_FILE", "XLA_METRICS_FILE")
    }
    flags = f"--xla_dump_to={tmp_path / 'dump'}"
    done = run(
        sys.executable,
        "-m",
        "xladoctor",
        "env",
        cwd=tmp_path,
        env={
            "PYTHONPATH": str(ROOT),
            "XLA_COMPILATION_CACHE_SIZE": "0",
            "XLA_FLAGS": flags,
            **files,
        },
    )

    assert (done.status, done.stderr) == (1, "")
    assert "✗ computation      running the same step twice compiled it twice\n" in done.stdout
    assert done.stdout.count("! settings ") == len(files) + 2
    assert "- profiler" not in done.stdout
    assert list(tmp_path.iterdir()) == []


@pytest.mark.thorough
def test_torch_alone(tmp_path: Path) -> None:
    interpreter = interpreter_without(tmp_path / "venv", "torch_xla", "jax")
    (tmp_path / "here").mkdir()

    done = run(
        interpreter,
        "-m",
        "xladoctor",
        "env",
        "--format",
        "json",
        cwd=tmp_path / "here",
        env={"PYTHONPATH": str(ROOT)},
    )

    assert (done.status, done.stderr) == (0, "")
    found = {check["name"]: check for check in json.loads(done.stdout)["checks"]}
    assert {"torch_xla", "JAX", "framework"}.isdisjoint(found)
    assert "torch.compile can be captured" in found["PyTorch"]["found"]
    assert found["torch.compile"]["found"].startswith("correct, and compiled once for two runs")
    assert list((tmp_path / "here").iterdir()) == []
