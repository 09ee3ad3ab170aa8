"""``xladoctor compare`` from outside, on the sample traces."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import jsonschema
import pytest

from tests.cli.command import REPORT, ROOT
from tests.cli.forked import called
from xladoctor.report.comparison_json import schema

SAMPLES = ROOT / "sample_traces"


def sample(name: str) -> str:
    return str(SAMPLES / name)


def test_run_is_like_itself() -> None:
    done = called("compare", sample("scalar_read"), sample("scalar_read"))
    assert (done.returncode, done.stderr) == (0, "")
    assert "B is like A" in done.stdout
    assert "Comparable: program, device" in done.stdout
    assert "1 in both (XD201)" in done.stdout
    assert all(len(line) <= 80 for line in done.stdout.splitlines())


@pytest.mark.thorough
def test_other_program_is_not_judged_unless_asked() -> None:
    done = called("compare", sample("scalar_read"), sample("recompiling"))
    assert done.returncode == 3
    assert "different programs" in done.stdout
    asked = called("compare", sample("scalar_read"), sample("recompiling"), "--despite", "script")
    assert asked.returncode == 1
    assert "B is worse: 1 new finding, 1 fixed finding" in " ".join(asked.stdout.split())
    never = called(
        "compare",
        sample("scalar_read"),
        sample("recompiling"),
        "--despite",
        "script",
        "--fail-on",
        "never",
    )
    assert never.returncode == 0


def test_run_beside_its_own_metrics_report(tmp_path: Path) -> None:
    (metrics,) = SAMPLES.glob("scalar_read/process-*/metrics.txt")
    shutil.copy(metrics, tmp_path / "m.txt")
    done = called("compare", sample("scalar_read"), tmp_path / "m.txt")
    assert done.returncode == 3
    assert "As far as is known, nothing is worse" in " ".join(done.stdout.split())
    assert " fixed " not in done.stdout
    assert " new " not in done.stdout


def test_json_and_markdown_beside_the_terminal(tmp_path: Path) -> None:
    done = called(
        "compare",
        sample("scalar_read"),
        sample("scalar_read"),
        "--format",
        "terminal",
        "--format",
        f"json={tmp_path / 'c.json'}",
        "--format",
        f"markdown={tmp_path / 'c.md'}",
    )
    assert done.stdout.startswith("xladoctor compare  programs/scalar_read.py · CPU")
    loaded = json.loads((tmp_path / "c.json").read_text())
    jsonschema.validate(loaded, schema())
    assert loaded["verdict"]["outcome"] == "same"
    assert (tmp_path / "c.md").read_text().startswith("<!-- xladoctor compare -->\n### ")


def test_pasted_reports(tmp_path: Path) -> None:
    (metrics,) = SAMPLES.glob("scalar_read/process-*/metrics.txt")
    reads = metrics.read_text(encoding="utf-8")
    of_reads = r"(?m)^(Metric: (TransferFromDeviceTime|InboundData)|Counter: aten::.*)\n(  .*\n)*"
    (tmp_path / "a.txt").write_text(re.sub(of_reads, "", reads))
    (tmp_path / "b.txt").write_text(reads)
    done = called("compare", "a.txt", "b.txt", folder=tmp_path)
    assert done.returncode == 1
    assert "1 new finding" in done.stdout
    assert called("compare", "b.txt", "a.txt", folder=tmp_path).returncode == 0


def test_limited_time_that_cannot_be_judged_is_status_3(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(REPORT)
    done = called("compare", "a.txt", "a.txt", "--max-slowdown", "5%", folder=tmp_path)
    assert done.returncode == 3


@pytest.mark.parametrize(
    "arguments",
    [
        ["a.txt"],
        ["a.txt", "nowhere"],
        ["a.txt", "a.txt", "--format", "sarif"],
        ["a.txt", "a.txt", "--max-slowdown", "much"],
        ["a.txt", "a.txt", "--max-slowdown", "-1%"],
        ["a.txt", "a.txt", "--despite", "luck"],
    ],
    ids=" ".join,
)
def test_wrong_usage_is_status_2(arguments: list[str], tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(REPORT)
    done = called("compare", *arguments, folder=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr
    assert "Traceback" not in done.stderr
