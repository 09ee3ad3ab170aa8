"""The examples in the pages on the gate, CI and configuration are valid."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from tests.ci.action import definition
from tests.ci.test_gitlab import JOB, documents, job, plain
from tests.live.harness import ROOT
from tests.schemas import GITHUB_WORKFLOW, GITLAB_CI, problems
from xladoctor.configuration.interface import Configuration, ConfigurationError
from xladoctor.configuration.load import load_configuration, read_toml
from xladoctor.configuration.schema import schema
from xladoctor.configuration.selection import select
from xladoctor.diagnosis.pack import load_rules
from xladoctor.gate import acknowledged

PRE_COMMIT_CONFIG = "https://json.schemastore.org/pre-commit-config.json"
PAGES = (
    "docs/gate.md",
    "docs/ci.md",
    "docs/gate-in-ten-minutes.md",
    "docs/configuration.md",
    "README.md",
)
_FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_NAMED = re.compile(r"# (\S+)\n")


def examples(language: str) -> list[Any]:
    """Code blocks of the pages, each with the file that its first line names."""
    blocks: list[Any] = []
    for page in PAGES:
        for fence in _FENCE.finditer((ROOT / page).read_text(encoding="utf-8")):
            if fence[1] == language:
                named = _NAMED.match(fence[2])
                file = named[1] if named else "pyproject.toml"
                blocks.append(pytest.param(file, fence[2], id=f"{page}-{file}-{len(blocks)}"))
    return blocks


def workflows() -> list[str]:
    """The texts of the workflows; the first has one job for one program."""
    return [block.values[1] for block in examples("yaml") if ".github" in block.values[0]]


@pytest.mark.parametrize(("file", "text"), examples("toml"))
def test_toml_is_read_by_what_reads_it(file: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / Path(file).name
    path.write_text(text, encoding="utf-8")
    if path.name == "acknowledged.toml":
        read = acknowledged.read(path)
        assert read.findings
        assert read.budgets
        return
    assert path.name in ("pyproject.toml", "xladoctor.toml")
    configured = load_configuration(start=tmp_path)
    assert configured.source == path
    select(load_rules(), configured.settings, path.name)
    document = tomllib.loads(text)
    jsonschema.validate(document["tool"]["xladoctor"] if "tool" in document else document, schema())


@pytest.mark.parametrize(("file", "text"), examples("yaml"))
def test_yaml_is_valid(file: str, text: str) -> None:
    published = {
        ".github/workflows": GITHUB_WORKFLOW,
        ".gitlab-ci.yml": GITLAB_CI,
        ".pre-commit-config.yaml": PRE_COMMIT_CONFIG,
    }[str(Path(file).parent) if "/" in file else file]
    document = yaml.safe_load(text)
    if file == ".gitlab-ci.yml":
        document = _as_merged(document)
    if True in document:  # `on`, as YAML 1.1 reads it
        document["on"] = document.pop(True)
    assert problems(document, published) == []


def _as_merged(document: Any) -> Any:
    """The pipeline as GitLab sees it, with the template's job in it.

    The available schema is older than components and inputs of an include.
    """
    for include in document.pop("include", []):
        assert include["inputs"].keys() <= documents()[0]["spec"]["inputs"].keys()
        assert include["component"].endswith("/gate@0.2.0")
    template = job(command="true")
    template["variables"] = plain(template["variables"])
    return {JOB: {**template, **document.pop(JOB)}, **document}


@pytest.mark.parametrize("text", workflows())
def test_workflows_use_the_action_as_it_is(text: str) -> None:
    for job_ in yaml.safe_load(text)["jobs"].values():
        for step in job_["steps"]:
            if "/xladoctor@" in step.get("uses", ""):
                assert step["with"].keys() <= definition()["inputs"].keys()
    used = re.findall(r"steps\.xladoctor\.outputs\.([\w-]+)", text)
    assert set(used) <= definition()["outputs"].keys()


@pytest.mark.parametrize("text", workflows())
def test_actions_of_others_are_pinned_by_hash(text: str) -> None:
    others = [
        line for line in text.splitlines() if "uses: " in line and "OWNER/xladoctor" not in line
    ]
    assert others
    for line in others:
        assert re.search(r"@[0-9a-f]{40} # v\d", line), line


def test_the_page_lists_inputs_and_outputs_of_the_action() -> None:
    page = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
    github = page.partition("## GitHub\n")[2].partition("## GitLab\n")[0]
    listed = [
        name
        for row in re.findall(r"^\| (`.*?) \|", github, re.MULTILINE)
        for name in re.findall(r"`([\w-]+)`", row)
    ]
    assert listed == [*definition()["inputs"], *definition()["outputs"]]


@pytest.mark.parametrize(
    "text",
    [
        "unknown = 1",
        "[gate]\nfail = 'error'",
        "[gate.budgets]\nmax_steps = 1",
        "[gate.budgets]\nmax_step_ms = -1",
        "[gate.budgets]\nmax_peak_memory = '2 stones'",
        "[levels]\nXD2 = 'never'",
        "[levels]\ne501 = 'off'",
        "select = ['201']",
        "[gate.scripts.'a.py']\nmax_steps = 1",
    ],
)
def test_schema_and_reader_refuse_the_same(text: str, tmp_path: Path) -> None:
    path = tmp_path / "xladoctor.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigurationError):
        read_toml(path, (), Configuration)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(tomllib.loads(text), schema())


@pytest.mark.parametrize("size", ["800MB", "2 GiB", "2GiB", "1.5k", "17", "100B", 5, 0.5])
def test_schema_and_reader_take_the_same_sizes(size: object, tmp_path: Path) -> None:
    text = f"[gate.budgets]\nmax_peak_memory = {size!r}"
    path = tmp_path / "xladoctor.toml"
    path.write_text(text, encoding="utf-8")
    assert read_toml(path, (), Configuration).gate.budgets.max_peak_memory is not None
    jsonschema.validate(tomllib.loads(text), schema())


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(schema())
