"""``xladoctor env`` from outside, in installations that are broken in one way each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import started
from tests.environment.fakes import MISSING, SYMBOL, installation

JAX = ["JAX", "jaxlib", "JAX device", "JAX computation", "JAX profiler"]
NAMES = [
    "Python",
    "system",
    "xladoctor",
    "torch",
    "torch_xla",
    "versions",
    "PJRT_DEVICE",
    "device",
    "libtpu",
    "Neuron plugin",
    "computation",
    "profiler",
    *JAX,
    "settings",
    "capture",
    "run directory",
    "decoder cache",
    "stacks",
]


def examined(
    folder: Path, *words: str, environment: dict[str, str] | None = None, **fake: str
) -> dict[str, Any]:
    """The checks by their names, of an installation with these packages, which is broken."""
    (folder / "packages").mkdir()
    path = installation(folder / "packages", **fake)
    variables = {"PYTHONPATH": path, "PJRT_DEVICE": "CPU", **(environment or {})}
    done = started("env", "--format", "json", *words, folder=folder, environment=variables)
    assert (done.returncode, done.stderr) == (1, "")
    report = json.loads(done.stdout)
    assert (report["schema_version"], report["ok"]) == (1, False)
    assert [check["name"] for check in report["checks"]] == NAMES
    assert {tuple(check) for check in report["checks"]} == {("name", "status", "found", "advice")}
    for check in report["checks"]:
        assert bool(check["advice"]) == (check["status"] in ("warning", "failure"))
    return {check["name"]: check for check in report["checks"]}


def skipped(checks: dict[str, Any]) -> list[str]:
    """Those that were not checked, of all but JAX."""
    return [
        name for name, check in checks.items() if check["status"] == "skipped" and name not in JAX
    ]


@pytest.mark.parametrize(
    ("torch_xla", "said"),
    [
        ("import os; os.abort()", "cannot be imported: ended by signal 6 (Aborted)"),
        ("import time; time.sleep(60)", "cannot be imported: no answer within 1 s"),
    ],
    ids=["abort", "hang"],
)
def test_broken_torch_xla_is_a_failure_of_its_import(
    tmp_path: Path, torch_xla: str, said: str
) -> None:
    checks = examined(tmp_path, "--timeout", "1", torch_xla=torch_xla)
    assert checks["torch"]["status"] == "ok"
    assert (checks["torch_xla"]["status"], checks["torch_xla"]["found"]) == ("failure", said)
    assert skipped(checks) == ["device", "libtpu", "Neuron plugin", "computation", "profiler"]
    assert checks["computation"]["found"] == "needs torch_xla"


def test_without_torch_the_install_line_is_named(tmp_path: Path) -> None:
    checks = examined(tmp_path, torch=MISSING.format("torch"))
    assert checks["torch"]["status"] == "failure"
    assert checks["torch"]["advice"].startswith("pip install 'xladoctor[xla]'")
    needy = ["torch_xla", "device", "computation", "profiler"]
    assert skipped(checks) == [*needy[:2], "libtpu", "Neuron plugin", *needy[2:]]
    assert {checks[name]["found"] for name in needy} == {"needs torch"}


def test_broken_jax_is_a_failure_of_its_import(tmp_path: Path) -> None:
    checks = examined(tmp_path, torch=MISSING.format("torch"))
    assert checks["JAX"]["found"] == "cannot be imported: ImportError: libx.so: undefined symbol: y"
    assert '-c "import jax"' in checks["JAX"]["advice"]
    assert {checks[name]["found"] for name in JAX[2:]} == {"needs JAX"}


def test_versions_that_do_not_belong_together(tmp_path: Path) -> None:
    checks = examined(tmp_path, torch="__version__ = '2.8.0+cpu'", torch_xla=SYMBOL)
    assert checks["versions"]["status"] == "failure"
    assert checks["versions"]["found"] == (
        "torch 2.8.0+cpu with torch_xla 2.9.0, which was built for torch 2.9.0"
    )
    assert "built for a torch other than 2.8.0+cpu" in checks["torch_xla"]["found"]
    assert checks["torch_xla"]["advice"] == "pip install 'torch==2.9.0'"


def test_cache_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    environment = {"XDG_CACHE_HOME": str(tmp_path / "file" / "cache"), "NUMBA_CACHE_DIR": ""}
    checks = examined(tmp_path, torch=MISSING.format("torch"), environment=environment)
    assert checks["decoder cache"]["status"] == "warning"
    assert "XDG_CACHE_HOME" in checks["decoder cache"]["advice"]


def test_what_xladoctor_itself_lacks_is_a_failure_and_not_its_end(tmp_path: Path) -> None:
    (tmp_path / "duckdb.py").write_text("raise ImportError('libstdc++.so.6 is too old')\n")
    (tmp_path / "numba.py").write_text("raise ImportError('needs another NumPy')\n")
    checks = examined(tmp_path, torch=MISSING.format("torch"))
    for name in ("xladoctor", "settings", "decoder cache"):
        assert checks[name]["status"] == "failure"
    assert "libstdc++.so.6 is too old" in checks["xladoctor"]["found"]
    assert "needs another NumPy" in checks["decoder cache"]["found"]


def test_terminal_form_where_only_ascii_goes(tmp_path: Path) -> None:
    variables = {
        "PYTHONPATH": installation(tmp_path, torch_xla=SYMBOL),
        "PJRT_DEVICE": "CPU",
        "PYTHONIOENCODING": "ascii",
        "PYTHONUTF8": "0",
    }
    done = started("env", folder=tmp_path, environment=variables)
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.isascii()
    assert "\x1b" not in done.stdout
    lines = done.stdout.splitlines()
    assert all(len(line) <= 80 for line in lines)
    assert lines[0].startswith("+ Python           3.")
    assert "\nx torch_xla        cannot be imported: it was built for a torch" in done.stdout
    assert ", 2 failures, 8 not checked" in lines[-1]


def test_help_names_the_exit_statuses() -> None:
    done = started("env", "--help")
    assert done.returncode == 0
    assert "Exit status: 0 nothing failed" in " ".join(done.stdout.split())
