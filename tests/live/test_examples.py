"""Every example: sick ones fire exactly their rule at its line, the others fire nothing."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.live.harness import (
    EXAMPLES,
    LIVE,
    PROGRAMS,
    ROOT,
    Captured,
    line_of,
    marks_of,
)
from xladoctor.diagnosis.pack import load_rules

pytestmark = LIVE

PACK = load_rules()
RULES = [
    rule.id for rule in PACK if "torch_xla" in rule.applies_to.frontends and rule.applies_to.to([])
]
#: What they find depends on what else the machine does; each is tested on made evidence.
BY_TIME = {rule.id for rule in PACK if rule.judged_by == "time"}
LEVELS = ["info", "warning", "error"]
TO_DEVICE = "inputs, targets = inputs.to(device), targets.to(device)"


@dataclass(frozen=True)
class Expected:
    """One finding: the beginnings of its lines by role, and what its cause must say.

    Where several lines are as good, ``lines`` is None.
    """

    lines: dict[str, str] | None
    cause: dict[str, Any]
    severity: str = "warning"
    count: int | None = 1


@dataclass(frozen=True)
class Sick:
    """What a sick program must fire, by line, with nothing else but ``also``; ``maybe`` is what it
    may fire on a slow machine.
    """

    rule: str
    findings: list[Expected] = field(default_factory=list)
    also: tuple[str, ...] = ()
    maybe: tuple[str, ...] = ()


def _setting(name: str) -> Expected:
    return Expected(
        {"guilty": f'os.environ["{name}"]'}, {"setting": name, "value": "1", "set_by": "program"}
    )


def _recompiled(
    rule: str,
    guilty: str | None,
    count: int | None,
    cause: dict[str, Any],
    also: tuple[str, ...] = (),
    **more: str,
) -> Sick:
    """Graphs compiled again: the lines of the cause, if it has one, of the barrier and, by their
    roles, others.
    """
    sync = "torch_xla.sync()"
    lines = {"guilty": guilty, "compiled": sync} if guilty else {"guilty": sync}
    lines |= more
    return Sick(rule, [Expected(lines, cause, severity="info", count=count)], also)


SICK = {
    "recompiling": Sick(
        "XD101",
        [
            Expected(
                {
                    "guilty": TO_DEVICE,
                    "compiled": "torch_xla.sync()",
                    "collated": "def collate(sentences):",
                },
                {
                    "kind": "input_shape",
                    "basis": "hlo",
                    "dimension": 1,
                    "distinct_values": 17,
                    "graphs": 17,
                    "launches": 24,
                    "settled": False,
                },
                severity="error",
                count=17,
            )
        ],
    ),
    "dynamic_shape": Sick(
        "XD102",
        [
            Expected(
                {"guilty": "loss = mse_loss(predictions[known], targets[known])"},
                {"op": "aten::nonzero", "in_backward": 18, "graphs": 11},
                severity="error",
                count=54,  # three a step, the first two steps being set-up
            )
        ],
    ),
    "scalar_read": Sick(
        "XD201",
        [
            Expected(
                {"guilty": "running_loss += loss.item()"},
                {"kinds": ["item"], "share_of_steps": 1.0, "via": ""},
                count=40,
            )
        ],
    ),
    "trainer_callbacks": Sick(
        "XD205",
        [
            Expected(
                {"guilty": 'self.accuracies.append(metrics["accuracy"].item())'},
                {"kinds": ["item"], "share_of_steps": 1.0, "via": ""},
                count=60,
            )
        ],
    ),
    "printing": Sick(
        "XD202",
        [
            Expected(
                {"guilty": 'print("step", step, "loss", loss)'},
                {"kinds": ["repr"], "share_of_steps": 1.0},
                count=40,
            )
        ],
    ),
    "tensor_transfer": Sick(
        "XD203",
        [
            Expected(
                {"guilty": "predictions = logits.detach().cpu()"},
                {"kinds": ["cpu"], "share_of_steps": 1.0},
                count=30,
            )
        ],
    ),
    "tensor_condition": Sick(
        "XD206",
        [
            Expected(
                {"guilty": "if loss < best:"},
                {"kinds": ["bool"], "share_of_steps": 1.0},
                count=40,
            )
        ],
    ),
    "checked_norm": Sick(
        "XD207",
        [
            Expected(
                {"guilty": "clip_grad_norm_(model"},
                {"kinds": ["bool"], "share_of_steps": 1.0, "via": "clip_grad_norm_"},
                count=80,
            )
        ],
    ),
    "waited_read": Sick(
        "XD208",
        [
            Expected(
                {"guilty": "total += loss.item()"},
                {"kinds": ["item"], "waits": True},
                count=40,
                severity="info",
            )
        ],
    ),
    "metric_on_host": Sick(
        "XD209",
        [
            Expected(
                {"guilty": "metric.update("},
                {"kinds": ["cpu"], "share_of_steps": 1.0},
                count=40,
            )
        ],
    ),
    "logged_loss": Sick(
        "XD210",
        [
            Expected(
                {"guilty": 'log.info("step'},
                {"kinds": ["item"], "share_of_steps": 1.0},
                count=40,
            )
        ],
    ),
    "losses_kept": Sick(
        "XD630",
        [
            Expected(
                {"guilty": "losses.append(loss)"},
                {"name": "losses", "keeps_graph": True},
                "info",
                None,
            )
        ],
    ),
    "missing_barrier": Sick(
        "XD301",
        [
            Expected(
                {"guilty": "optimizer.step()", "loop": "for inputs, targets in batches(STEPS):"},
                {"optimizer_steps": 20, "barriers": 0, "graphs": 1},
                count=20,
            )
        ],
    ),
    "optimizer_step_without_barrier": Sick(
        "XD307",
        [
            Expected(
                {
                    "guilty": "xm.optimizer_step(optimizer)",
                    "loop": "for inputs, targets in loader:",
                },
                {"optimizer_steps": 20, "barriers": 0, "graphs": 1},
                count=20,
            )
        ],
    ),
    "missing_barrier_growing": Sick(
        "XD301",
        [
            Expected(
                {"guilty": "optimizer.step()", "loop": "for step, (inputs, targets) in"},
                {"optimizer_steps": 30, "barriers": 0, "graphs": 3},
                severity="error",
                count=30,
            )
        ],
    ),
    "hand_written_update": Sick(
        "XD301",
        [
            Expected(
                {
                    "guilty": "history.append(float",
                    "loop": "for inputs, targets in batches(STEPS):",
                },
                {"optimizer_steps": 0, "barriers": 0, "graphs": 12},
                severity="error",
                count=12,
            )
        ],
        also=("XD201",),
    ),
    "adversarial": Sick(
        "XD301",
        [
            Expected(
                {"guilty": "self.forger.step()", "loop": "for step in range(1, STEPS + 1):"},
                {"optimizer_steps": 10, "barriers": 0, "graphs": 2},
                severity="error",
                count=10,
            )
        ],
    ),
    "missing_lowering": Sick(
        "XD402",
        [
            Expected(
                {"guilty": "loss = huber_loss(model(inputs), targets)"},
                {"op": "aten::huber_loss", "in_backward": 198},
                count=396,  # as above, two a step
            )
        ],
    ),
    "missing_lowering_loss": Sick(
        "XD402",
        [
            Expected(
                {"guilty": "return (risks.logcumsumexp"},
                {"op": "aten::_logcumsumexp", "in_backward": 396},
                count=594,
            )
        ],
    ),
    "missing_lowering_input": Sick(
        "XD402",
        [
            Expected(
                {"guilty": "loss = mse_loss(model(torch.bucketize"},
                {"op": "aten::bucketize.Tensor", "in_backward": 0},
                count=198,
            )
        ],
    ),
    "missing_lowering_volume": Sick(
        "XD401",
        [
            Expected(
                {"guilty": "return torch.linalg.cholesky_ex"},
                {"op": "aten::linalg_cholesky_ex", "in_backward": 0},
                count=98,
            )
        ],
    ),
    "debug_settings": Sick(
        "XD701",
        [
            _setting("XLA_IR_DEBUG"),
            _setting("XLA_HLO_DEBUG"),
            _setting("XLA_SYNC_WAIT"),
        ],
    ),
    "large_upload": Sick(
        "XD204",
        [
            Expected(
                {"guilty": "images, labels = images.to(device), labels.to(device)"},
                {},
                count=None,
                # fixing it gains 5%, on a busy machine less than the 2% of a warning
                severity="info",
            )
        ],
    ),
    "batches_sent_in_step": Sick(
        "XD306",
        [
            Expected(
                {
                    "guilty": "recordings, pitches = recordings.to(device)",
                    "made": "return DataLoader(",
                },
                {},
                count=None,
                severity="info",
            )
        ],
    ),
    "extra_barriers": Sick(
        "XD302",
        [
            Expected(
                {
                    "guilty": "torch_xla.sync()  # runs the forward pass",
                    "due": "torch_xla.sync()  # runs the update",
                },
                {},
                severity="info",
                count=None,
            ),
            Expected(
                {
                    "guilty": "torch_xla.sync()  # runs the backward pass",
                    "due": "torch_xla.sync()  # runs the update",
                },
                {},
                severity="info",
                count=None,
            ),
        ],
    ),
    "barrier_per_parameter": Sick(
        "XD302",
        [
            Expected(
                {"guilty": "torch_xla.sync()", "loop": "for inputs, targets in batches(STEPS):"},
                {"inner": 8},
                severity="info",
                count=None,
            )
        ],
    ),
    "unrolled_loop": Sick(
        "XD303",
        [
            Expected(
                {
                    "guilty": "state = torch.tanh(state @ self.feedback + now)",
                    "compiled": "torch_xla.sync()",
                },
                {},
                count=None,
            )
        ],
        maybe=("XD502",),
    ),
    "unrolled_cell": Sick(
        "XD303",
        [
            Expected(
                {"guilty": "state = kept * state", "compiled": "torch_xla.sync()"},
                {"kind": "loop"},
                count=40,
            )
        ],
        maybe=("XD502",),
    ),
    "accumulated_batches": Sick(
        "XD304",
        [
            Expected(
                {
                    "guilty": "loss = mse_loss(model(inputs), targets)",
                    "compiled": "torch_xla.sync()",
                },
                {"kind": "batches"},
                count=16,
            )
        ],
        maybe=("XD502",),
    ),
    "denoising": Sick(
        "XD305",
        [
            Expected(
                {
                    "guilty": "hidden = hidden + torch.tanh",
                    "compiled": 'print(f"batch {batch} mean',
                },
                {"kind": "turns", "trains": False},
                count=60,
            )
        ],
    ),
    "evaluation_without_barrier": Sick(
        "XD305",
        [
            Expected(
                {
                    "guilty": "losses.append(mse_loss(",
                    "loop": "for inputs, targets in batches(HELD",
                },
                {"kind": "reads", "op": "aten::add", "after": 1},
                count=7,
            )
        ],
    ),
    "label_around_barrier": Sick(
        "XD308",
        [
            Expected(
                {"guilty": "torch_xla.sync()"},
                {"label": "update"},
                severity="info",
                count=None,
            )
        ],
    ),
    "repeated_layers": Sick(
        "XD310",
        [
            Expected(
                {"guilty": "return tokens + torch.tanh(", "compiled": "torch_xla.sync()"},
                {"kind": "layers", "graphs": 1},
                severity="info",
                count=40,
            )
        ],
        maybe=("XD502",),
    ),
    "epoch_without_steps": Sick(
        "XD507",
        [
            Expected(
                {"guilty": "held_out = DataLoader("},
                {"batch_size": 64, "drop_last": True},
            )
        ],
    ),
    "optimizer_made_first": Sick(
        "XD316", [Expected({"guilty": "optimizer.step()"}, {}, count=None)]
    ),
    "eager_mode": Sick(
        "XD309",
        [
            Expected(
                {"guilty": "eager_mode(True)", "launched": "optimizer.step()"},
                {"graphs": 0},
                count=None,
            )
        ],
    ),
    "input_bound": Sick(
        "XD504",
        [
            Expected(
                {
                    "guilty": "for tones, pitches in DataLoader(Recordings()",
                    "made": "time.sleep(0.003)",
                },
                {},
                count=None,
                severity="info",  # on a busy machine it is hidden behind the device
            )
        ],
    ),
    "too_few_workers": Sick(
        "XD501",
        [
            Expected(
                {"guilty": "for tones, pitches in loader:"},
                {},
                count=None,
            )
        ],
    ),
    "outdated_settings": Sick(
        "XD704",
        [
            Expected({"guilty": 'os.environ["XLA_USE_BF16"]'}, {"works": True}, severity="info"),
            Expected({"guilty": 'os.environ["XRT_DEVICE_MAP"]'}, {"works": False}, severity="info"),
        ],
    ),
    "many_small_operations": Sick(
        "XD502",
        [
            Expected(
                {"guilty": "rows.append(-SLOPE * (positions - position).abs().float())"},
                {},
                count=None,
            )
        ],
        maybe=("XD303",),
    ),
    "small_operations_loss": Sick(
        "XD502",
        [
            Expected(
                None,
                {"stands_out": False},
                count=None,
                severity="info",
            )
        ],
        also=("XD303",),
    ),
    "frequent_checkpoint": Sick(
        "XD503",
        [
            Expected(
                {"guilty": 'torch.save(model.state_dict(), folder / "checkpoint.pt")'},
                {"how": "saved"},
                count=None,
            )
        ],
    ),
    "images_in_loop": Sick(
        "XD508",
        [
            Expected(
                {"guilty": "image = Image.open("},
                {"sampled": True},
                count=None,
            )
        ],
    ),
    "host_work": Sick(
        "XD601",
        [
            Expected(
                {"guilty": "order = generator.permutation(SAMPLES)"},
                {"sampled": True},
                count=None,
            )
        ],
    ),
    "batch_on_each_device": Sick(
        "XD644", [Expected({"guilty": "torch_xla.sync()"}, {"axis": "data"}, severity="info")]
    ),
    "late_warm_up": Sick("XD901", [Expected({}, {}, severity="info", count=None)], also=("XD101",)),
    "sequence_length": _recompiled(
        "XD101",
        "readings, lengths, labels = readings.to(device)",
        14,
        {
            "kind": "input_shape",
            "basis": "hlo",
            "role": "made",
            "dimension": 1,
            "settled": False,
        },
        collated="def collate(gestures):",
    ),
    "last_batch": _recompiled(
        "XD506",
        "inputs, labels = inputs.to(device)",
        1,
        {
            "kind": "input_shape",
            "dimension": 0,
            "pattern": "last_batch",
        },
        made="loader = DataLoader(",
    ),
    "partial_batch": _recompiled(
        "XD506",
        "images, labels = images.to(self.device)",
        1,
        {
            "kind": "input_shape",
            "dimension": 0,
            "pattern": "last_batch",
            "full": 24,
            "values": [4],
        },
        made="self.training = DataLoader(",
    ),
    "padding_collate": _recompiled(
        "XD101",
        "return {name: tensor.to(self.device)",
        8,
        {
            "kind": "input_shape",
            "role": "made",
            "dimension": 1,
            "settled": False,
        },
        collated="def collate(sentences):",
    ),
    "growing_cache": _recompiled(
        "XD101",
        "cache = torch.cat([cache",
        21,
        {
            "kind": "input_shape",
            "dimension": 1,
            "pattern": "grows",
        },
    ),
    "input_type": _recompiled(
        "XD103",
        "sounds, labels = sounds.to(device)",
        4,
        {
            "kind": "input_type",
            "basis": "hlo",
        },
    ),
    "annealed_exponent": _recompiled(
        "XD104",
        "return -(unsure**gamma",
        21,
        {
            "kind": "constant",
            "op": "aten::pow",
            "basis": "hlo",
        },
    ),
    "rolled_position": _recompiled(
        "XD104",
        "return torch.roll(signals",
        16,
        {
            "kind": "constant",
            "op": "aten::roll",
        },
    ),
    "indexed_schedule": _recompiled("XD104", "level = levels[step]", 21, {"kind": "constant"}),
    "special_scalar": _recompiled(
        "XD706",
        "loss = sum(weight * task_loss",
        None,
        {
            "kind": "constant",
            "op": "aten::mul",
        },
        also=("XD110",),
    ),
    "equal_scalars": _recompiled(
        "XD110", None, None, {"kind": "unknown", "basis": "hlo"}, also=("XD104",)
    ),
    "layer_drop": _recompiled("XD105", "features = layer(features)", 6, {"kind": "operations"}),
    "branching": _recompiled(
        "XD105",
        "features = features + block(features)",
        10,
        {
            "kind": "operations",
        },
    ),
    "accumulating_list": _recompiled(
        "XD106",
        "baseline = torch.stack(history)",
        21,
        {
            "kind": "input_count",
            "pattern": "grows",
        },
    ),
    "missing_detach": _recompiled(
        "XD107",
        "state = KEPT * state + torch.tanh",
        13,
        {
            "kind": "growing",
            "op": "aten::mul",
        },
    ),
    "growing_graph": Sick(
        "XD301",
        [
            Expected(
                {"guilty": "optimizer.step()", "loop": "for step, (inputs, targets) in"},
                {"optimizer_steps": 10, "barriers": 0},
                severity="error",
                count=10,
            )
        ],
        also=("XD201",),
    ),
    "left_over": Sick(
        "XD118",
        [
            Expected(
                {"guilty": "running += loss.detach()", "compiled": "torch_xla.sync()"},
                {"kind": "leftover", "barrier": 37},
                severity="info",
                count=2,
            )
        ],
    ),
    "donation": _recompiled("XD108", None, 1, {"kind": "placement", "op": "donated"}),
    "sharding": _recompiled("XD108", None, 2, {"kind": "placement", "op": "sharding"}),
    "evicted": _recompiled("XD109", None, 21, {"kind": "evicted", "basis": "hash", "graphs": 3}),
    "data_dependent": Sick(
        "XD102",
        [
            Expected(
                {"guilty": "rows = unsure.nonzero().squeeze(1)"},
                {"op": "aten::nonzero"},
                count=None,
            )
        ],
    ),
}
#: Programs whose few new graphs are information alone; those of the other causes are errors.
FEW = {"last_batch", "partial_batch", "donation", "sharding"}
# tests/live/test_third_party.py
THIRD_PARTY = {"transformers_unpadded", "diffusers_scheduler", "progress_bar"}

#: Steps of the clean programs: their barriers come in six ways.
STEPS = {
    "mp_device_loader": 39,
    "occasional_item": 200,
    "optimizer_step": 40,
    "step_closure": 40,
    "step_context": 40,
    "step_trace": 40,
    "train_and_eval": 75,
    "two_threads": 40,
    "warmup_only": 40,
}


#: They take four looks at memory: a loop of 33 steps, later ones on a busy machine.
BY_LOOKS = {"XD630", "XD631"}
#: Rules for accelerators, which a CPU cannot break.
FOR_ACCELERATORS = ["XD505", "XD602", "XD603", "XD605", "XD606", "XD705"]
#: Share of the wall time that is device work, overhead, a finding's, or named by its lines.
EXPLAINED = 0.95
FEW_SAMPLES_S = 0.25  # of Python give too few of them to name a line, above all on a busy machine


def only(*names: str) -> pytest.MarkDecorator:
    """Parametrize the fixture ``example`` by programs of these names."""
    programs = [program for program in PROGRAMS if program.stem in names]
    marked = [pytest.param(p, id=p.stem, marks=marks_of(p)) for p in programs]
    return pytest.mark.parametrize("example", marked, indirect=True)


def healthy() -> list[str]:
    """The healed twins and the clean programs."""
    return [p.stem for p in PROGRAMS if p.stem not in SICK and p.stem not in THIRD_PARTY]


def test_table_has_every_sick_program_and_every_clean_one() -> None:
    clean = {p.stem for p in EXAMPLES.glob("clean/*.py")}
    healed = {p.stem for p in PROGRAMS if p.stem.endswith("_healed")}
    sick = {p.stem for p in PROGRAMS} - clean - healed
    assert sick == set(SICK) | THIRD_PARTY
    assert {f"{name}_healed" for name in sick} == healed
    assert clean == set(STEPS)


@only(*sorted(p.stem for p in EXAMPLES.glob("recompilation/*.py") if p.stem in SICK))
def test_recompilation_that_goes_on_is_an_error(example: Captured) -> None:
    sick = SICK[example.program.stem]
    (finding,) = example.findings(sick.rule)
    assert (finding["severity"] == "info") == (example.program.stem in FEW)


@only(*SICK)
def test_sick_program_fires_exactly_its_rule_at_its_lines(example: Captured) -> None:
    sick = SICK[example.program.stem]
    report = example.report
    findings = example.findings(sick.rule)

    fired = {f["rule"] for f in report["findings"]}
    assert sorted(report["rules"]["fired"]) == sorted(fired)
    assert sick.rule in fired
    assert fired - BY_TIME == {sick.rule, *sick.also} - BY_TIME
    assert len(findings) == len(sick.findings)
    for finding, expected in zip(findings, sick.findings, strict=True):
        lines = {place["role"]: (place["file"], place["line"]) for place in finding["locations"]}
        assert expected.lines is None or lines == {
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
    assert "dimension 1 took 19 values" in finding["message"]  # with those of warm-up


@only(*healthy())
def test_healthy_program_has_nothing_to_fix_and_every_rule_looked(example: Captured) -> None:
    report = example.report

    serious = [finding for finding in report["findings"] if finding["severity"] != "info"]
    assert [finding for finding in serious if finding["rule"] not in BY_TIME] == []
    not_evaluated = report["rules"]["not_evaluated"]
    unheard = {"XD640"} if example.program.stem == "batch_on_each_device_healed" else set()
    looked = [rule for rule in not_evaluated if rule not in BY_LOOKS]
    assert looked == sorted({*FOR_ACCELERATORS, *unheard})
    judged = [*report["rules"]["fired"], *report["rules"]["clear"]]
    assert sorted([*judged, *not_evaluated]) == RULES
    assert serious or "to fix" not in report["verdict"]["text"].replace("nothing to fix", "")


@only(*SICK, *healthy())
def test_account_of_the_time_adds_up_and_leaves_little_unexplained(example: Captured) -> None:
    time = example.report["time"]
    assert sum(time["parts"].values()) == pytest.approx(time["total_s"] or time["loop_s"])
    left = 1 - time["explained"]["share"]
    assert left <= 1 - EXPLAINED or left * time["total_s"] < FEW_SAMPLES_S


@pytest.mark.thorough
@only(*healthy())
def test_healthy_program_loses_no_time_on_a_quiet_machine(example: Captured) -> None:
    assert [f for f in example.report["findings"] if f["severity"] != "info"] == []


@pytest.mark.thorough
@only(*SICK)
def test_sick_program_fires_nothing_else_on_a_quiet_machine(example: Captured) -> None:
    sick = SICK[example.program.stem]
    fired = {finding["rule"] for finding in example.report["findings"]}
    assert fired - set(sick.maybe) == {sick.rule, *sick.also}


@only(*STEPS)
def test_steps_of_a_clean_program_are_its_iterations(example: Captured) -> None:
    assert example.report["steps"]["count"] == STEPS[example.program.stem]


@only("two_threads")
def test_two_replicas_are_one_process_with_two_devices(example: Captured) -> None:
    report = example.report
    steps = example.log_lines("step")

    assert (report["run"]["processes"], report["run"]["devices"]) == (1, 2)
    assert sorted(Counter(line["thread"] for line in steps).values()) == [40, 40]
