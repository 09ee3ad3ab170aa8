"""``xladoctor fix`` on programs that ran: shown, written, refused, and tried."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.live.harness import LIVE, ON_DEVICE, capture, environment, run, write
from tests.schemas import SARIF, problems

pytestmark = [*LIVE, pytest.mark.xdist_group("fix")]

STEPS = 24
LONG_AGO = (1_000_000_000, 1_000_000_000)
PROGRAM = f"""{ON_DEVICE}
model = torch.nn.Linear(8, 8).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
torch.manual_seed(0)
for _ in model.parameters():
    torch.nn.init.constant_(_, 0.1)
for step in range({STEPS}):
    optimizer.zero_grad()
    loss = model(weights * 0.01 * step).square().mean()
    loss.backward()
    optimizer.step()
print(f"loss {{loss.item():.4f}}")
"""
PATCHED = PROGRAM.replace("    optimizer.step()\n", "    optimizer.step()\n    torch_xla.sync()\n")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with a run of its program."""
    project = tmp_path_factory.mktemp("project")
    program = write(project, "train.py", PROGRAM)
    os.utime(program, LONG_AGO)
    assert capture(project / "out", program, cwd=project).finished.status == 0
    return project


@pytest.fixture
def project(recorded: Path) -> Path:
    """The project as it was after the run."""
    program = write(recorded, "train.py", PROGRAM)
    os.utime(program, LONG_AGO)
    return recorded


def fix(project: Path, *words: str, programs: int = 1) -> subprocess.CompletedProcess[str]:
    command = (sys.executable, "-m", "xladoctor", "fix", "out", *words)
    done = run(*command, cwd=project, programs=programs)
    return subprocess.CompletedProcess(words, done.status, done.stdout, done.stderr)


def test_a_diff_is_shown_and_nothing_is_written(project: Path) -> None:
    done = fix(project)
    assert done.returncode == 0, done.stderr
    assert "XD301 train.py:" in done.stdout
    assert "\n+    torch_xla.sync()\n" in done.stdout
    assert "1 patch" in done.stdout
    assert (project / "train.py").read_text() == PROGRAM


def test_the_diff_applies_with_git(project: Path, tmp_path: Path) -> None:
    shutil.copy2(project / "train.py", tmp_path)
    (patch,) = json.loads(fix(project, "--format", "json").stdout)["patches"]
    assert patch["effect"] == "safe"
    applied = ["git", "apply", "-"]
    subprocess.run(applied, cwd=tmp_path, input=patch["diff"], text=True, check=True)
    assert (tmp_path / "train.py").read_text() == PATCHED


def test_an_untried_patch_is_written_on_demand_and_a_changed_file_is_refused_afterwards(
    project: Path,
) -> None:
    done = fix(project, "--write")
    assert done.returncode == 1
    assert "1 patch is not written: not verified" in done.stderr
    assert "--verify --write" in done.stderr
    assert (project / "train.py").read_text() == PROGRAM
    done = fix(project, "--write", "--unverified")
    assert done.returncode == 0
    assert done.stderr == "xladoctor: train.py: changed for XD301\n"
    assert (project / "train.py").read_text() == PATCHED
    again = fix(project)
    assert again.returncode == 1
    assert "train.py has changed since the run: run the program again" in " ".join(
        again.stdout.split()
    )


def test_a_file_outside_of_the_project_is_refused(project: Path, tmp_path: Path) -> None:
    done = fix(project, "--root", str(tmp_path))
    assert done.returncode == 1
    assert "is outside of the project" in " ".join(done.stdout.split())
    assert "+++" not in done.stdout


def test_evidence_that_names_no_files_of_this_machine_is_an_error(tmp_path: Path) -> None:
    text = tmp_path / "metrics.txt"
    text.write_text("Metric: CompileTime\n  TotalSamples: 3\n  Accumulator: 01s000ms000.000us\n")
    done = run(sys.executable, "-m", "xladoctor", "fix", str(text), cwd=tmp_path)
    assert done.status == 2
    assert "is not a run of `xladoctor run`" in done.stderr


def test_a_report_shows_the_patch_as_long_as_the_file_is_as_it_ran(project: Path) -> None:
    analyze = (sys.executable, "-m", "xladoctor", "analyze", "out")
    shown = run(*analyze, cwd=project).stdout
    assert "fix  End each iteration of the loop in line" in shown
    assert "\n    +    torch_xla.sync()\n" in shown
    assert "xladoctor fix --verify out" in shown
    (project / "train.py").write_text(f"{PROGRAM}print('more')\n")
    changed = run(*analyze, cwd=project).stdout
    assert "+    torch_xla.sync()" not in changed
    assert "fix  Add torch_xla.sync()" in changed


def test_the_gate_suggests_safe_patches(project: Path, tmp_path: Path) -> None:
    sarif, page = tmp_path / "gate.sarif", tmp_path / "gate.md"
    formats = ("--format", f"sarif={sarif}", "--format", f"markdown={page}")
    gate = ("gate", "out", "--suggest", *formats)
    done = run(sys.executable, "-m", "xladoctor", *gate, cwd=project)
    assert done.status == 1, done.stderr
    log = json.loads(sarif.read_text())
    assert problems(log, SARIF) == []
    (result,) = [each for each in log["runs"][0]["results"] if each["ruleId"] == "XD301"]
    (change,) = result["fixes"][0]["artifactChanges"]
    (replacement,) = change["replacements"]
    end = PROGRAM.splitlines().index("    optimizer.step()") + 2
    at = {"startLine": end, "startColumn": 1, "endLine": end, "endColumn": 1}
    assert replacement["deletedRegion"] == at
    assert replacement["insertedContent"]["text"] == "    torch_xla.sync()\n"
    assert change["artifactLocation"]["uri"].endswith("train.py")
    assert "```diff\n--- a/train.py" in page.read_text()


def test_ctrl_c_leaves_nothing(project: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "xladoctor", "fix", "out", "--verify"]
    process = subprocess.Popen(
        command,
        cwd=project,
        env=environment(TMPDIR=str(tmp_path)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    assert process.stderr.readline().startswith("xladoctor: 1 patch: 6 runs (")
    assert process.stderr.readline().startswith("xladoctor: run 1 of 6, about ")
    assert [*tmp_path.glob("xladoctor-fix-*")]
    process.send_signal(signal.SIGINT)
    assert process.communicate()[1] == "xladoctor: interrupted\n"
    assert process.returncode == 130
    assert [*tmp_path.iterdir()] == []
    assert (project / "train.py").read_text() == PROGRAM


@pytest.mark.thorough
def test_a_patch_that_was_tried_holds(project: Path) -> None:
    done = fix(project, "--verify", "--pairs", "1", "--format", "json", programs=4)
    (patch,) = json.loads(done.stdout)["patches"]
    assert patch["proof"]["outcome"] == "verified", patch["proof"]
    assert done.returncode == 0
    assert patch["proof"]["same"] == ["standard output", "final parameters"]
    assert patch["proof"]["counts"]["barriers_per_step"]["after"] == 1
    assert patch["proof"]["times"]["value"] > 1
    assert (project / "train.py").read_text() == PROGRAM
    report = run(sys.executable, "-m", "xladoctor", "analyze", "out", "-v", cwd=project)
    assert "test A patch (end each iteration of the loop" in report.stdout
    assert "times as fast" in " ".join(report.stdout.split())
    assert fix(project, "--write").returncode == 0
    assert (project / "train.py").read_text() == PATCHED
