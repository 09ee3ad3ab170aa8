"""Third-party models and pipelines: findings name the line inside the package."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import pytest

from tests.live.harness import LIVE, Captured, line_of
from tests.live.test_examples import BY_LOOKS, FOR_ACCELERATORS, only

pytestmark = [
    *LIVE,
    pytest.mark.thorough,
    pytest.mark.skipif(
        not (find_spec("transformers") and find_spec("diffusers")),
        reason="transformers or diffusers is not installed",
    ),
]


def place(finding: dict[str, Any], role: str) -> dict[str, Any]:
    (location,) = [location for location in finding["locations"] if location["role"] == role]
    return dict(location)


@only("transformers_unpadded")
def test_unpadded_batches_are_found_where_the_package_sends_them(example: Captured) -> None:
    (finding,) = example.findings("XD101")
    guilty, caller = place(finding, "guilty"), place(finding, "caller")

    assert guilty["file"].endswith("/transformers/tokenization_utils_base.py")
    assert ".to(device=device" in guilty["source"]
    assert caller["line"] == line_of(example.program, "batch = batch.to(device)")
    assert place(finding, "compiled")["line"] == line_of(example.program, "torch_xla.sync()")
    assert finding["cause"] == finding["cause"] | {
        "kind": "input_shape",
        "basis": "hlo",
        "dimension": 1,
        "pattern": "varies",
    }
    assert (finding["severity"], finding["count"]) == ("error", 9)
    assert example.report["rules"]["fired"] == ["XD101"]


@only("diffusers_scheduler")
def test_scheduler_that_looks_its_step_up_on_the_device(example: Captured) -> None:
    (scalar,), (dynamic,) = example.findings("XD201"), example.findings("XD102")
    call = line_of(example.program, "known = scheduler.add_noise(")

    for finding, code in ((scalar, "indices[pos].item()"), (dynamic, ".nonzero()")):
        guilty = place(finding, "guilty")
        assert "/diffusers/schedulers/scheduling_euler_discrete.py" in guilty["file"]
        assert guilty["function"].endswith("index_for_timestep")
        assert code in guilty["source"]
        assert place(finding, "caller")["line"] == call
        assert finding["per_step"] == pytest.approx(1.0, abs=0.1)
    assert dynamic["cause"]["op"] == "aten::nonzero"
    assert scalar["severity"] != "info"
    assert sorted(example.report["rules"]["fired"]) == ["XD102", "XD201"]


@only("progress_bar")
def test_progress_bar_is_found_where_the_package_makes_text(example: Captured) -> None:
    (finding,) = example.findings("XD205")
    guilty = place(finding, "guilty")

    assert guilty["file"].endswith("/tqdm/std.py")
    assert guilty["function"] == "tqdm.set_postfix"
    assert place(finding, "caller")["line"] == line_of(example.program, "bar.set_postfix(loss=")
    assert (finding["count"], finding["cause"]["kinds"]) == (100, ["repr"])
    assert finding["severity"] != "info"
    assert example.report["rules"]["fired"] == ["XD205"]


@only("transformers_unpadded_healed", "diffusers_scheduler_healed", "progress_bar_healed")
def test_healed_twin_has_nothing_to_fix(example: Captured) -> None:
    assert [f for f in example.report["findings"] if f["severity"] != "info"] == []
    not_evaluated = example.report["rules"]["not_evaluated"]
    assert [rule for rule in not_evaluated if rule not in BY_LOOKS] == FOR_ACCELERATORS
