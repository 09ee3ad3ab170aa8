"""The workflows of this repository: valid, and with every action pinned."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from tests.live.harness import ROOT
from tests.report import captured
from tests.schemas import GITHUB_WORKFLOW, problems

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflow_is_valid(path: Path) -> None:
    document = yaml.safe_load(path.read_text(encoding="utf-8"))
    document["on"] = document.pop(True)  # `on`, as YAML 1.1 reads it
    assert problems(document, GITHUB_WORKFLOW) == []


def test_other_systems_read_all_samples_and_run_tests_that_are_there() -> None:
    text = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    job = yaml.safe_load(text)["jobs"]["elsewhere"]
    done = " ".join(step["run"] for step in job["steps"] if "run" in step)
    samples = {path.name for path in captured.FOLDERS}
    assert set(re.findall(r"for sample in (.*);", done)[0].split()) == samples
    assert all((ROOT / path).is_file() for path in re.findall(r"tests/\S+", done))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_actions_are_pinned_by_hash(path: Path) -> None:
    used = re.findall(r"uses: (\S+)", path.read_text(encoding="utf-8"))
    assert used
    assert [action for action in used if not re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", action)] == []
