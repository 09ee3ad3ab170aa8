"""``xladoctor move``: what it prints, writes and refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.forked import called

TRAIN = "import torch\nimport torch_xla\nfrom model import step\n\nstep()\ntorch_xla.sync()\n"
MODEL = "import torch_xla.core.xla_model as xm\n\ndef step():\n    return xm.xla_device()\n"
BY_HAND = "import torch_xla.runtime as xr\nxr.use_spmd()\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "train.py").write_text(TRAIN)
    (tmp_path / "model.py").write_text(MODEL)
    return tmp_path


def test_diffs_are_shown_and_nothing_is_written(project: Path) -> None:
    done = called("move", "train.py", "--root", ".", folder=project)
    assert (done.returncode, done.stderr) == (0, "")
    assert "--- a/train.py\n+++ b/train.py\n" in done.stdout
    assert '+    return torch.device("tpu")\n' in done.stdout
    assert "2 files to change for TorchTPU; not run yet" in done.stdout
    assert (project / "train.py").read_text() == TRAIN


def test_write_changes_the_files_and_a_second_move_has_nothing_to_do(project: Path) -> None:
    done = called("move", "train.py", "--root", ".", "--write", folder=project)
    assert done.returncode == 0
    assert (project / "train.py").read_text() == "import torch\nfrom model import step\n\nstep()\n"
    again = called("move", "train.py", "--root", ".", folder=project)
    assert again.returncode == 2
    assert "neither train.py nor what it imports uses torch_xla" in again.stderr


def test_json_has_what_is_left_to_do(project: Path) -> None:
    (project / "train.py").write_text(BY_HAND)
    done = called("move", "train.py", "--root", ".", "--format", "json", folder=project)
    assert done.returncode == 1
    (file,) = json.loads(done.stdout)["files"]
    assert file["diff"] == ""
    assert [(each["line"], each["code"]) for each in file["refused"]] == [
        (2, "torch_xla.runtime.use_spmd")
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("import torch_xla\nx = (\n", "its file does not parse"),
        ("import torch_xla\nx = 'é'\n".encode("latin-1"), "is not UTF-8"),
        ("from torch_xla import *\nsync()\n", "import the names that are used"),
        ("# DO NOT EDIT\nimport torch_xla\ntorch_xla.sync()\n", "is generated"),
    ],
)
def test_a_file_that_cannot_be_moved_is_named(text: str | bytes, said: str, project: Path) -> None:
    (project / "train.py").write_bytes(text if isinstance(text, bytes) else text.encode())
    done = called("move", "train.py", "--root", ".", "--write", folder=project)
    assert done.returncode == 1
    assert said in " ".join(done.stdout.split())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--to", "jax"], "one of: torch_tpu, torch.compile"),
        (["--device", "abacus"], "unknown device abacus"),
        (["--root", "other"], "train.py is not in the project other"),
        (["--verify"], "--verify needs --to-python"),
    ],
)
def test_arguments_that_cannot_be_used(arguments: list[str], said: str, project: Path) -> None:
    (project / "other").mkdir()
    done = called("move", "train.py", *arguments, folder=project)
    assert done.returncode == 2
    assert said in done.stderr
