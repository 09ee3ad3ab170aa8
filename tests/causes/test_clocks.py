"""Clocks and numbers of steps: what was simulated is found again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.pods.generated import write_pod
from tests.pods.simulation import Pod, Run
from xladoctor.causes.clocks import _names, _shift
from xladoctor.doctor import load_evidence


def aligned(folder: Path, pod: Pod) -> tuple[Run, list[dict[str, object]]]:
    run = write_pod(folder, pod)
    rows = load_evidence(str(folder)).database.rows("SELECT * FROM pod_process ORDER BY process")
    return run, rows


@pytest.mark.parametrize("kind", ["TPU", "GPU"])
def test_clocks_are_compared_by_collectives(tmp_path: Path, kind: str) -> None:
    run, rows = aligned(tmp_path, Pod(hosts=5, devices=2, kind=kind))  # type: ignore[arg-type]
    ahead = np.array([row["offset_ns"] for row in rows], float) / 1e3
    truth = run.clock.ahead - np.median(run.clock.ahead)
    assert np.ptp(truth) > 1_000
    assert np.abs(ahead - np.median(ahead) - truth).max() < 20  # µs
    assert {row["aligned_by"] for row in rows} == {"collectives"}
    assert all(row["drift"] == pytest.approx(0, abs=2e-5) for row in rows)


def test_a_clock_that_runs_fast(tmp_path: Path) -> None:
    _, rows = aligned(tmp_path, Pod(hosts=5, devices=2, sickness="drift", host=3))
    drift = [row["drift"] for row in rows]
    assert drift[3] == pytest.approx(2e-4, rel=0.1)
    assert [each for each in drift if abs(each) > 5e-5] == [drift[3]]  # type: ignore[arg-type]


def test_without_collectives_the_profile_s_start_counts(tmp_path: Path) -> None:
    _, rows = aligned(tmp_path, Pod(hosts=3, devices=1, sickness="offset"))
    assert {(row["aligned_by"], row["offset_ns"], row["error_ns"]) for row in rows} == {
        ("profile", 0, None)
    }


def test_processes_side_by_side_are_no_pod(tmp_path: Path) -> None:
    """Such as trials of one program with other parameters: on one host, without ranks."""
    write_pod(tmp_path, Pod(hosts=2, devices=1, sickness="offset"))
    for file in tmp_path.rglob("*.xplane.pb"):
        content = file.read_bytes()
        file.write_bytes(content.replace(b"pod-w-1", b"pod-w-0"))
    assert "pod_process" not in load_evidence(str(tmp_path)).available


def test_one_timeline_is_no_pod(tmp_path: Path) -> None:
    write_pod(tmp_path, Pod(hosts=1))
    assert "pod_process" not in load_evidence(str(tmp_path)).available


@given(
    st.lists(st.integers(1, 1000), min_size=6, max_size=60),
    st.integers(0, 20),
    st.integers(-100, 100),
    st.data(),
)
def test_steps_at_the_same_time_have_the_same_number(
    lasted: list[int], late: int, first: int, data: st.DataObject
) -> None:
    """Whatever a process counts from, if its clock is off by less than half of a step."""
    end = 1_700_000_000_000_000_000 + np.cumsum(np.array(lasted) + 100)
    number = np.arange(len(end))
    begun = data.draw(st.integers(0, len(end) // 2 - 1))
    ahead = data.draw(st.integers(-49, 49))
    own = end[begun:] + ahead
    assert _shift(number, end, np.arange(len(own)) + first, own) == begun - first


def test_no_steps_at_the_same_time() -> None:
    end = np.arange(10) * 100
    assert _shift(np.arange(10), end, np.arange(10), end + 10_000) == 0


@pytest.mark.parametrize(
    ("processes", "names"),
    [
        ([("a", 0, 7, 1), ("b", 1, 8, 1)], ["a", "b"]),
        ([("a", 0, 7, 2), ("a", 1, 8, 2)], ["rank 0", "rank 1"]),
        ([("a", 0, 7, 2), ("a", 1, 8, 2), ("b", 2, 9, 1)], ["a:0", "a:1", "b"]),
        ([("a", None, 7, 2), ("a", None, 8, 2)], ["a:7", "a:8"]),
        ([("a", None, 7, 2), ("a", None, 7, 2)], ["a:7 (0)", "a:7 (1)"]),
        ([(None, 3, None, 2), (None, 4, None, 2)], ["rank 3", "rank 4"]),
    ],
)
def test_names(processes: list[tuple[object, ...]], names: list[str]) -> None:
    rows = [
        {"process": number, "host": host, "rank": rank, "pid": pid, "on_host": on_host}
        for number, (host, rank, pid, on_host) in enumerate(processes)
    ]
    assert _names(rows) == names
