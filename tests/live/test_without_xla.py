"""Programs with nothing to diagnose: a sentence says so, with status 2."""

from __future__ import annotations

import sys
import venv
from pathlib import Path

import pytest
import typer

import xladoctor
from tests.live.harness import LIVE, doctor, run, write

pytestmark = LIVE

IMPORTS_NOTHING = "import sys\nprint('hello')\nsys.exit(int(sys.argv[1]))\n"
USES_NO_DEVICE = f"import torch_xla\n{IMPORTS_NOTHING}"
COMPILES_NOTHING = f"import torch\ntorch.compile(abs)\n{IMPORTS_NOTHING}"
USES_NO_JAX = f"import jax\njax.jit(abs)\n{IMPORTS_NOTHING}"


@pytest.mark.parametrize("own_status", [0, pytest.param(3, marks=pytest.mark.thorough)])
@pytest.mark.parametrize(
    ("source", "message"),
    [
        (
            IMPORTS_NOTHING,
            "xladoctor: out: the program never imported torch_xla or jax or torch or torch_tpu,",
        ),
        (USES_NO_DEVICE, "xladoctor: out: the program imported torch_xla, but no computation ran"),
        pytest.param(
            COMPILES_NOTHING,
            "xladoctor: out: the program imported torch, but no function that",
            marks=pytest.mark.thorough,
        ),
        (USES_NO_JAX, "xladoctor: out: the program imported jax, but no computation ran"),
    ],
    ids=["never imported", "never used", "never compiled", "never used JAX"],
)
def test_program_that_never_uses_xla_is_told_so(
    tmp_path: Path, source: str, message: str, own_status: int
) -> None:
    program = write(tmp_path, "program.py", source)

    done = doctor("-o", "out", program, str(own_status), cwd=tmp_path)

    assert done.status == (own_status or 2)
    assert done.stdout == "hello\n"
    assert message in done.stderr
    assert ("; it ended with exit status 3" in done.stderr) == (
        own_status == 3 and " but " in message
    )
    assert "Traceback" not in done.stderr


def test_missing_frameworks_are_said_before_anything_runs(tmp_path: Path) -> None:
    interpreter = interpreter_without(tmp_path / "venv", "torch", "jax")
    program = write(tmp_path, "program.py", "print('ran')")

    done = run(interpreter, "-m", "xladoctor", "run", program, cwd=tmp_path)

    assert done.status == 2
    assert done.stdout == ""
    said = " ".join(done.stderr.split())
    assert f"{interpreter} has no framework" in said
    assert "PyTorch/XLA needs torch and torch_xla; JAX needs jax and jaxlib" in said
    assert "PyTorch needs torch" in said
    assert "pip install 'xladoctor[xla]'" in said
    assert "pip install 'xladoctor[jax]'" in said
    assert not (tmp_path / "xladoctor-runs").exists()


@pytest.mark.parametrize(("missing", "there"), [("torch", "jax"), ("jax", "torch_xla")])
@pytest.mark.thorough
def test_one_framework_is_enough(tmp_path: Path, missing: str, there: str) -> None:
    interpreter = interpreter_without(tmp_path / "venv", missing)
    program = write(tmp_path, "program.py", f"import {there}\nprint('ran')")

    done = run(interpreter, "-m", "xladoctor", "run", "-o", "out", program, cwd=tmp_path)

    assert (done.status, done.stdout) == (2, "ran\n")
    assert f"the program imported {there}, but no computation ran" in done.stderr


def test_command_of_another_interpreter_needs_no_framework_in_ours(tmp_path: Path) -> None:
    interpreter = interpreter_without(tmp_path / "venv", "torch", "jax")
    words = ("-o", "out", "--", sys.executable, "-c", "print('ran')")

    done = run(interpreter, "-m", "xladoctor", "run", *words, cwd=tmp_path)

    assert done.status == 2
    assert done.stdout == "ran\n"
    assert "never imported torch_xla" in done.stderr


def interpreter_without(folder: Path, *names: str) -> Path:
    """A virtual environment with everything that is installed here but what begins so."""
    venv.create(folder, symlinks=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    for entry in Path(typer.__file__).parents[1].iterdir():
        if not entry.name.startswith(names):
            (packages / entry.name).symlink_to(entry)
    (packages / "checkout.pth").write_text(f"{Path(xladoctor.__file__).parents[1]}\n")
    return folder / "bin" / "python"
