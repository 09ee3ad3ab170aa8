"""The wheel, installed in a fresh environment: complete, and usable without torch."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "sample_traces" / "recompiling"

pytestmark = [pytest.mark.install, pytest.mark.xdist_group("install")]


def run(*command: str | Path, cwd: Path) -> str:
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_wheel_carries_rules_views_and_bootstrap(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    rules = {Path(name).name for name in names if name.startswith("xladoctor/rules/")}
    assert rules == {path.name for path in (ROOT / "rules").glob("*.yaml")}
    assert "xladoctor/examples/jax/loss_read_healed.py" in names  # rules show what such pairs do
    assert "xladoctor/recording/bootstrap/sitecustomize.py" in names
    assert "xladoctor/evidence/views/10_loop.sql" in names
    assert "xladoctor/py.typed" in names
    (entries,) = (name for name in names if name.endswith(".dist-info/entry_points.txt"))
    registered = zipfile.ZipFile(wheel).read(entries).decode()
    assert "[pytest11]\nxladoctor = xladoctor.pytest_plugin" in registered
    assert not [name for name in names if name.startswith(("tests/", "examples/", "docs/"))]
    assert [name for name in names if name.startswith("xladoctor/known_good/")]


@pytest.mark.thorough
def test_analyzes_a_sample_trace_without_torch(installed: Path, tmp_path: Path) -> None:
    assert "torch" not in run(installed / "python", "-m", "pip", "list", cwd=tmp_path)
    shown = run(installed / "xladoctor", "analyze", SAMPLE, "--format", "json", cwd=tmp_path)
    (finding,) = json.loads(shown)["findings"]
    assert finding["rule"] == "XD101"
    assert finding["locations"][0]["file"] == "programs/recompiling.py"
    assert finding["cause"]["kind"] == "input_shape"


@pytest.mark.thorough
def test_says_how_to_get_a_framework_where_there_is_none(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import torch_xla\n")
    done = subprocess.run(
        [str(installed / "python"), "-m", "xladoctor", "run", "train.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "PyTorch/XLA needs torch and torch_xla" in done.stderr
    assert "JAX needs jax and jaxlib" in done.stderr
    assert "pip install 'xladoctor[xla]'" in done.stderr
    assert "pip install 'xladoctor[jax]'" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "xladoctor-runs").exists()


@pytest.mark.thorough
def test_the_oldest_versions_that_it_asks_for_are_enough(wheel: Path, tmp_path: Path) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    oldest = [asked.replace(">=", "==") for asked in project["dependencies"]]
    python = tmp_path / "venv" / "bin" / "python"
    run(sys.executable, "-m", "venv", python.parents[1], cwd=tmp_path)
    run(python, "-m", "pip", "install", "-q", wheel, *oldest, cwd=tmp_path)
    shown = run(
        python,
        "-m",
        "xladoctor",
        "analyze",
        SAMPLE,
        "--format",
        "json",
        "--format",
        "html=page.html",
        cwd=tmp_path,
    )
    (finding,) = json.loads(shown)["findings"]
    assert finding["rule"] == "XD101"
    created = run(python, "-c", EVERY_VIEW, SAMPLE, cwd=tmp_path)
    assert int(created) > 40


EVERY_VIEW = """
import sys
from xladoctor.doctor import load_evidence
from xladoctor.evidence.catalog import public_views
database = load_evidence(sys.argv[1]).database
for view in public_views():
    database.rows(f"SELECT * FROM {view} LIMIT 1")
print(len(public_views()))
"""
