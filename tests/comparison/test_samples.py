"""Which steps a run is judged by."""

from __future__ import annotations

from tests.support import Row, evidence, step
from xladoctor.diagnosis.step_samples import Samples, step_samples


def of(*rows: Row, period: int = 1) -> Samples:
    return step_samples(
        evidence(
            {
                "step": list(rows),
                "step_period": [{"process": 0, "thread": 1, "barriers": period}],
            }
        )
    )


def steps(*ms: float, first: int = 3, **fields: object) -> list[Row]:
    return [step(first + n, duration_ns=round(time * 1e6), **fields) for n, time in enumerate(ms)]


def test_steps_after_warm_up_that_compile_nothing_in_order() -> None:
    rows = [*steps(9, 9, 9, first=0), *steps(3, 1, 2), step(6, compilations=1)]
    assert of(*rows) == Samples((3.0, 1.0, 2.0), traced=False)


def test_traced_steps_only_where_there_are_too_few_others() -> None:
    traced = steps(*[7.0] * 20, traced=True)
    assert of(*traced) == Samples((7.0,) * 20, traced=True)
    assert of(*traced, *steps(5, 5, first=23)) == Samples((7.0,) * 20, traced=True)
    assert of(*traced, *steps(*[5.0] * 12, first=23)) == Samples((5.0,) * 12, traced=False)
    assert of(*steps(7, traced=True), *steps(5, first=4)) == Samples((5.0,), traced=False)


def test_step_of_several_barriers_is_their_sum() -> None:
    rows = [step(n, duration_ns=(1 if n % 2 else 9) * 10**6) for n in range(12)]
    assert of(*rows, period=2) == Samples((10.0, 10.0, 10.0), traced=False)


def test_row_of_several_barriers_is_one_sample_of_their_average() -> None:
    rows = steps(40, 80, barriers=4)
    assert of(*rows) == Samples((10.0, 20.0), traced=False)
    turns = [{**row, "ordinal": 99, "index": 10 * n} for n, row in enumerate(rows)]
    assert of(*turns, period=2) == Samples((20.0, 40.0), traced=False)


def test_without_steps_there_is_no_sample() -> None:
    assert step_samples(evidence({})) == Samples((), traced=False)
    assert of(step(0), step(1)) == Samples((), traced=False)


def test_steps_of_a_timeline_where_there_is_no_step_log() -> None:
    row = {"process": 0, "duration_ns": 2_000_000, "begin_ns": 1}
    made = evidence({"timeline_step": [{**row, "steady": True}, {**row, "steady": False}]})
    assert step_samples(made) == Samples((2.0,), traced=True)
