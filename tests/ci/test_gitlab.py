"""The GitLab template: its definition, and its script run against a sample repository."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from tests.ci.conftest import sample_repository
from tests.live.forked import Finished
from tests.live.harness import LIMIT_S, LIVE, ROOT, environment
from tests.schemas import GITLAB_CI, problems

JOB = "xladoctor-gate"
TEMPLATE = ROOT / "templates" / "gate.yml"
_INPUT = re.compile(r"\$\[\[ inputs\.(\w+) \]\]")


def documents() -> list[Any]:
    return list(yaml.safe_load_all(TEMPLATE.read_text(encoding="utf-8")))


def filled(node: Any, inputs: Mapping[str, str]) -> Any:
    """The job with its inputs filled in, as GitLab does: in each text separately."""
    if isinstance(node, str):
        return _INPUT.sub(lambda match: inputs[match[1]], node)
    if isinstance(node, list):
        return [filled(part, inputs) for part in node]
    if isinstance(node, dict):
        return {filled(key, inputs): filled(value, inputs) for key, value in node.items()}
    return node


def job(**inputs: str) -> dict[str, Any]:
    header, body = documents()
    defaults = {
        name: declared.get("default") for name, declared in header["spec"]["inputs"].items()
    }
    assert inputs.keys() <= defaults.keys()
    described: dict[str, Any] = filled(body, {**defaults, **inputs})[JOB]
    return described


def plain(variables: Mapping[str, Any]) -> dict[str, str]:
    """Variables as a shell gets them; GitLab expands those without ``expand: false``."""
    assert all(
        variable["expand"] is False for variable in variables.values() if isinstance(variable, dict)
    )
    return {
        name: variable["value"] if isinstance(variable, dict) else variable
        for name, variable in variables.items()
    }


def play(folder: Path, **inputs: str) -> Finished:
    """Run the script as the runner does: all lines in one shell."""
    described = job(**inputs)
    text = "\n".join(described["script"])
    done = subprocess.run(
        ["bash", "-eo", "pipefail", "-c", text],
        cwd=folder,
        env=environment(
            **plain(described["variables"]),
            PATH=f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        ),
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    return Finished(done.returncode, done.stdout, done.stderr)


def test_the_template_is_one_of_gitlab() -> None:
    described = job(command="python train.py")
    # The available schema is older than `expand` in the variables of a job.
    described["variables"] = plain(described["variables"])
    assert problems({JOB: described}, GITLAB_CI) == []


def test_the_header_declares_the_inputs_that_are_used() -> None:
    header, body = documents()
    declared = header["spec"]["inputs"]
    assert header == {"spec": {"inputs": declared}}
    assert set(_INPUT.findall(json.dumps(body))) == set(declared)
    assert [name for name, declaration in declared.items() if "default" not in declaration] == [
        "command"
    ]
    assert all(declaration["description"] for declaration in declared.values())
    assert all(set(declaration) <= {"description", "default"} for declaration in declared.values())


def test_inputs_reach_the_script_as_variables_only() -> None:
    assert not _INPUT.search("\n".join(documents()[1][JOB]["script"]))


def test_the_script_is_sound(tmp_path: Path) -> None:
    script = tmp_path / "script.sh"
    script.write_text("#!/usr/bin/env bash\n" + "\n".join(job(command="true")["script"]))
    # SC2086: the options are split on purpose.
    done = subprocess.run(
        ["shellcheck", "--exclude=SC2086", script], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout


def test_options_are_no_shell(tmp_path: Path) -> None:
    done = play(
        tmp_path, package="", command="true", options="--level $(touch${IFS}owned) `touch owned` *"
    )
    assert done.status == 2
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "owned").exists()


@pytest.mark.live
@pytest.mark.xdist_group("ci")
@LIVE[1]
@pytest.mark.thorough
def test_the_script_leaves_the_reports_that_the_job_names(tmp_path: Path) -> None:
    folder = sample_repository(tmp_path / "repository", "scalar_read")
    described = job(command="")
    done = play(
        folder,
        package="",
        options="--fail-on error --budget max_host_syncs_per_step=0.5",
        command="LENGTH=20\npython train.py --steps $LENGTH",
    )
    assert done.status == 1, done.stderr
    assert "Gate failed: " in done.stdout
    reports = described["artifacts"]["reports"]
    quality = json.loads((folder / reports["codequality"]).read_text())
    assert "XD201" in [finding["check_name"] for finding in quality]
    assert {finding["location"]["path"] for finding in quality} == {"train.py"}
    suites = ElementTree.fromstring((folder / reports["junit"]).read_text())
    assert int(suites.get("tests", 0)) > 20
    (shown,) = described["artifacts"]["paths"]
    assert "XD201" in (folder / shown).read_text()
