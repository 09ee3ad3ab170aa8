"""A sample repository, and the action's result for its sick program, captured once."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.ci.action import Job, play
from tests.live.harness import EXAMPLES

_STEPS = "STEPS = 40"
_BUDGET = "[tool.xladoctor.gate.budgets]\nmax_host_syncs_per_step = 1.5\n"


@dataclass(frozen=True)
class Sample:
    """A repository, the runner's temporary folder, and the job that judged its program."""

    repository: Path
    temporary: Path
    job: Job


def sample_repository(folder: Path, example: str) -> Path:
    """A repository whose train.py is one of the examples, shortened, and takes its steps."""
    folder.mkdir()
    text = (EXAMPLES / f"{example}.py").read_text(encoding="utf-8")
    assert _STEPS in text
    steps = "import sys\nSTEPS = int(sys.argv[sys.argv.index('--steps') + 1])"
    (folder / "train.py").write_text(text.replace(_STEPS, steps), encoding="utf-8")
    (folder / "pyproject.toml").write_text(_BUDGET, encoding="utf-8")
    subprocess.run(["git", "init", "-q", folder], check=True)
    return folder


@pytest.fixture(scope="session")
def sick(tmp_path_factory: pytest.TempPathFactory) -> Sample:
    """The action run on a program that reads its loss at every step."""
    base = tmp_path_factory.mktemp("action")
    repository = sample_repository(base / "sick", "scalar_read")
    temporary = base / "temporary"
    temporary.mkdir()
    job = play(
        repository,
        temporary,
        {"LENGTH": "30"},
        install="false",
        command="echo before\npython train.py --steps $LENGTH | tee train.log",
        comment_file="comment.md",
    )
    return Sample(repository, temporary, job)
