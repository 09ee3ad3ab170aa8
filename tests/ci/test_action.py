"""The GitHub action: its definition, and its steps run against a sample repository."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.ci.action import definition, play, scripts
from tests.ci.conftest import Sample, sample_repository
from tests.live.forked import Finished
from tests.live.harness import LIVE, ROOT, run
from tests.schemas import GITHUB_ACTION, problems

READ = "train.py,line=36,title=XD201"


def live(test: Any) -> Any:
    """A test that needs torch_xla; all in one worker, which has the captured run."""
    for mark in (*LIVE, pytest.mark.xdist_group("ci")):
        test = mark(test)
    return test


def xladoctor(*words: str | Path, cwd: Path = ROOT) -> Finished:
    return run(sys.executable, "-m", "xladoctor", *words, cwd=cwd)


def test_the_definition_is_one_of_an_action() -> None:
    assert problems(definition(), GITHUB_ACTION) == []


def test_inputs_reach_scripts_as_variables_only() -> None:
    for name, script in scripts().items():
        assert "${{" not in script, name


def test_actions_that_it_uses_are_pinned_by_hash() -> None:
    text = (ROOT / "action.yml").read_text(encoding="utf-8")
    used = [line for line in text.splitlines() if " uses: " in line]
    assert used
    for line in used:
        reference, _, version = line.partition("@")[2].partition(" # ")
        assert len(reference) == 40
        assert version.startswith("v")


@pytest.mark.parametrize("name", scripts())
def test_shell_parts_are_sound(name: str, tmp_path: Path) -> None:
    path = tmp_path / "step.sh"
    path.write_text(f"#!/usr/bin/env bash\n{scripts()[name]}", encoding="utf-8")
    # SC2153: variables of the step's environment, two of which have similar names.
    done = subprocess.run(
        ["shellcheck", "--exclude=SC2153", path], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout


class TestComment:
    """The step that comments, with a program in the place of ``gh``."""

    def said(self, folder: Path, **env: str) -> tuple[int, str, str]:
        """Exit status, output, and the calls that changed something."""
        (folder / "gh").write_text(
            "#!/bin/bash\n"
            '[[ $2 == --paginate ]] && { echo "$5" >> asked; echo -n "$KNOWN"; exit; }\n'
            'echo "$GH_HOST" "${@:1:$#-1}" >> calls; cp "${!##body=@}" body\nexit "${FAILS:-0}"\n'
        )
        (folder / "gh").chmod(0o755)
        (folder / "report.md").write_text("<!-- xladoctor -->\n## train.py\n")
        given = {
            "PATH": f"{folder}:{os.environ['PATH']}",
            "RUNNER_TEMP": str(folder),
            "GITHUB_SERVER_URL": "https://github.com",
            "GITHUB_REPOSITORY": "o/r",
            "GATE_FILE": str(folder / "report.md"),
            "GATE_COMMAND": ". python train.py ",
            "GATE_NUMBER": "7",
            "GATE_FORK": "false",
            "KNOWN": "",
            **env,
        }
        done = subprocess.run(
            ["bash", "-eo", "pipefail", "-c", scripts()["Comment"]],
            cwd=folder,
            env=given,
            capture_output=True,
            text=True,
            check=False,
        )
        calls = folder / "calls"
        return done.returncode, done.stdout, calls.read_text() if calls.exists() else ""

    @pytest.mark.parametrize("known", ["", "11\n12"], ids=["first", "again"])
    def test_is_made_once_and_then_changed(self, known: str, tmp_path: Path) -> None:
        to = (
            "--method PATCH repos/o/r/issues/comments/11"
            if known
            else "repos/o/r/issues/7/comments"
        )
        done = self.said(tmp_path, KNOWN=known)
        assert done == (0, "", f"github.com api --silent {to} --field\n")
        mark, text = (tmp_path / "body").read_text().splitlines()
        assert mark.startswith("<!-- xladoctor ")
        assert text == "## train.py"
        assert f'startswith("{mark}")' in (tmp_path / "asked").read_text()

    def test_of_another_command_is_another(self, tmp_path: Path) -> None:
        self.said(tmp_path)
        first = (tmp_path / "body").read_text()
        self.said(tmp_path, GATE_COMMAND=". python eval.py ")
        assert (tmp_path / "body").read_text() != first

    @pytest.mark.parametrize(
        "env", [{"GATE_NUMBER": ""}, {"GATE_FORK": "true"}, {"GATE_FILE": "no.md"}], ids=str
    )
    def test_is_left_out(self, env: dict[str, str], tmp_path: Path) -> None:
        assert self.said(tmp_path, **env) == (0, "", "")

    def test_without_permission_does_not_fail_the_job(self, tmp_path: Path) -> None:
        status, said, _ = self.said(tmp_path, FAILS="1")
        assert status == 0
        assert said.startswith("::warning title=xladoctor gate::No comment: ")


@live
class TestOfASickProgram:
    def test_fails_the_job_in_the_last_step_alone(self, sick: Sample) -> None:
        assert {name: step.status for name, step in sick.job.steps.items()} == {
            "Gate": 0,
            "Upload SARIF": 0,
            "Verdict": 1,
        }
        assert sick.job.outputs["status"] == "1"

    def test_runs_the_command_in_a_shell(self, sick: Sample) -> None:
        assert sick.job.log.startswith("before\nmean loss ")
        assert (sick.repository / "train.log").read_text().startswith("mean loss ")

    def test_uploads_what_it_found(self, sick: Sample) -> None:
        file = sick.job.outputs["sarif-file"]
        assert sick.job.steps["Upload SARIF"].inputs == {"sarif_file": file}
        (result,) = json.loads(Path(file).read_text())["runs"][0]["results"]
        assert result["ruleId"] == "XD201"
        place = result["locations"][0]["physicalLocation"]
        assert place["artifactLocation"]["uri"] == "train.py"

    def test_pairs_it_with_the_summary_a_comment_and_annotations(self, sick: Sample) -> None:
        comment = (sick.repository / "comment.md").read_text()
        assert comment.startswith("<!-- xladoctor -->\n")
        assert "XD201" in comment
        assert "`train.py` – failed" in sick.job.summary
        assert f"::error file={READ}" in sick.job.log

    def test_the_log_has_the_report_for_people(self, sick: Sample) -> None:
        assert "Gate failed: 1 new finding" in sick.job.log
        assert "max_host_syncs_per_step: host reads 1 a step" in sick.job.log

    @pytest.mark.thorough
    def test_leaves_the_run_directory_to_be_kept(self, sick: Sample) -> None:
        directory = sick.job.outputs["run-directory"]
        again = xladoctor("analyze", "--format", "json", directory, cwd=sick.repository)
        assert json.loads(again.stdout)["findings"][0]["rule"] == "XD201"

    @pytest.mark.thorough
    def test_passes_what_the_baseline_knows(self, sick: Sample, tmp_path: Path) -> None:
        directory, baseline = sick.job.outputs["run-directory"], tmp_path / "baseline.json"
        wrote = xladoctor(
            "gate", "--update-baseline", "--baseline", baseline, directory, cwd=sick.repository
        )
        assert wrote.status == 0
        job = play(
            sick.repository, tmp_path, {}, run=directory, baseline=str(baseline), install="false"
        )
        assert (job.status, job.outputs["status"]) == (0, "0")
        assert job.outputs["run-directory"] == directory

    @pytest.mark.thorough
    def test_passes_its_options_on(self, sick: Sample, tmp_path: Path) -> None:
        job = play(
            sick.repository,
            tmp_path,
            {},
            run=sick.job.outputs["run-directory"],
            install="false",
            fail_on="never",
            upload_sarif="false",
            sarif_file="made/out.sarif",
            args="--budget max_host_syncs_per_step=0.5\n  --level XD1=off",
        )
        assert list(job.steps) == ["Gate", "Verdict"]
        assert job.status == 1
        assert "Gate failed: " in job.log
        assert job.outputs["sarif-file"] == str(sick.repository / "made" / "out.sarif")
        assert Path(job.outputs["sarif-file"]).is_file()


@live
@pytest.mark.thorough
def test_a_healed_program_passes(tmp_path: Path) -> None:
    folder = tmp_path / "repository"
    folder.mkdir()
    sample_repository(folder / "inner", "scalar_read_healed")
    job = play(
        folder,
        tmp_path,
        {},
        install="false",
        command="python train.py --steps 20",
        working_directory="inner",
        args="--budget max_host_syncs_per_step=0",
    )
    assert job.status == 0, job.log
    assert job.outputs["status"] == "0"
    assert "Gate passed: " in job.log
    assert "::error" not in job.log
    assert "train.py" in job.summary


def not_judged(tmp_path: Path, **inputs: str) -> str:
    job = play(tmp_path, tmp_path, {}, install="false", comment_file="comment.md", **inputs)
    assert job.status == 2
    assert job.outputs["status"] == "2"
    assert job.outputs["sarif-file"] == ""
    assert "Upload SARIF" not in job.steps
    assert "::error title=xladoctor gate::Not judged (exit status 2)" in job.log
    assert "not judged" in job.summary
    comment = (tmp_path / "comment.md").read_text()
    assert comment == f"<!-- xladoctor -->\n{job.summary}"
    return job.log


def test_a_run_that_is_not_there_is_not_judged(tmp_path: Path) -> None:
    assert "no such file or directory" in not_judged(tmp_path, run="nowhere")


def test_a_command_that_fails_is_not_judged(tmp_path: Path) -> None:
    assert "the command ended with status 3" in not_judged(tmp_path, command="exit 3")


def test_inputs_are_no_shell(tmp_path: Path) -> None:
    hostile = "$(touch owned) `touch owned`; touch owned"
    not_judged(tmp_path, run=hostile, args=hostile, config=hostile, baseline=hostile)
    assert not (tmp_path / "owned").exists()


@pytest.mark.parametrize("inputs", [{}, {"run": "a", "command": "b"}], ids=["neither", "both"])
def test_wants_a_command_or_a_run(inputs: dict[str, str], tmp_path: Path) -> None:
    job = play(tmp_path, tmp_path, {}, install="false", **inputs)
    assert job.status == 2
    assert (
        "::error title=xladoctor gate::Give either the input command or the input run." in job.log
    )


@pytest.mark.parametrize(
    ("present", "wanted", "extra"),
    [(True, "true", ""), (False, "true", "[xla]"), (False, "false", "")],
)
def test_installs_torch_only_where_it_is_missing_and_wanted(
    present: bool, wanted: str, extra: str, tmp_path: Path
) -> None:
    stub = tmp_path / "python"
    stub.write_text(
        f'#!/bin/bash\n[[ $1 == -m ]] && echo "$@"\n[[ $1 == -m || {int(present)} = 1 ]]'
    )
    stub.chmod(0o755)
    path = f"{tmp_path}:/usr/bin:/bin"
    job = play(tmp_path, tmp_path, {"PATH": path}, run="nowhere", install_xla=wanted)
    assert job.steps["Install xladoctor"].log == (
        f"-m pip install --quiet --disable-pip-version-check {ROOT}{extra}\n"
    )


@pytest.mark.install
@pytest.mark.xdist_group("install")
@pytest.mark.thorough
def test_installs_itself_and_judges_a_run_without_torch(installed: Path, tmp_path: Path) -> None:
    path = f"{installed}:/usr/bin:/bin"
    run = str(ROOT / "sample_traces" / "recompiling")
    job = play(tmp_path, tmp_path, {"PATH": path}, run=run)
    assert list(job.steps) == ["Install xladoctor", "Gate", "Upload SARIF", "Verdict"]
    assert job.outputs["status"] == "1", job.log
    assert "XD101" in job.summary
