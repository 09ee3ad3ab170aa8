"""The pre-commit hook: its definition, its entry by hand, and the real pre-commit."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.ci.conftest import Sample
from tests.live.harness import LIVE, ROOT, environment, run

SAMPLE = ROOT / "sample_traces" / "recompiling"


def hook() -> dict[str, Any]:
    (definition,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    assert isinstance(definition, dict)
    return definition


def entry(*args: str) -> list[str | Path]:
    """What pre-commit runs, by this interpreter."""
    name, *words = shlex.split(hook()["entry"])
    assert name == "xladoctor"
    return [sys.executable, "-m", name, *words, *args]


def test_it_runs_a_program_and_so_not_at_a_commit() -> None:
    assert hook()["stages"] == ["pre-push", "manual"]
    assert hook()["pass_filenames"] is False


@pytest.mark.thorough
def test_judges_what_its_arguments_name() -> None:
    done = run(*entry("--level", "XD101=warning", str(SAMPLE)))
    assert done.status == 0, done.stderr
    assert "Gate passed" in done.stdout
    assert run(*entry(str(SAMPLE))).status == 1


@pytest.mark.thorough
@pytest.mark.xdist_group("ci")
@pytest.mark.live
@LIVE[1]
def test_judges_a_run_of_the_sample_repository(sick: Sample) -> None:
    done = run(*entry(sick.job.outputs["run-directory"]), cwd=sick.repository)
    assert done.status == 1
    assert "Gate failed: 1 new finding" in done.stdout


class TestByPreCommit:
    def test_the_definition_is_one_of_a_hook(self) -> None:
        done = run(
            sys.executable, "-m", "pre_commit", "validate-manifest", ROOT / ".pre-commit-hooks.yaml"
        )
        assert done.status == 0, done.stdout

    @pytest.mark.thorough
    @pytest.mark.install
    @pytest.mark.xdist_group("install")
    def test_it_installs_the_hook_and_runs_it(self, tmp_path: Path) -> None:
        if not (ROOT / ".git").exists():
            pytest.skip("pre-commit clones a repository, and this is none")
        repository = tmp_path / "repository"
        subprocess.run(["git", "init", "-q", repository], check=True)
        config = repository / ".pre-commit-config.yaml"
        # As a user's: the definition is taken from a clone, and only the arguments are added.
        clone = tmp_path / "clone"
        subprocess.run(["git", "clone", "-q", ROOT, clone], check=True)
        head = subprocess.run(
            ["git", "rev-parse", "HEAD"], cwd=clone, check=True, capture_output=True, text=True
        ).stdout.strip()
        config.write_text(
            yaml.safe_dump(
                {
                    "repos": [
                        {
                            "repo": str(clone),
                            "rev": head,
                            "hooks": [{"id": hook()["id"], "args": [str(SAMPLE)]}],
                        },
                    ]
                }
            )
        )
        subprocess.run(["git", "add", "."], cwd=repository, check=True)
        done = subprocess.run(
            [sys.executable, "-m", "pre_commit", "run", "--hook-stage", "manual", hook()["id"]],
            cwd=repository,
            env=environment(PRE_COMMIT_HOME=str(tmp_path / "home")),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 1, done.stdout + done.stderr
        assert "exit code: 1" in done.stdout
        assert "XD101" in done.stdout
