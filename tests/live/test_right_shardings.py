"""Programs that divide their work as their authors mean to: no rule complains of what is sent."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.live.harness import LIVE, doctor, python
from xladoctor.diagnosis.pack import load_rules

#: Each with its kinds, which are its functions without arguments.
PROGRAMS = sorted(Path(__file__).with_name("right_shardings").glob("*.py"))
OF_DIVISION = {rule.id for rule in load_rules() if re.fullmatch("XD64[0-5]", rule.id)}

pytestmark = [*LIVE, pytest.mark.thorough]


@pytest.mark.parametrize(
    ("program", "kind"),
    [
        pytest.param(program, kind, id=f"{program.stem}-{kind}")
        for program in PROGRAMS
        for kind in re.findall(r"^def (\w+)\(\):", program.read_text(encoding="utf-8"), re.M)
    ],
)
def test_a_right_division_raises_no_alarm(program: Path, kind: str, tmp_path: Path) -> None:
    run = tmp_path / "run"
    ended = doctor("--quiet", "--output", run, program, kind)
    assert ended.status == 0, ended.stderr
    rules = json.loads((run / "diagnosis.json").read_text())["rules"]
    query = "SELECT count(*) AS communications FROM communication"
    asked = python("-m", "xladoctor", "query", run, query, "--format", "json")

    assert OF_DIVISION & set(rules["fired"]) == set()
    assert json.loads(asked.stdout) != [{"communications": 0}]
