"""The same program judged several times: the same findings and the same counts each time."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.live.harness import EXAMPLES, LIVE, line_of, run
from xladoctor.diagnosis.pack import load_rules

pytestmark = LIVE

HERE = Path(__file__).parent / "determinism"
#: A program each, with the rules that must fire and the lines that they name.
PROGRAMS = {
    HERE / "loader_workers.py": {"XD201": "correct += "},
    HERE / "launched.py": {"XD101": "inputs = ", "XD210": "print(index"},
    EXAMPLES / "missing_lowering.py": {"XD402": "loss = huber_loss"},
}


BY_TIME = {rule.id for rule in load_rules() if rule.judged_by == "time"}


def facts(diagnosis: dict[str, Any]) -> dict[str, Any]:
    """What must not differ: all that is not measured in seconds."""
    identity = (
        "rule",
        "fingerprint",
        "severity_by_counts",
        "count",
        "per_step",
        "processes",
        "locations",
    )
    findings = [
        {key: finding[key] for key in identity}
        for finding in diagnosis["findings"]
        if finding["rule"] not in BY_TIME
    ]
    rules = {name: sorted(set(ids) - BY_TIME) for name, ids in diagnosis["rules"].items()}
    counts = {count["name"]: count for count in diagnosis["counts"]}
    del counts["step_ms"]
    return {
        "findings": sorted(findings, key=lambda finding: str(finding["fingerprint"])),
        "counts": counts,
        "rules": rules,
        "steps": diagnosis["steps"]["count"],
    }


@pytest.mark.thorough
@pytest.mark.parametrize("times", [2, pytest.param(10, marks=pytest.mark.thorough)])
@pytest.mark.parametrize(
    "program",
    [
        pytest.param(
            program, id=program.stem, marks=[pytest.mark.thorough] * (program.parent == HERE)
        )
        for program in PROGRAMS
    ],
)
def test_runs_give_the_same_findings_and_counts(program: Path, times: int, tmp_path: Path) -> None:
    done = run(
        sys.executable,
        "-m",
        "xladoctor",
        "gate",
        "--runs",
        str(times),
        "-o",
        tmp_path / "out",
        "--format",
        f"json={tmp_path / 'gate.json'}",
        "--",
        sys.executable,
        program,
        env={"XLA_FLAGS": "--xla_backend_optimization_level=0"},
        programs=times,
    )

    assert done.status == 1, done.stderr
    runs = [
        json.loads((tmp_path / f"out-{number}" / "diagnosis.json").read_text())
        for number in range(1, times + 1)
    ]
    for diagnosis in runs[1:]:
        assert facts(diagnosis) == facts(runs[0])
    named = {
        (finding["rule"], place["line"])
        for finding in runs[0]["findings"]
        for place in finding["locations"][:1]
    }
    wanted = {(rule, line_of(program, text)) for rule, text in PROGRAMS[program].items()}
    assert wanted <= named
    decided = json.loads((tmp_path / "gate.json").read_text())
    for repeated in decided["gate"]["runs"]:
        assert len(repeated["values"]) == times
        if repeated["name"] != "step_ms":
            assert set(repeated["values"]) == {repeated["median"]}
    assert not [note for note in decided["warnings"] if "differs between the runs" in note]
