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


@pytest.mark.parametrize("own_status", [0, 3])
@pytest.mark.parametrize(
    ("source", "message"),
    [
        (IMPORTS_NOTHING, "xladoctor: out: the program never imported torch_xla"),
        (USES_NO_DEVICE, "xladoctor: out: the program imported torch_xla, but no computation ran"),
    ],
    ids=["never imported", "never used"],
)
def test_program_that_never_uses_xla_is_told_so(
    tmp_path: Path, source: str, message: str, own_status: int
) -> None:
    program = write(tmp_path, "program.py", source)

    done = doctor("-o", "out", program, str(own_status), cwd=tmp_path)

    assert done.status == (own_status or 2)
    assert done.stdout == "hello\n"
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_missing_torch_xla_is_said_before_anything_runs(tmp_path: Path) -> None:
    interpreter = interpreter_without_torch(tmp_path / "venv")
    program = write(tmp_path, "program.py", "print('ran')")

    done = run(interpreter, "-m", "xladoctor", "run", program, cwd=tmp_path)

    assert done.status == 2
    assert done.stdout == ""
    assert f"torch and torch_xla not installed for {interpreter}" in done.stderr
    assert "pip install 'xladoctor[xla]'" in done.stderr
    assert not (tmp_path / "xladoctor-runs").exists()


def test_command_of_another_interpreter_needs_no_torch_xla_in_ours(tmp_path: Path) -> None:
    interpreter = interpreter_without_torch(tmp_path / "venv")
    words = ("-o", "out", "--", sys.executable, "-c", "print('ran')")

    done = run(interpreter, "-m", "xladoctor", "run", *words, cwd=tmp_path)

    assert done.status == 2
    assert done.stdout == "ran\n"
    assert "never imported torch_xla" in done.stderr


def interpreter_without_torch(folder: Path) -> Path:
    """A virtual environment with everything that is installed here except torch."""
    venv.create(folder, symlinks=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    for entry in Path(typer.__file__).parents[1].iterdir():
        if not entry.name.startswith("torch"):
            (packages / entry.name).symlink_to(entry)
    (packages / "checkout.pth").write_text(f"{Path(xladoctor.__file__).parents[1]}\n")
    return folder / "bin" / "python"
