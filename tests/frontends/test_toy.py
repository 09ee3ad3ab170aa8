"""A frontend is one folder and one line in one list: that of a framework which is made up here.

Its programs are captured, read, judged and reported, and so is what it prints.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

TOY = Path(__file__).parent / "toy"
_COMMAND = f"""
from xladoctor.recording.bootstrap._xladoctor.frontend import FRONTENDS
FRONTENDS["toyarrays"] = {str(TOY)!r}
from xladoctor.cli.main import main
main()
"""


def xladoctor(*arguments: str, given: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", _COMMAND, *arguments]
    return subprocess.run(command, input=given, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def diagnosis(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    run = tmp_path_factory.mktemp("toy") / "run"
    done = xladoctor(
        "run",
        "--quiet",
        "--format",
        f"json={run.parent / 'report.json'}",
        "-o",
        str(run),
        str(TOY / "program.py"),
    )
    assert done.stdout.startswith("seen 1830.0"), done.stderr
    loaded: dict[str, Any] = json.loads((run.parent / "report.json").read_text())
    return loaded


def test_the_program_is_captured(diagnosis: dict[str, Any]) -> None:
    assert diagnosis["run"]["frontend"] == "toyarrays"


def test_the_read_is_found_at_its_line(diagnosis: dict[str, Any]) -> None:
    found = {each["rule"]: each for each in diagnosis["findings"]}
    place = found["XD201"]["locations"][0]
    assert (Path(place["file"]).name, place["line"]) == ("program.py", 9)


def test_what_happened_is_said_in_the_framework_s_words(diagnosis: dict[str, Any]) -> None:
    texts = ("title", "message", "why", "fix", "example")
    said = [diagnosis["verdict"], *([each[key] for key in texts] for each in diagnosis["findings"])]
    assert "torch" not in json.dumps(said)


def test_its_log_is_read() -> None:
    log = "toyarrays: compiled step in 52 ms\n" * 40
    done = xladoctor("analyze", "-", "--format", "json", given=log)
    diagnosis = json.loads(done.stdout)
    assert diagnosis["run"]["frontend"] == "toyarrays"


def test_what_is_expected_names_its_log() -> None:
    done = xladoctor("analyze", "-", given="nothing of the kind\n")
    assert done.returncode == 2
    assert "TOYARRAYS_LOG=1" in done.stderr
