"""What can be judged at all, and the baseline of several programs."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.gate.made import COUNTS, TODAY, configuration, counted, diagnosis
from tests.support import finding, location
from xladoctor.configuration.interface import ConfigurationError
from xladoctor.diagnosis.interface import Diagnosis, Steps, TimeSpent
from xladoctor.gate import acknowledged, baseline
from xladoctor.gate.interface import GateError
from xladoctor.gate.programs import Policy, programs

NO_LOOP = TimeSpent(3.0, None, None, None)
UNCOMPILED = counted(compilations_after_warmup=None)


# Refused


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"run": {"status": 1}}, "the program failed (exit status 1) after 40 steps: not judged"),
        ({"run": {"status": 1}, "steps": None}, "the program failed (exit status 1): not judged"),
        ({"run": {"status": 1}, "steps": Steps(1, 1, None)}, "(exit status 1) after 1 step:"),
        ({"run": {"status": None, "signal": 9}}, "ended by SIGKILL after 40 steps"),
        ({"run": {"status": None, "signal": 2}}, "the program was interrupted after 40 steps"),
        (
            {"run": {"status": None, "signal": 15, "stopped_by": "--timeout"}},
            "the program was ended by --timeout after 40 steps",
        ),
        ({"run": {"status": None}}, "the run was cut short after 40 steps"),
        ({"steps": None, "time": NO_LOOP}, "an empty run"),
        ({"steps": Steps(0, 0, None), "time": NO_LOOP}, "an empty run"),
        ({"steps": None, "counts": UNCOMPILED}, "an empty run"),
        ({"steps": None, "time": NO_LOOP, "findings": [finding("XD701")]}, "an empty run"),
    ],
    ids=str,
)
def test_run_that_failed_or_did_nothing_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(GateError) as caught:
        programs([[diagnosis(**changes)]])
    assert caught.value.what.startswith("a-run: ")
    assert message in caught.value.what
    assert caught.value.hint == "to see what was captured: xladoctor analyze a-run"


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"steps": None},
        {"run": {"kind": "text", "status": None}},
        {"run": {"kind": "timeline", "status": None}, "steps": None, "time": NO_LOOP},
        {"steps": None, "counts": UNCOMPILED, "findings": [finding()]},
    ],
    ids=str,
)
def test_what_can_be_judged_is(changes: dict[str, Any]) -> None:
    given = diagnosis(**changes)
    (program,) = programs([[given]])
    assert (program.name, program.diagnosis) == ("src/train.py", given)


def test_one_failed_run_of_several_is_enough() -> None:
    with pytest.raises(GateError, match="the program failed"):
        programs([[diagnosis()], [diagnosis(run={"status": 1})]])


def test_nothing_at_all_is_refused() -> None:
    with pytest.raises(GateError, match="no program"):
        programs([[]])


# Names


def named(script: str | None, *findings: Any) -> Diagnosis:
    return diagnosis(*findings, run={"script": script})


def test_programs_are_named_by_their_script_or_as_was_asked() -> None:
    sorted_programs = programs([[named("train.py"), named("evaluate.py"), named(None)]])
    assert [program.name for program in sorted_programs] == ["train.py", "evaluate.py", "a-run"]
    assert programs([[named("train.py")]], "small")[0].name == "small"
    with pytest.raises(GateError, match="--script names one program, but 2 ran"):
        programs([[named("train.py"), named("evaluate.py")]], "small")


def test_runs_of_each_program_are_put_together() -> None:
    pair = [named("train.py", finding(fingerprint="a")), named("evaluate.py")]
    sorted_programs = programs([pair, pair, [named("train.py"), named("evaluate.py")]])
    assert [len(program.diagnoses) for program in sorted_programs] == [3, 3]
    assert [each.fingerprint for each in sorted_programs[0].diagnosis.findings] == ["a"]


@pytest.mark.parametrize("other", [[], ["evaluate.py"], ["train.py", "train.py"]], ids=str)
def test_runs_of_different_programs_are_refused(other: list[str]) -> None:
    with pytest.raises(GateError, match="the runs ran different programs"):
        programs([[named("train.py")], [named(name) for name in other]])


# The policy


def policy(folder: Path, **gate: Any) -> Policy:
    path = folder / "baseline.json"
    accepted = acknowledged.read(folder / ".xladoctor" / "acknowledged.toml")
    return Policy(configuration(gate), path, baseline.read(path), accepted, TODAY)


def entries(by: Policy) -> dict[str, int]:
    return {name: len(script.findings) for name, script in by.baseline.scripts.items()}


def statuses(by: Policy, *diagnoses: Diagnosis) -> list[str]:
    return [by.decide(program)[1].status for program in programs([diagnoses])]


def test_what_was_accepted_passes_and_what_is_new_fails(tmp_path: Path) -> None:
    by, sick = policy(tmp_path), named("train.py", finding())
    assert statuses(by, sick) == ["failed"]
    by = by.updated(programs([[sick]]))
    assert entries(by) == {"train.py": 1}
    assert statuses(by, sick) == ["passed"]
    assert statuses(by, named("train.py", finding(), finding(fingerprint="more"))) == ["failed"]


def test_entry_of_another_program_does_not_count(tmp_path: Path) -> None:
    by = policy(tmp_path).updated(programs([[named("evaluate.py", finding())]]))
    assert statuses(by, named("train.py", finding())) == ["failed"]


def test_programs_of_the_same_name_keep_their_own_entries(tmp_path: Path) -> None:
    twice = [
        named("train.py", finding(fingerprint=name, locations=[location(function=name)]))
        for name in "ab"
    ]
    by = policy(tmp_path).updated(programs([twice]))
    assert entries(by) == {"train.py": 1, "train.py (2)": 1}
    assert statuses(by, *twice) == ["passed", "passed"]
    assert statuses(by, *reversed(twice)) == ["failed", "failed"]
    limits = policy(tmp_path, scripts={"train.py": {"max_barriers_per_step": 1}})
    over = [replace(each, counts=counted(barriers_per_step=2.0)) for each in twice]
    assert statuses(limits, *over) == ["failed", "failed"]


def test_updates_at_the_same_time_lose_nothing(tmp_path: Path) -> None:
    names = [f"train_{number}.py" for number in range(8)]
    begun = [policy(tmp_path / "new") for _ in names]  # each has read a baseline without any
    with ThreadPoolExecutor(len(names)) as threads:
        list(
            threads.map(
                lambda by, name: by.updated(programs([[named(name, finding())]])), begun, names
            )
        )
    assert entries(policy(tmp_path / "new")) == dict.fromkeys(names, 1)
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["baseline.json"]


def test_update_leaves_rules_that_are_not_judged_as_they_were(tmp_path: Path) -> None:
    timed = named("train.py", finding("XD501", severity="error", fingerprint="slow"))
    policy(tmp_path, time=True).updated(programs([[timed]]))
    policy(tmp_path).updated(programs([[timed]]))
    assert statuses(policy(tmp_path, time=True), timed) == ["passed"]


def test_values_of_several_runs_are_shown(tmp_path: Path) -> None:
    (program,) = programs([[diagnosis()], [diagnosis()]])
    assert len(policy(tmp_path).decide(program)[1].runs) == len(COUNTS)
    (program,) = programs([[diagnosis()]])
    assert policy(tmp_path).decide(program)[1].runs == []


# The file of what is accepted by hand


def test_acknowledgement_is_read_from_its_file(tmp_path: Path) -> None:
    path = tmp_path / ".xladoctor" / "acknowledged.toml"
    path.parent.mkdir()
    path.write_text('[findings]\nXD201-0 = { reason = "logged", expires = 2026-05-04 }\n')
    by = policy(tmp_path)
    assert statuses(by, diagnosis(finding())) == ["passed"]
    assert statuses(replace(by, today=TODAY.replace(day=5)), diagnosis(finding())) == ["failed"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[findings]\nab = { reason = 'logged' }\n", ":2: findings.ab.expires: "),
        ("[findings]\n\nab = { reason = '', expires = 2026-05-04 }\n", ":3: findings.ab.reason: "),
        ("[findings]\nab = { reason = 'logged', expires = 'soon' }\n", ":2: findings.ab.expires: "),
        ("[finding]\n", ":1: finding: no such key; expected one of budgets, findings"),
        ("<<<<<<< HEAD\n", "not TOML"),
        (
            '[findings]\nab = { reason="…", expires=YYYY-MM-DD }\n',
            ":2: expires: fill in a date, such as 2027-03-01, instead of YYYY-MM-DD",
        ),
        ("[findings]\nab = { reason = 'logged', expires = 2026-13-01 }\n", "of 2026-13-01"),
        ("[findings]\nab = { reason = '…', expires = 2026-05-04 }\n", "say why, in a few words"),
        (
            '[budgets."train.py"]\nmax_steps = { up_to = 1, reason = "why", expires ='
            " 2026-05-04 }\n",
            "no such budget: max_steps",
        ),
        (
            '[budgets."train.py"]\nmax_step_ms = { reason = "why", expires = 2026-05-04 }\n',
            ":2: budgets.train.py.max_step_ms.up_to: ",
        ),
    ],
)
def test_bad_file_of_acknowledgements_is_an_error_with_its_line(
    tmp_path: Path, text: str, message: str
) -> None:
    path = tmp_path / ".xladoctor" / "acknowledged.toml"
    path.parent.mkdir()
    path.write_text(text)
    with pytest.raises(ConfigurationError) as caught:
        statuses(policy(tmp_path), diagnosis())
    assert str(path) in caught.value.what
    assert message in caught.value.what


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    by = policy(tmp_path).updated(programs([[diagnosis(finding())]]))
    assert baseline.read(by.path) == by.baseline
    assert by.baseline.scripts["src/train.py"].steps == 40
