"""The reader finds in a generated pod what was simulated."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

from tests.pods.generated import EPOCH_NS, OTHER, PROGRAM, timeline, write_pod
from tests.pods.simulation import LEAD, SICKNESSES, Pod, Run, Sickness, Span, simulate
from tests.pods.truth import truth
from tests.xspace.reference import read
from xladoctor.diagnosis.pods import pod
from xladoctor.doctor import load_evidence
from xladoctor.evidence.interface import Evidence
from xladoctor.report.pods import facts

POD = {"TPU": Pod(hosts=2, kind="TPU"), "GPU": Pod(hosts=2, kind="GPU")}


@pytest.fixture(scope="module", params=POD)
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("pod")
    run = write_pod(folder, POD[request.param])
    return run, load_evidence(str(folder))


def column(evidence: Evidence, query: str) -> list[Any]:
    return [value for row in evidence.database.rows(query) for value in row.values()]


def steps_of(run: Run, host: int) -> tuple[Any, Span]:
    """Numbers of the whole steps, and the spans that the reader gives them: each from the last."""
    span = Span(run.host.begin[:, host], run.host.end[:, host])
    kept = run.recorded(host, span)
    shown = run.shown(host, Span(span.begin[kept], span.end[kept]))
    return run.number[kept], Span(np.append(shown.begin[0], shown.end[:-1]), shown.end)


def test_steps_are_those_of_the_profiles(made: tuple[Run, Evidence]) -> None:
    run, evidence = made
    for host in range(run.pod.hosts):
        numbers, span = steps_of(run, host)
        of = f"FROM timeline_step WHERE process = {host} ORDER BY begin_ns"
        assert len(numbers) == run.pod.steps
        assert column(evidence, f"SELECT step {of}") == numbers.tolist()
        lasted = np.array(column(evidence, f"SELECT duration_ns / 1e3 {of}"))
        np.testing.assert_allclose(lasted, span.end - span.begin, atol=0.01)


def test_profiles_begin_apart_and_clocks_differ(made: tuple[Run, Evidence]) -> None:
    run, evidence = made
    began = column(evidence, f"SELECT begin_ns - {EPOCH_NS} FROM timeline ORDER BY process")
    shown = [float(run.clock.shown(host, run.clock.start)[host]) for host in range(run.pod.hosts)]
    np.testing.assert_allclose(began, np.array(shown) * 1000, atol=1)
    assert np.ptp(run.clock.ahead) > 100
    assert len(set(column(evidence, "SELECT min(step) FROM timeline_step GROUP BY process"))) > 1


def test_parts_of_the_host_are_those_simulated(made: tuple[Run, Evidence]) -> None:
    run, evidence = made
    for host in range(run.pod.hosts):
        numbers, _ = steps_of(run, host)
        kept = np.isin(run.number, numbers)
        fetch = (run.host.fetched - run.host.begin)[kept, host]
        wait = (run.host.end - run.host.called)[kept, host]
        of = f"FROM timeline_step WHERE process = {host} ORDER BY step"
        for name, lasted in (("input", fetch), ("wait", wait)):
            read = np.array(column(evidence, f"SELECT {name}_ns / 1e3 {of}"))
            np.testing.assert_allclose(read, lasted, atol=10)


def test_devices_are_busy_as_simulated(made: tuple[Run, Evidence]) -> None:
    run, evidence = made
    spans = [span for _, span in run.parts]
    for host in range(run.pod.hosts):
        _, steps = steps_of(run, host)
        for device in range(run.pod.devices):
            busy = np.zeros(run.pod.steps)
            for span in spans:
                begin, end = (each[:, host, device] for each in span)
                kept = run.recorded(host, Span(begin, end))
                begin, end = run.shown(host, Span(begin[kept], end[kept]))
                common = np.minimum.outer(steps.end, end) - np.maximum.outer(steps.begin, begin)
                busy += np.maximum(common, 0).sum(axis=1)
            read = column(
                evidence,
                f"SELECT busy_ns / 1e3 FROM device_step WHERE process = {host}"
                f" AND device = {device} ORDER BY step",
            )
            # the profile lacks operations that it began or ended within
            np.testing.assert_allclose(read[1:-1], busy[1:-1], atol=0.1)


def test_collectives_are_those_simulated(made: tuple[Run, Evidence]) -> None:
    run, evidence = made
    for host in range(run.pod.hosts):
        numbers, steps = steps_of(run, host)
        for device in range(run.pod.devices):
            expected = {}
            for op, everywhere in run.collectives():
                span = Span(*(each[:, host, device] for each in everywhere))
                kept = run.recorded(host, span)
                begin, end = run.shown(host, Span(*(each[kept] for each in span)))
                at = np.searchsorted(steps.begin, begin, side="right") - 1
                inside = (at >= 0) & (begin < steps.end[at])
                name = op.replace("reduce", "reduce-start") if run.pod.kind == "GPU" else op
                for step, lasted in zip(
                    numbers[at[inside]].tolist(), (end - begin)[inside].tolist(), strict=True
                ):
                    expected[step, name] = lasted
            rows = evidence.database.rows(
                "SELECT step, hlo_op, count, duration_ns / 1e3 AS us, end_ns - begin_ns AS span"
                f" FROM collective WHERE process = {host} AND device = {device}"
            )
            read = {(row["step"], row["hlo_op"]): row["us"] for row in rows}
            assert all(row["count"] == 1 for row in rows)
            assert read == pytest.approx(expected, abs=0.01)
            assert len(read) >= 2 * (run.pod.steps - 1)


def test_modules_and_operations_have_their_names(made: tuple[Run, Evidence]) -> None:
    _, evidence = made
    modules = "SELECT DISTINCT hlo_module FROM device_op WHERE hlo_module IS NOT NULL"
    assert column(evidence, modules) == [PROGRAM]
    assert "fusion.3" in column(evidence, "SELECT hlo_op FROM device_op")
    assert evidence.frontend == "jax"


def test_steps_that_nothing_marks_are_counted_from_each_profiles_begin(tmp_path: Path) -> None:
    run = write_pod(tmp_path, Pod(hosts=2, annotated=False))
    evidence = load_evidence(str(tmp_path))

    assert column(evidence, "SELECT DISTINCT steps_from FROM timeline") == ["executions"]
    first = "SELECT begin_ns FROM timeline_step WHERE step = 0 ORDER BY process"
    began = np.diff(column(evidence, first)) / 1000
    assert abs(began - np.diff(run.clock.ahead)) > 20_000  # not the same step of the program
    of_pod = pod(evidence)
    assert of_pod is not None
    assert of_pod.matched_by_time
    assert "steps have no common numbers" in " ".join(facts(of_pod))


@pytest.mark.parametrize("kind", ["TPU", "GPU"])
def test_a_host_of_another_graph_has_other_modules(
    kind: Literal["TPU", "GPU"], tmp_path: Path
) -> None:
    write_pod(tmp_path, Pod(hosts=2, kind=kind, steps=6, sickness="graph"))
    evidence = load_evidence(str(tmp_path))

    of = "SELECT DISTINCT hlo_module FROM device_op WHERE hlo_module IS NOT NULL AND process = "
    assert [column(evidence, f"{of}{host}") for host in (0, 1)] == [[PROGRAM], [OTHER]]


# -- the simulation --------------------------------------------------------------------------------


def test_a_collective_ends_everywhere_once_the_last_has_arrived() -> None:
    run = simulate(Pod(hosts=3, sickness="compute"))
    for _, span in run.collectives():
        assert (np.ptp(span.end, axis=(1, 2)) < 5).all()
        last = span.begin.max(axis=(1, 2))
        assert (span.end.min(axis=(1, 2)) >= last + 500).all()


@pytest.mark.parametrize("sickness", ["input", "python", "compute", "device", "feeding"])
def test_the_sick_wait_least_and_all_take_as_long(sickness: Sickness) -> None:
    pod = Pod(hosts=4, sickness=sickness)
    run = simulate(pod)
    lasted = np.stack([span.end - span.begin for _, span in run.collectives()])
    waited = lasted.sum(axis=0).mean(axis=0)
    assert np.unravel_index(waited.argmin(), waited.shape)[0] == pod.host
    took = np.diff(run.host.end[LEAD:], axis=0).mean(axis=0)
    assert np.ptp(took) < 0.01 * took.mean()


@pytest.mark.parametrize("sickness", ["throttled", "compilation"])
def test_the_truth_names_the_steps_that_take_longer(sickness: Sickness) -> None:
    run = simulate(Pod(sickness=sickness))
    named = truth(run)
    assert named is not None
    assert named.steps is not None
    assert (named.host, named.device) == (1, 2 if sickness == "throttled" else None)
    host = run.pod.host if sickness == "compilation" else 0
    took = (run.host.end - run.host.begin)[2:, host]
    long = set(run.number[2:][took > 1.2 * np.median(took)].tolist())
    assert long
    assert long <= set(named.steps)


def test_a_healthy_pod_has_nothing_to_say() -> None:
    assert truth(simulate(Pod())) is None


@pytest.mark.parametrize("sickness", SICKNESSES)
def test_every_sickness_can_be_written(sickness: Sickness, tmp_path: Path) -> None:
    kinds: tuple[Literal["TPU", "GPU"], ...] = ("TPU", "GPU")
    for kind in kinds:
        write_pod(tmp_path / kind, Pod(hosts=2, kind=kind, steps=8, sickness=sickness))
        assert len(list((tmp_path / kind).glob("plugins/profile/*/*.xplane.pb"))) == 2


def test_kernels_of_a_gpu_begin_after_the_calls_that_launch_them() -> None:
    pod = Pod(hosts=1, kind="GPU", steps=6)
    calls: dict[int, int] = {}
    kernels: dict[int, int] = {}
    for event in read(timeline(simulate(pod), 0)):
        if (number := event.stat("correlation_id")) is not None:
            of = calls if event.name == "cuLaunchKernelEx" else kernels
            of[number] = event.start_ps
    joined = calls.keys() & kernels.keys()
    assert len(joined) > pod.steps * pod.devices * pod.ops
    assert all(calls[number] < kernels[number] for number in joined)
