"""Every example for JAX: sick ones fire exactly their rule at its line, as often as they do it;
healed twins have nothing to fix.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.live.harness import EXAMPLES, ROOT, Captured, Captures, line_of, marks_of
from xladoctor.diagnosis.pack import load_rules

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(find_spec("jax") is None, reason="jax is not installed"),
]

PROGRAMS = sorted((EXAMPLES / "jax").glob("*.py"))
README = EXAMPLES / "jax" / "README.md"
LEVELS = ["info", "warning", "error"]
PACK = load_rules()
#: What they find depends on what else the machine does; each is tested on made evidence.
BY_TIME = {rule.id for rule in PACK if rule.judged_by == "time"}
#: Rules for accelerators, which a CPU cannot break.
FOR_ACCELERATORS = {"XD505", "XD602", "XD603", "XD605", "XD606", "XD705"}
#: They take four looks at memory, which a busy machine puts off.
BY_LOOKS = {"XD630", "XD631"}
#: Compiled after warm-up: three of a line's launches are warm-up.
AGAIN = 57


@dataclass(frozen=True)
class Sick:
    """The rule, how its line begins, and how often it happens: None where the machine decides.

    A line has several findings if what it does is also done backward.
    """

    rule: str
    line: str
    count: int | None
    severity: str = "error"
    findings: int = 1


STEP = "params, loss = step(params, inputs, targets"
SICK = {
    # 26 of the 40 batches have a length that none before had, 3 of them in warm-up
    "changing_shapes": Sick("XD101", "params, loss = step(params, tokens)", 23),
    "counting_argument": Sick("XD104", STEP, AGAIN),
    "function_made_anew": Sick("XD112", "update = jax.jit(lambda p: ", AGAIN),
    "scan_of_a_lambda": Sick("XD112", "total, _ = jax.lax.scan(", AGAIN),
    "unrolled_pendulum": Sick("XD303", "for _ in range(TURNS)", None),
    "folded_table": Sick("XD121", "mixed = scores[order]", 2, "warning"),
    "number_as_state": Sick("XD113", "mean = 0.0", 1, "info"),
    "eager_update": Sick("XD311", "updates, state = optimizer.update(", None, "info"),
    "several_calls": Sick("XD312", "params = learn(", None, "info"),
    "loss_read": Sick("XD201", "total += float(loss)", 60, "warning"),
    "errors_kept": Sick("XD630", "errors.append(error)", None, "info"),
    "first_state_kept": Sick("XD631", "params = start()", 1, "info"),
    "loss_printed": Sick("XD202", 'print("loss", loss)', 60, "warning"),
    "outputs_read": Sick("XD203", "right += (np.sign(np.asarray(outputs))", 60, "warning"),
    "growing_list": Sick("XD106", "mean = average(losses)", AGAIN),
    "unplaced_state": Sick("XD115", "_, loss = train(start())", 1, "info"),
    "waited_step": Sick("XD211", "loss.block_until_ready()", 60, "warning"),
    "host_callback": Sick("XD313", "inputs = jax.pure_callback(", 60, "warning"),
    "repeated_layers": Sick("XD310", "return hidden + jnp.tanh(", 16, "info"),
    "many_leaves": Sick("XD318", "state = step(model, state)", None, "info"),
    "donation_refused": Sick("XD632", "@partial(jax.jit, donate_argnums=0)", 1, "info"),
    "involuntary_copy": Sick("XD640", "moved = field + force", 1, "info"),
    "unplaced_model": Sick("XD642", "batch = extract(model, batch)", None, "info"),
    "state_not_donated": Sick("XD604", "@jax.jit", 2, "info"),
    "out_of_memory": Sick("XD633", 'print(f"mean distance', 1),
    "stacked_activations": Sick("XD634", "mixed = jax.nn.gelu(hidden @ weights)", 1, "info"),
    "layout_and_back": Sick("XD641", "scaled = jax.lax.with", 1, "info"),
    "row_gathered": Sick("XD641", "hidden = jax.reshard(inputs @ ", 1, "info"),
    "moments_replicated": Sick("XD643", "state, loss = train(", 1, "info"),
    "table_replicated": Sick("XD643", "loss = step(", 1, "info"),
    "batch_not_divided": Sick("XD644", "params, loss = step(params, jax", 1, "info"),
    "gathered_in_each_turn": Sick("XD645", "whole = ", 1, "info", findings=2),
    "summed_in_each_turn": Sick("XD645", "grads = jax.lax.pmean(", 1, "info"),
    "debug_print": Sick("XD313", "jax.debug.print(", 60, "warning"),
}


def only(*names: str) -> pytest.MarkDecorator:
    """Parametrize the fixture ``example`` by programs of these names."""
    marked = [pytest.param(p, id=p.stem, marks=marks_of(p)) for p in PROGRAMS if p.stem in names]
    return pytest.mark.parametrize("example", marked, indirect=True)


@pytest.fixture(scope="session")
def example(request: pytest.FixtureRequest, captured: Captures) -> Captured:
    program: Path = request.param
    return captured(program)


def test_each_sick_program_has_a_twin_and_the_line_of_its_defect() -> None:
    names = {program.stem for program in PROGRAMS}
    sick = {name for name in names if not name.endswith("_healed")}
    assert names == sick | {f"{name}_healed" for name in sick}
    assert sick == {*SICK}
    rows = re.findall(r"^\| \[(\w+)\.py\].*\| (\d+) \|$", README.read_text(encoding="utf-8"), re.M)
    assert {name for name, _ in rows} == sick
    for name, row in SICK.items():
        program = EXAMPLES / "jax" / f"{name}.py"
        assert 0 <= line_of(program, row.line) - int(dict(rows)[name]) <= 2


@only(*SICK)
def test_sick_program_fires_its_rule_at_its_line(example: Captured) -> None:
    sick = SICK[example.program.stem]
    findings = example.findings(sick.rule)

    assert len(findings) == sick.findings
    finding = findings[0]
    here = (str(example.program.relative_to(ROOT)), line_of(example.program, sick.line))
    assert here in [
        (place["file"], place["line"])
        for place in finding["locations"]
        if place["role"] in ("guilty", "caller")
    ]
    assert finding["count"] == sick.count or sick.count is None
    assert LEVELS.index(finding["severity"]) >= LEVELS.index(sick.severity)
    others = {f["rule"] for f in example.report["findings"] if f["severity"] != "info"}
    assert others - BY_TIME <= {sick.rule}


@only(*(program.stem for program in PROGRAMS if program.stem.endswith("_healed")))
def test_healthy_program_has_nothing_to_fix_and_every_rule_looked(example: Captured) -> None:
    report = example.report

    serious = {f["rule"] for f in report["findings"] if f["severity"] != "info"}
    assert serious - BY_TIME == set()
    not_evaluated = set(report["rules"]["not_evaluated"]) - BY_TIME - BY_LOOKS
    assert not_evaluated == FOR_ACCELERATORS - BY_TIME
