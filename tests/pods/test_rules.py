"""On a generated pod, rules find what is sick, on the right host, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest

from tests.pods.generated import host_name, write_pod
from tests.pods.simulation import SICKNESSES, Pod, Sickness
from xladoctor.causes.derive import derive
from xladoctor.configuration.interface import Configured
from xladoctor.diagnosis.engine import judge_all
from xladoctor.diagnosis.finding import Finding
from xladoctor.diagnosis.pack import load_rules
from xladoctor.diagnosis.pod import PodGroup
from xladoctor.diagnosis.pods import pod, slice_of
from xladoctor.doctor import examine, selection
from xladoctor.evidence.interface import Evidence
from xladoctor.evidence.load import load
from xladoctor.pods.where import Where
from xladoctor.report.pods import name_of

HOSTS = 16
RULES = [rule for rule in load_rules() if rule.category == "pod"]


@dataclass(frozen=True)
class Due:
    """A finding that is due.

    Attributes:
        cause: what it must say of the cause.
        message: a part of its message, in which {host} and {device} are what is struck.
        severity: where that is not at least a warning.
    """

    rule: str
    cause: dict[str, Any]
    message: str
    severity: str = ""


DUE: dict[Sickness, Due] = {
    "input": Due("XD803", {"part": "input"}, "{host} waits"),
    "feeding": Due("XD803", {"part": "input"}, "{host} waits"),
    "python": Due("XD801", {"part": "python"}, "{host} takes"),
    "compute": Due("XD801", {"part": "compute"}, "computing on the device"),
    "device": Due("XD807", {"part": "compute"}, "{host} device {device} computes"),
    "throttled": Due("XD808", {"part": "compute"}, "{host} device {device} takes"),
    "compilation": Due("XD802", {"part": "compile"}, "{host} compiles"),
    "graph": Due("XD802", {"part": "compute"}, "{host} runs"),
    "bandwidth": Due("XD804", {"kind": "exchange"}, "Exchanging data takes"),
    "skew": Due("XD804", {"kind": "skew"}, "It is not always the same process"),
    "idle": Due("XD805", {"idle": 1}, "{host}: {device}"),
    "drift": Due("XD806", {"kind": "clock"}, "The clock of {host} runs", "info"),
    "offset": Due("XD806", {"kind": "steps", "part": "compute"}, "{host} falls behind"),
}


def evidence_of(folder: Path, pod: Pod) -> Evidence:
    write_pod(folder, pod)
    return derive(load(str(folder)))


def found(evidence: Evidence) -> list[Finding]:
    return judge_all(evidence, RULES).findings


def process_of(evidence: Evidence, host: int) -> str:
    query = "SELECT process FROM pod_process WHERE name = $name"
    return str(evidence.database.scalar(query, {"name": host_name(host)}))


def test_each_sickness_has_a_rule() -> None:
    assert set(DUE) == set(SICKNESSES)


@pytest.mark.parametrize("struck", [4, 5])
def test_half_of_the_hosts_or_more_are_slow(tmp_path: Path, struck: int) -> None:
    evidence = evidence_of(tmp_path, Pod(hosts=8, devices=2, sickness="compute", struck=struck))
    (slow,) = found(evidence)
    assert slow.rule == "XD801"
    assert len(slow.processes) == struck
    assert f"longer than the other {8 - struck} in" in slow.message
    assert "computing on the device" in slow.message
    compared = pod(evidence)
    assert compared is not None
    assert " and 1 more compute up to " in compared.summary.replace(" 2 more", " 1 more")
    assert f" than the other {8 - struck}; they wait " in compared.summary
    assert sorted(len(group.processes) for group in compared.groups) == sorted([struck, 8 - struck])


@pytest.mark.parametrize(("hosts", "struck"), [(3, 2), (9, 8)])
def test_a_host_that_is_faster_than_most(tmp_path: Path, hosts: int, struck: int) -> None:
    sickness: Any = {"devices": 2, "sickness": "compute", "struck": struck}
    evidence = evidence_of(tmp_path, Pod(hosts=hosts, **sickness))
    assert found(evidence) == []
    compared = pod(evidence)
    assert compared is not None
    assert compared.summary.startswith(
        f"Most of the {hosts} processes take equally long; pod-w-0 waits 5."
    )


def test_a_slice_has_a_name_where_all_of_it_is_meant() -> None:
    processes = [{"process": n, "slice": n // 4} for n in range(12)]
    assert slice_of({4, 5, 6, 7}, processes) == 1
    assert slice_of({4, 5, 6}, processes) is None
    assert slice_of({3, 4, 5, 6, 7}, processes) is None
    assert slice_of(set(range(12)), [{**each, "slice": 0} for each in processes]) is None
    assert slice_of({4, 5, 6, 7}, [{**each, "slice": None} for each in processes]) is None
    group = PodGroup([f"w-{n}" for n in range(4, 8)], {}, ["compute"], 1)
    assert name_of(group) == "slice 1 (4 processes)"


@pytest.mark.parametrize("kind", ["TPU", pytest.param("GPU", marks=pytest.mark.thorough)])
@pytest.mark.parametrize("sickness", SICKNESSES)
def test_a_sickness_is_found_and_nothing_else(
    sickness: Sickness, kind: Literal["TPU", "GPU"], tmp_path: Path
) -> None:
    pod = Pod(hosts=HOSTS, kind=kind, sickness=sickness, host=5, device=3)
    due = DUE[sickness]
    evidence = evidence_of(tmp_path, pod)

    (finding,) = found(evidence)

    assert finding.rule == due.rule
    assert {key: finding.cause[key] for key in due.cause} == due.cause
    assert due.message.format(host=host_name(5), device=3) in finding.message
    if sickness in ("bandwidth", "skew"):
        assert len(finding.processes) == HOSTS
    else:
        assert finding.processes == [process_of(evidence, 5)]
    if due.severity:
        assert finding.severity == due.severity
    else:
        assert finding.severity in ("warning", "error")


@pytest.mark.parametrize(
    ("sickness", "collective"),
    [("input", "all-reduce.1"), ("python", "all-reduce.1"), ("feeding", "collective-broadcast.1")],
)
def test_a_finding_says_where_the_others_wait(
    sickness: Sickness, collective: str, tmp_path: Path
) -> None:
    (finding,) = found(evidence_of(tmp_path, Pod(sickness=sickness)))
    assert finding.cause["collective"] == collective


def test_slow_steps_are_named(tmp_path: Path) -> None:
    (finding,) = found(evidence_of(tmp_path, Pod(sickness="throttled", steps=36)))
    assert finding.cause["longest"] == 5  # of the steps that follow each other
    assert "on time in the others" in finding.message


@pytest.mark.parametrize("hosts", [2, 3, HOSTS, pytest.param(64, marks=pytest.mark.thorough)])
@pytest.mark.parametrize("jitter", [0.01, 0.03])
def test_in_a_healthy_pod_nothing_is_found(hosts: int, jitter: float, tmp_path: Path) -> None:
    assert found(evidence_of(tmp_path, Pod(hosts=hosts, jitter=jitter, seed=hosts))) == []


@pytest.mark.parametrize("sickness", ["compute", "device"])
def test_of_two_hosts_none_is_blamed(sickness: Sickness, tmp_path: Path) -> None:
    (finding,) = found(evidence_of(tmp_path, Pod(hosts=2, sickness=sickness)))
    assert finding.severity == "info"
    assert "From two processes one cannot tell which of them is normal." in finding.message


@pytest.mark.thorough
@pytest.mark.parametrize("sickness", [None, "input", "device", "skew"])
def test_many_hosts(sickness: Sickness | None, tmp_path: Path) -> None:
    pod = Pod(hosts=256, devices=2, steps=16, sickness=sickness, host=200, device=1, jitter=0.02)
    findings = found(evidence_of(tmp_path, pod))
    assert [each.rule for each in findings] == ([DUE[sickness].rule] if sickness else [])


def test_the_wait_for_others_is_not_blamed_on_collectives(tmp_path: Path) -> None:
    """Each host by itself only shows that its devices are in collectives for long."""
    write_pod(tmp_path, Pod(hosts=3, devices=2, steps=12, sickness="compute"))
    chosen = selection(Configured(folder=Path.cwd()))
    diagnosis = examine(str(tmp_path), chosen, where=Where(workers=2)).diagnosis
    rules = {each.rule for each in diagnosis.findings}
    assert "XD801" in rules
    assert "XD606" not in {*rules, *diagnosis.rules.fired, *diagnosis.rules.clear}
