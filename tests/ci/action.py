"""Runs a composite action as GitHub's runner does, as far as this one needs it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tests.live.harness import LIMIT_S, ROOT, environment

_EXPRESSION = re.compile(r"\$\{\{\s*(.+?)\s*\}\}")
_PATH = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
_COMPARED = re.compile(r"(\S+) (==|!=) '([^']*)'")


def definition() -> dict[str, Any]:
    """``action.yml``."""
    text = (ROOT / "action.yml").read_text(encoding="utf-8")
    loaded: dict[str, Any] = yaml.safe_load(text)
    return loaded


def scripts() -> dict[str, str]:
    """The shell scripts, by step name."""
    return {step["name"]: step["run"] for step in definition()["runs"]["steps"] if "run" in step}


@dataclass
class Step:
    """A finished step: its exit status and log, or the inputs of the action that it uses."""

    status: int = 0
    log: str = ""
    inputs: dict[str, str] | None = None


@dataclass
class Job:
    """The result of the action."""

    steps: dict[str, Step] = field(default_factory=dict)
    outputs: dict[str, str] = field(default_factory=dict)
    summary: str = ""

    @property
    def status(self) -> int:
        """The first status that is not 0, which fails the job."""
        return next((step.status for step in self.steps.values() if step.status), 0)

    @property
    def log(self) -> str:
        """What the steps wrote."""
        return "".join(step.log for step in self.steps.values())


def play(repository: Path, temporary: Path, env: Mapping[str, str], **inputs: str) -> Job:
    """Run the steps of the action in order.

    Args:
        repository: the workspace.
        temporary: the runner's temporary folder, which also holds its files.
        env: more environment variables of the job.
        inputs: with ``_`` for ``-``.
    """
    action, job = definition(), Job()
    given = {name.replace("_", "-"): value for name, value in inputs.items()}
    assert given.keys() <= action["inputs"].keys()
    context = {
        f"inputs.{name}": given.get(name, declared.get("default", ""))
        for name, declared in action["inputs"].items()
    }
    summary = temporary / "summary.md"
    for step in action["runs"]["steps"]:
        if not _is_due(step.get("if", ""), context, failed=bool(job.status)):
            continue
        if "uses" in step:
            job.steps[step["name"]] = Step(inputs=_resolved(step.get("with", {}), context))
            continue
        output = temporary / f"output-{len(job.steps)}"
        output.touch()
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", _script(step["run"], temporary)],
            cwd=repository / _text(step.get("working-directory", "."), context),
            env={
                **environment(PATH=_PATH),
                **env,
                **_resolved(step.get("env", {}), context),
                "GITHUB_ACTIONS": "true",
                "GITHUB_ACTION_PATH": str(ROOT),
                "GITHUB_WORKSPACE": str(repository),
                "GITHUB_OUTPUT": str(output),
                "GITHUB_STEP_SUMMARY": str(summary),
                "RUNNER_TEMP": str(temporary),
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
        job.steps[step["name"]] = Step(done.returncode, done.stdout)
        for line in output.read_text(encoding="utf-8").splitlines():
            name, _, value = line.partition("=")
            context[f"steps.{step['id']}.outputs.{name}"] = value
    job.outputs = {
        name: _text(declared["value"], context) for name, declared in action["outputs"].items()
    }
    job.summary = summary.read_text(encoding="utf-8") if summary.exists() else ""
    return job


def _script(text: str, temporary: Path) -> str:
    path = temporary / f"script-{len(list(temporary.glob('script-*')))}.sh"
    path.write_text(text, encoding="utf-8")
    return os.fspath(path)


def _is_due(condition: str, context: Mapping[str, str], *, failed: bool) -> bool:
    """A condition without a function of the job's status implies that nothing failed."""
    inner = _EXPRESSION.fullmatch(condition)
    terms = inner[1].split(" && ") if inner else []
    if "!cancelled()" in terms:
        terms.remove("!cancelled()")
    elif failed:
        return False
    return all(_holds(term, context) for term in terms)


def _holds(term: str, context: Mapping[str, str]) -> bool:
    compared = _COMPARED.fullmatch(term)
    assert compared, f"the tests do not know the condition {term}"
    name, operator, value = compared.groups()
    return (context.get(name, "") == value) is (operator == "==")


def _resolved(texts: Mapping[str, Any], context: Mapping[str, str]) -> dict[str, str]:
    return {name: _text(str(value), context) for name, value in texts.items()}


def _text(text: str, context: Mapping[str, str]) -> str:
    return _EXPRESSION.sub(lambda match: context.get(match[1], ""), text)
