"""What reads evidence on Windows, as far as a system can be told that it is like it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.command import ENVIRONMENT, ROOT
from tests.report.captured import PATHS

SAMPLES = sorted(PATHS)


def without_posix(*words: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(Path(__file__).with_name("without_posix.py")), *words],
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
        env={**ENVIRONMENT, "PYTHONPATH": str(ROOT)},
        timeout=120,
    )


@pytest.mark.parametrize("sample", SAMPLES)
def test_evidence_is_read_and_a_page_is_written(sample: str, tmp_path: Path) -> None:
    """The second time the diagnosis is one that was kept."""
    page = tmp_path / "report.html"
    path = PATHS[sample]
    written = without_posix("report", path, "--html", str(page))
    assert (written.returncode, written.stderr) == (0, "")
    assert "</html>" in page.read_text(encoding="utf-8")
    shown = without_posix("analyze", path)
    assert (shown.returncode, shown.stderr) == (0, "")
    usual = subprocess.run(
        [sys.executable, "-m", "xladoctor", "analyze", path],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        env=ENVIRONMENT,
    )
    assert shown.stdout == usual.stdout


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (["explain", "XD101"], 0),
        (["compare", "sample_traces/scalar_read", "sample_traces/recompiling"], 3),
        (["compilations", "sample_traces/recompiling"], 0),
        (["query", "sample_traces/recompiling", "SELECT count(*) FROM step"], 0),
    ],
)
def test_other_commands_that_read_work_too(words: list[str], status: int) -> None:
    done = without_posix(*words)
    assert (done.returncode, done.stderr) == (status, "")


@pytest.mark.parametrize("command", ["run", "gate", "capture", "env", "stacks", "tpu-check"])
def test_what_needs_posix_says_so(command: str) -> None:
    done = without_posix(command, "x")
    assert done.returncode == 2
    assert done.stderr.startswith(f"xladoctor: {command} ")
    assert "analyze" in done.stderr


def test_lines_of_reports_may_end_as_on_windows(tmp_path: Path) -> None:
    texts = []
    for end in (b"\n", b"\r\n"):
        folder = tmp_path / str(len(end))
        folder.mkdir()
        for part in ("metrics", "log"):
            content = (ROOT / PATHS[part]).read_bytes()
            (folder / Path(PATHS[part]).name).write_bytes(content.replace(b"\n", end))
        texts.append(without_posix("analyze", ".", "-v", cwd=folder).stdout)
        shutil.rmtree(folder)
    assert texts[0] == texts[1]
    assert "XD201" in texts[0]
