"""The oldest and the newest releases: a program of each kind run, its trace and its log read.

Not collected with the other tests, as it makes environments: ``make test-releases`` runs it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.live.harness import EXAMPLES, line_of
from tests.move.proof.test_verify import TRAINING
from tests.releases.environments import NEWEST, RELEASES, ROOT, Release, make, versions
from tests.torch_tpu import stand_in

#: What ``xladoctor env`` and docs/troubleshooting.md say was tried.
RECORD = ROOT / "xladoctor" / "environment" / "releases.json"
_LOGGED = {
    "torch": {"TORCH_LOGS": "recompiles,graph_breaks"},
    "jax": {"JAX_LOG_COMPILES": "1", "JAX_EXPLAIN_CACHE_MISSES": "1"},
}


@dataclass(frozen=True)
class Sick:
    """A program that has a defect.

    Attributes:
        line: how the line begins that its finding names.
        by: what the finding is made from: a run, a trace of torch.compile's own, or a log.
    """

    program: str
    rule: str
    line: str
    by: tuple[str, ...]


PROGRAMS = {
    "torch_xla": (Sick("recompiling.py", "XD101", "", ("run",)),),
    "torch": (
        Sick("torch_compile/fixed_shapes.py", "XD101", "loss = compiled(", ("run", "trace")),
        Sick("torch_compile/fixed_shapes.py", "XD101", "def forward(", ("log",)),
        Sick(
            "torch_compile/counting_attribute.py",
            "XD104",
            "self.steps += 1",
            ("run", "trace", "log"),
        ),
        Sick("torch_compile/tensor_branch.py", "XD314", "if y.mean()", ("run", "trace", "log")),
    ),
    "torch_tpu": (
        Sick("torch_tpu/changing_batches.py", "XD101", "return self.last(torch.relu", ("run",)),
        Sick("torch_tpu/changing_lengths.py", "XD101", "total += score(", ("run",)),
        Sick("torch_tpu/changing_lengths.py", "XD101", "@torch.compile", ("trace",)),
        Sick("torch_tpu/collective_in_function.py", "XD317", "hidden = collectives", ("run",)),
        Sick("torch_tpu/counting_attribute.py", "XD104", "return (self.layer(x)", ("run",)),
        Sick("torch_tpu/deferred_reads.py", "XD120", "optimizer.step()", ("run",)),
        Sick("torch_tpu/loss_read.py", "XD201", "total += loss.item()", ("run",)),
        Sick("torch_tpu/operators_one_by_one.py", "XD311", "loss.backward()", ("run",)),
        Sick("torch_tpu/print_in_step.py", "XD314", 'print("hidden"', ("run", "trace")),
        Sick("torch_tpu/printing.py", "XD202", 'print(f"step', ("run",)),
        Sick("torch_tpu/slices.py", "XD119", "total += score(", ("run",)),
        Sick("torch_tpu/slices.py", "XD119", "@torch.compile", ("trace",)),
        Sick("torch_tpu/tensor_condition.py", "XD206", "if loss < best", ("run",)),
        Sick("torch_tpu/tensor_transfer.py", "XD203", "losses.append(", ("run",)),
    ),
    "jax": (
        Sick("jax/changing_shapes.py", "XD101", "params, loss = step(", ("run", "log")),
        Sick("jax/function_made_anew.py", "XD112", "", ("run", "log")),
        Sick("jax/loss_read.py", "XD201", "", ("run",)),
    ),
}
TRIED = [
    (release, sick, by)
    for release in RELEASES
    for sick in PROGRAMS[release.module]
    for by in sick.by
]
_read: dict[Release, set[str]] = {}


@pytest.fixture(scope="session", autouse=True)
def record(request: pytest.FixtureRequest) -> Iterator[None]:
    """Write down what was tried, once all of it went well."""
    yield
    if not NEWEST and not request.session.testsfailed and len(_read) == len(RELEASES):
        rows = [
            {"framework": release.module, **versions(release), "read": sorted(read)}
            for release, read in _read.items()
        ]
        RECORD.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


@pytest.mark.parametrize(
    ("release", "sick", "by"),
    TRIED,
    ids=[f"{release}-{Path(sick.program).stem}-{by}" for release, sick, by in TRIED],
)
def test_release(release: Release, sick: Sick, by: str, tmp_path: Path) -> None:
    try:
        make(release)
    except LookupError as missing:
        pytest.skip(str(missing))
    program = EXAMPLES / sick.program

    report = diagnosis(release, program, by, tmp_path)

    found = [finding for finding in report["findings"] if finding["rule"] == sick.rule]
    assert found, (report["findings"], report["warnings"])
    assert all(finding["locations"] for finding in found)
    if sick.line:
        first = [finding["locations"][0] for finding in found]
        places = {(Path(place["file"]).name, place["line"]) for place in first}
        assert (program.name, line_of(program, sick.line)) in places
    _read.setdefault(release, set()).add(by)


HEALED = [
    (release, sick.program.replace(".py", "_healed.py"), sick.rule)
    for release in RELEASES
    if release.module == "torch_tpu"
    for sick in PROGRAMS["torch_tpu"]
]
_ONE_BY_ONE = "XD311"


@pytest.mark.parametrize(
    ("release", "program", "rule"), HEALED, ids=[Path(program).stem for _, program, _ in HEALED]
)
def test_healed(release: Release, program: str, rule: str, tmp_path: Path) -> None:
    """The fix, followed, leaves nothing but information, however busy the machine is: and that
    operators are launched one by one, where a program's run is long enough for that to be known.
    """
    try:
        make(release)
    except LookupError as missing:
        pytest.skip(str(missing))

    report = diagnosis(release, EXAMPLES / program, "run", tmp_path)

    found = {each["rule"]: each["severity_by_counts"] for each in report["findings"]}
    assert rule not in found
    serious = {name for name, severity in found.items() if severity != "info"}
    assert serious <= {_ONE_BY_ONE}, report["findings"]


TPU = [release for release in RELEASES if release.module == "torch_tpu"]


@pytest.mark.parametrize("release", TPU, ids=str)
def test_moved_program_agrees(release: Release, tmp_path: Path) -> None:
    """The whole way: a program is moved, both are run, and their first steps agree."""
    try:
        make(release)
    except LookupError as missing:
        pytest.skip(str(missing))
    (tmp_path / "train.py").write_text(TRAINING, encoding="utf-8")
    command = [sys.executable, "-m", "xladoctor", "move", "train.py", "--root", "."]
    command += ["--verify", "--to-python", str(release.interpreter), "--format", "json"]
    variables = os.environ | stand_in.environment(release.interpreter) | {"PYTHONPATH": str(ROOT)}
    variables.pop("PJRT_DEVICE", None)
    ran = subprocess.run(
        command, cwd=tmp_path, env=variables, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    judgement = json.loads(ran.stdout)["verification"]["judgement"]
    assert (judgement["outcome"], judgement["steps"]) == ("agrees", 3)
    assert (tmp_path / "train.py").read_text(encoding="utf-8") == TRAINING


def diagnosis(release: Release, program: Path, by: str, folder: Path) -> dict[str, Any]:
    """What xladoctor says of a run, of a trace that torch.compile wrote, or of a log."""
    evidence = folder / "evidence"
    if by == "run":
        python(release, "-m", "xladoctor", "run", "--output", evidence, program)
    elif by == "trace":
        python(release, program, TORCH_TRACE=str(evidence))
    else:
        ran = python(release, program, **_LOGGED[release.module])
        evidence.write_text(ran.stderr, encoding="utf-8")
    report = python(release, "-m", "xladoctor", "analyze", evidence, "--format", "json")
    read: dict[str, Any] = json.loads(report.stdout)
    return read


def python(
    release: Release, *command: str | Path, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run the release's Python."""
    of_tpu = release.module == "torch_tpu"
    stand = stand_in.environment(release.interpreter) if of_tpu else {}
    ran = subprocess.run(
        [release.interpreter, *command],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PJRT_DEVICE": "CPU", "JAX_PLATFORMS": "cpu", **stand, **environment},
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    return ran
