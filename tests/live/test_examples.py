"""Every example: the sick ones fire exactly their rule at its line, the others nothing."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.live.harness import (
    EXAMPLES,
    LIVE,
    PROGRAMS,
    ROOT,
    Captured,
    Captures,
    line_of,
    python,
)
from xladoctor.diagnosis.rule import load_rules

pytestmark = LIVE

RULES = [rule.id for rule in load_rules()]
LEVELS = ["info", "warning", "error"]
TO_DEVICE = "inputs, targets = inputs.to(device), targets.to(device)"


@dataclass(frozen=True)
class Expected:
    """One finding: the beginnings of its lines by role, and what its cause must say."""

    lines: dict[str, str]
    cause: dict[str, Any]
    severity: str = "warning"
    count: int | None = 1


@dataclass(frozen=True)
class Sick:
    """What a sick program must fire, in the order of the lines, and nothing else but ``also``."""

    rule: str
    findings: list[Expected] = field(default_factory=list)
    also: tuple[str, ...] = ()


def _setting(name: str) -> Expected:
    return Expected(
        {"guilty": f'os.environ["{name}"]'}, {"setting": name, "value": "1", "set_by": "program"}
    )


SICK = {
    "recompiling": Sick("XD101", [Expected(
        {"guilty": "torch_xla.sync()", "made": TO_DEVICE},
        {"kind": "input_shape", "basis": "hlo", "dimension": 1, "distinct_values": 17,
         "graphs": 17, "launches": 24, "settled": False},
        severity="error", count=17,
    )]),
    "dynamic_shape": Sick("XD102", [Expected(
        {"guilty": "loss = mse_loss(predictions[known], targets[known])"},
        {"op": "aten::nonzero", "in_backward": 18, "graphs": 13},
        severity="error", count=54,  # three a step, the first two steps being set-up
    )]),
    "scalar_read": Sick("XD201", [Expected(
        {"guilty": "running_loss += loss.item()"},
        {"kinds": ["item"], "share_of_steps": 1.0, "via": ""}, count=40,
    )]),
    "printing": Sick("XD202", [Expected(
        {"guilty": 'print("step", step, "loss", loss)'},
        {"kinds": ["repr"], "share_of_steps": 1.0}, count=40,
    )]),
    "tensor_transfer": Sick("XD203", [Expected(
        {"guilty": "predictions = logits.detach().cpu()"},
        {"kinds": ["cpu"], "share_of_steps": 1.0}, count=30,
    )]),
    "missing_barrier": Sick("XD301", [Expected(
        {"guilty": "optimizer.step()", "compiled": 'print(f"final loss'},
        {"optimizer_steps": 20, "barriers": 0, "graphs": 1}, count=20,
    )]),
    "missing_barrier_growing": Sick("XD301", [Expected(
        {"guilty": "optimizer.step()", "compiled": 'print(f"step {step} mean loss'},
        {"optimizer_steps": 30, "barriers": 0, "graphs": 3}, severity="error", count=30,
    )]),
    "missing_lowering": Sick("XD401", [Expected(
        {"guilty": "loss = huber_loss(model(inputs), targets)"},
        {"op": "aten::huber_loss", "in_backward": 28}, count=56,  # as above, two a step
    )]),
    "debug_settings": Sick("XD701", [
        _setting("XLA_IR_DEBUG"), _setting("XLA_HLO_DEBUG"), _setting("XLA_SYNC_WAIT"),
    ]),
    "large_upload": Sick("XD204", [Expected(
        {"guilty": "images, labels = images.to(device), labels.to(device)"}, {}, count=None,
    )]),
    "extra_barriers": Sick("XD302", [
        Expected({"guilty": "torch_xla.sync()  # runs the forward pass",
                  "due": "torch_xla.sync()  # runs the update"}, {}, severity="info", count=None),
        Expected({"guilty": "torch_xla.sync()  # runs the backward pass",
                  "due": "torch_xla.sync()  # runs the update"}, {}, severity="info", count=None),
    ]),
    "unrolled_loop": Sick("XD303", [Expected(
        {"guilty": "state = torch.tanh(state @ self.feedback + now)",
         "compiled": "torch_xla.sync()"}, {}, count=None,
    )]),
    "input_bound": Sick("XD501", [Expected({"guilty": "time.sleep(0.003)"}, {}, count=None)]),
    "many_small_operations": Sick("XD502", [Expected(
        {"guilty": "rows.append(-SLOPE * (positions - position).abs().float())"}, {}, count=None,
    )]),
    "frequent_checkpoint": Sick("XD503", [Expected(
        {"guilty": 'torch.save(model.state_dict(), folder / "checkpoint.pt")'}, {"how": "saved"},
        count=None,
    )]),
    "host_work": Sick("XD601", [Expected(
        {"guilty": "order = generator.permutation(SAMPLES)"}, {"sampled": True}, count=None,
    )]),
    "late_warm_up": Sick("XD901", [Expected({}, {}, severity="info", count=None)], also=("XD101",)),
}  # fmt: skip

#: Steps of the clean programs: their barriers come in six ways.
STEPS = {
    "mp_device_loader": 39, "occasional_item": 200, "optimizer_step": 40, "step_closure": 40,
    "step_context": 40, "step_trace": 40, "train_and_eval": 75, "two_threads": 40,
    "warmup_only": 40,
}  # fmt: skip
#: Bare and captured runs of these must print the same: reads, probed steps, shared devices.
COMPARED = ["clean/optimizer_step.py", "dynamic_shape.py", "printing.py", "scalar_read.py"]


def only(*names: str) -> pytest.MarkDecorator:
    """Parametrize the fixture ``example`` by programs of these names."""
    programs = [program for program in PROGRAMS if program.stem in names]
    marked = [pytest.param(p, id=p.stem, marks=pytest.mark.xdist_group(p.stem)) for p in programs]
    return pytest.mark.parametrize("example", marked, indirect=True)


def healthy() -> list[str]:
    """The healed twins and the clean programs."""
    return [program.stem for program in PROGRAMS if program.stem not in SICK]


def test_table_has_every_sick_program_and_every_clean_one() -> None:
    sick = {p.stem for p in EXAMPLES.glob("*.py") if not p.stem.endswith("_healed")}
    assert sick == set(SICK)
    assert {f"{name}_healed" for name in sick} == {p.stem for p in EXAMPLES.glob("*_healed.py")}
    assert {p.stem for p in EXAMPLES.glob("clean/*.py")} == set(STEPS)


@only(*SICK)
def test_sick_program_fires_exactly_its_rule_at_its_lines(example: Captured) -> None:
    sick = SICK[example.program.stem]
    report = example.report
    found = example.findings(sick.rule)

    assert sorted(report["rules"]["fired"]) == sorted((sick.rule, *sick.also))
    assert {f["rule"] for f in report["findings"]} == {sick.rule, *sick.also}
    assert len(found) == len(sick.findings)
    for finding, expected in zip(found, sick.findings, strict=True):
        lines = {place["role"]: (place["file"], place["line"]) for place in finding["locations"]}
        assert lines == {
            role: (str(example.program.relative_to(ROOT)), line_of(example.program, text))
            for role, text in expected.lines.items()
        }
        assert finding["cause"] == finding["cause"] | expected.cause
        assert expected.count in (finding["count"], None)
        assert LEVELS.index(finding["severity"]) >= LEVELS.index(expected.severity)


@only("recompiling")
def test_recompilation_names_both_shapes_and_every_value(example: Captured) -> None:
    (finding,) = example.findings("XD101")
    cause = finding["cause"]
    before, after = (
        [int(size) for size in shape.removeprefix("s64[").removesuffix("]").split(",")]
        for shape in (cause["from_shape"], cause["to_shape"])
    )

    assert before[0] == after[0] == 16
    assert before[1] != after[1]
    assert cause["values"] == sorted(set(cause["values"]))
    assert len(cause["values"]) == 17
    assert after[1] in cause["values"]
    assert "dimension 1 took 17 values" in finding["message"]


@only(*healthy())
def test_healthy_program_has_nothing_to_fix_and_every_rule_looked(example: Captured) -> None:
    report = example.report

    assert [f for f in report["findings"] if f["severity"] != "info"] == []
    assert report["not_checked"] == []
    assert report["rules"]["not_evaluated"] == []
    assert sorted(report["rules"]["fired"] + report["rules"]["clear"]) == RULES
    assert report["verdict"]["text"].endswith("; nothing to fix.")


@only(*STEPS)
def test_steps_of_a_clean_program_are_its_iterations(example: Captured) -> None:
    assert example.report["steps"]["count"] == STEPS[example.program.stem]


@only("two_threads")
def test_two_replicas_are_one_process_with_two_devices(example: Captured) -> None:
    report = example.report

    assert (report["run"]["processes"], report["run"]["devices"]) == (1, 2)


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, id=n, marks=pytest.mark.xdist_group(Path(n).stem)) for n in COMPARED],
)
def test_program_prints_what_it_prints_without_us(captured: Captures, name: str) -> None:
    bare = python(EXAMPLES / name)
    under_capture = captured(EXAMPLES / name).finished

    assert bare.status == under_capture.status == 0
    assert under_capture.stdout == bare.stdout
