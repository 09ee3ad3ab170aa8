"""``xladoctor report``, and pages wherever a format is chosen."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.cli.forked import called
from tests.hostile.corpus import run_directory
from tests.report.test_html import Page, assert_safe

SAMPLES = Path(__file__).parents[2] / "sample_traces"
PICTURES = ("Steps over time", "Steps, thread by thread", "Compilations by call site")


def page(*arguments: str | Path, file: Path, status: int = 0) -> str:
    done = called(*arguments)
    assert done.returncode == status, done.stderr
    assert done.stdout == ""
    text = file.read_text(encoding="utf-8")
    assert_safe(text)
    return Page(text).text


def test_run_directory(tmp_path: Path) -> None:
    file = tmp_path / "new" / "a=b.html"
    text = page("report", SAMPLES / "recompiling", "--html", file, file=file)
    for title in (*PICTURES, "Two of the graphs, side by side", "Devices", "Environment"):
        assert title in text
    assert "finding 1: XD101" in text
    assert file.stat().st_size < 500_000
    again = tmp_path / "again.html"
    page("analyze", SAMPLES / "recompiling", "--format", f"html={again}", file=again)
    assert again.read_bytes() == file.read_bytes()


def test_chrome_trace(tmp_path: Path) -> None:
    file = tmp_path / "p.html"
    text = page("report", SAMPLES / "launch_bound", "--html", file, file=file)
    assert "/device:GPU:0, busy 20%" in text
    assert "Compilations by call site" not in text


def test_metrics_report_alone_has_no_pictures(tmp_path: Path) -> None:
    (metrics,) = SAMPLES.glob("scalar_read/process-*/metrics.txt")
    shutil.copy(metrics, tmp_path / "m.txt")
    file = tmp_path / "p.html"
    text = page("report", tmp_path / "m.txt", "--html", file, file=file)
    assert "Not judged, and why" in text
    assert [title for title in PICTURES if title in text] == []


def test_gate_and_comparison(tmp_path: Path) -> None:
    file = tmp_path / "p.html"
    done = called("gate", SAMPLES / "scalar_read", "--format", f"html={file}")
    assert done.returncode == 1
    assert "Gate failed" in Page(file.read_text(encoding="utf-8")).text
    a, b = SAMPLES / "scalar_read", SAMPLES / "recompiling"
    text = page("compare", a, b, "--format", f"html={file}", file=file, status=3)
    assert "Not comparable: the runs are of different programs." in text
    assert "Steps of B over time" in text


def test_names_that_inject(tmp_path: Path) -> None:
    directory, file = run_directory(tmp_path / "hostile"), tmp_path / "p.html"
    page("report", directory, "--html", file, file=file)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["report", "nothing", "--html", "p.html"], "no such file or directory"),
        (["report", str(SAMPLES / "scalar_read"), "--html", "/dev/full/p.html"], "cannot write"),
        (["report", str(SAMPLES / "scalar_read")], "--html"),
    ],
    ids=["input", "output", "no file"],
)
def test_what_cannot_be_done_is_said(arguments: list[str], said: str, tmp_path: Path) -> None:
    done = called(*arguments, folder=tmp_path)
    assert done.returncode == 2
    assert said in done.stderr.lower()
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []
