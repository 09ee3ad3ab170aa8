"""No rule complains of a program that is written as its authors recommend for XLA.

`make test` judges what was recorded of them, and of the healed twins and clean examples;
`make test-all` runs them as well.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.known_good.corpus import (
    ENVIRONMENT,
    EXAMPLES,
    HERE,
    PROGRAMS,
    RECORDED,
    allowed,
)
from tests.known_good.together import together
from tests.live.harness import LIVE, capture
from tests.live.test_jax_examples import FOR_ACCELERATORS
from tests.live.test_torch_compile_examples import OF_A_GPU
from xladoctor.diagnosis.engine import diagnose
from xladoctor.diagnosis.interface import Diagnosis
from xladoctor.diagnosis.pack import load_rules
from xladoctor.doctor import load_evidence
from xladoctor.rule_cases.trial import name_of, unpacked

RULES = load_rules()
#: Those for accelerators, which a CPU cannot break; torch's profile of one shows no device at all.
NOT_EVALUATED = {
    # Nobody listens to the compiler there, and one program is for several devices.
    "torch_xla": FOR_ACCELERATORS | {"XD640"},
    # A cache of compiled programs works on the CPU too; and programs with collectives, side by
    # side, look like the processes of a job.
    "jax": FOR_ACCELERATORS - {"XD705", "XD606"} | {"XD804", "XD805", "XD807"},
    "torch_compile": OF_A_GPU | {"XD501", "XD504", "XD606", "XD608", "XD612", "XD613", "XD709"},
}


def complaints(run: Path) -> set[str]:
    """The rules with a finding of warning or above."""
    diagnosis: Diagnosis = diagnose(load_evidence(str(run)), RULES)
    assert diagnosis.steps is not None, "the program made no steps"
    return {finding.rule for finding in diagnosis.findings if finding.severity != "info"}


def expected(program: str) -> set[str]:
    return {one.rule for one in allowed() if one.program == program}


@pytest.mark.parametrize("archive", RECORDED, ids=name_of)
def test_recorded_runs_have_no_findings_but_those_allowed(archive: Path) -> None:
    with unpacked(archive) as run:
        assert complaints(run) == expected(name_of(archive))


@pytest.mark.parametrize("framework", EXAMPLES)
def test_recorded_examples_have_nothing_to_fix(framework: str, tmp_path: Path) -> None:
    recorded = sorted((HERE / "examples" / framework).glob("*.tar.xz"))
    programs = together(recorded, tmp_path / "run")
    diagnosis = diagnose(load_evidence(str(tmp_path / "run")), RULES)

    assert programs == sorted(path.stem for path in EXAMPLES[framework])
    assert [
        (finding.rule, [programs[int(process)] for process in finding.processes])
        for finding in diagnosis.findings
        if finding.severity != "info"
    ] == []
    assert set(diagnosis.rules.not_evaluated) == NOT_EVALUATED[framework]


@pytest.mark.parametrize(
    "program",
    [pytest.param(path, marks=[*LIVE, pytest.mark.thorough], id=path.stem) for path in PROGRAMS],
)
def test_programs_have_no_findings_but_those_allowed(program: Path, tmp_path: Path) -> None:
    run = capture(tmp_path / "run", program, env=ENVIRONMENT.get(program.stem, {}))
    assert run.finished.status == 0, run.finished.stderr
    assert complaints(run.directory) <= expected(program.stem)


def test_every_program_is_recorded_and_each_exception_has_a_reason() -> None:
    assert [path.stem for path in PROGRAMS] == [name_of(path) for path in RECORDED]
    assert all(one.reason for one in allowed())
    assert {one.program for one in allowed()} <= {path.stem for path in PROGRAMS}
    assert {one.rule for one in allowed()} <= {rule.id for rule in RULES}
