"""Run directories are named after the program, whatever starts it."""

from __future__ import annotations

import sys

import pytest

from xladoctor.cli.request import ProgramOptions
from xladoctor.recording.bootstrap._xladoctor.options import Options
from xladoctor.recording.naming import program_of


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("python train.py --config other.py", "train.py"),
        ("python -u src/train.py", "src/train.py"),
        ("python -m pkg.train data.py", "train"),
        ("torchrun --nproc-per-node 2 train.py", "train.py"),
        ("torchrun -m pkg.train", "train"),
        (f"{sys.executable} -m torch.distributed.run --standalone train.py", "train.py"),
        ("accelerate launch --num_processes 2 train.py", "train.py"),
        ("uv run train.py", "train.py"),
        ("uv run python -m pkg.train", "train"),
        ("bash job.sh", "job.sh"),
        ("train --fast", "train"),
        ("python -c pass", "python"),
    ],
)
def test_program_behind_a_command(command: str, name: str) -> None:
    request = ProgramOptions().request(command.split(), None, Options(), own_command=True)
    assert program_of(request) == name


def test_program_in_a_command_line_of_a_shell_is_not_guessed() -> None:
    words = ["sh", "-c", "cd src && python train.py"]
    request = ProgramOptions().request(words, None, Options(), own_command=True)
    assert program_of(request) == "sh"


@pytest.mark.parametrize(
    ("words", "module", "name"),
    [
        (["train.py", "other.py"], False, "train.py"),
        (["train", "-m", "other.py"], False, "train"),
        (["pkg.train", "other.py"], True, "train"),
        (["torch.distributed.run", "train.py"], True, "train.py"),
    ],
)
def test_program_that_is_named_itself(words: list[str], module: bool, name: str) -> None:
    request = ProgramOptions().request(words, None, Options(), module=module)
    assert program_of(request) == name
