"""Every example for torch.compile: sick ones fire their rule at its line, and healed twins have
nothing to fix.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.live.harness import EXAMPLES, ROOT, Captured, Captures, line_of, marks_of, python
from xladoctor.diagnosis.pack import load_rules

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed"),
]

FOLDER = EXAMPLES / "torch_compile"
PROGRAMS = sorted(FOLDER.glob("*.py"))
#: What they find depends on what else the machine does; each is tested on made evidence.
BY_TIME = {rule.id for rule in load_rules() if rule.judged_by == "time"}
#: What they judge is launched on a GPU.
OF_A_GPU = {rule.id for rule in load_rules() if "host_op" in rule.needs}
#: Compiled after warm-up, until the limit of eight is reached; calls after that.
AGAIN, LATER = 5, 32


@dataclass(frozen=True)
class Sick:
    """The rule, how its line begins, how often it happens, and what else follows from it."""

    rule: str
    line: str
    count: int
    others: frozenset[str] = frozenset()


CALL, LIMIT = "loss = compiled(", frozenset({"XD116"})
SICK = {
    "fixed_shapes": Sick("XD101", CALL, AGAIN, LIMIT),
    "counting_attribute": Sick("XD104", "self.steps += 1", AGAIN, LIMIT),
    "text_argument": Sick("XD104", "return self.last(", AGAIN, LIMIT),
    "growing_list": Sick("XD106", "self.past.append(", AGAIN, LIMIT),
    "function_made_anew": Sick("XD112", "return self.last(", AGAIN, LIMIT),
    "tensor_branch": Sick("XD314", "if y.mean()", 40),
    "item_in_step": Sick("XD314", "self.largest = max(", 40, LIMIT | {"XD104"}),
    "print_in_step": Sick("XD314", 'print("hidden"', 40),
    "print_in_layers": Sick("XD314", 'print("hidden"', 40),
    "logging_in_step": Sick("XD314", "logging.getLogger(", 40),
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
    assert names == {*SICK} | {f"{name}_healed" for name in SICK}
    readme = (FOLDER / "README.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| \[(\w+)\.py\].*\| (\d+) \|$", readme, re.M))
    assert {name: int(line) for name, line in rows.items()} == {
        name: line_of(FOLDER / f"{name}.py", sick.line) for name, sick in SICK.items()
    }


@only(*SICK)
def test_sick_program_fires_its_rule_at_its_line(example: Captured) -> None:
    sick = SICK[example.program.stem]
    (finding,) = example.findings(sick.rule)

    here = (str(example.program.relative_to(ROOT)), line_of(example.program, sick.line))
    places = [(place["file"], place["line"]) for place in finding["locations"]]
    assert places[0] == here
    if sick.line != CALL and sick.rule != "XD314":
        assert places[1] == (here[0], line_of(example.program, CALL))
    assert finding["count"] == sick.count
    assert finding["severity"] != "info"
    others = {f["rule"] for f in example.report["findings"] if f["severity"] != "info"}
    assert others - BY_TIME <= {sick.rule} | sick.others
    if sick.rule == "XD101":
        assert finding["cause"]["dynamic"] is False
        assert "dynamic=False" in finding["message"]
    for limit in example.findings("XD116"):
        assert (limit["count"], limit["severity"]) == (LATER, "error")


@only(*(program.stem for program in PROGRAMS if program.stem.endswith("_healed")))
def test_healed_program_has_nothing_to_fix_and_every_rule_looked(example: Captured) -> None:
    report = example.report

    serious = {f["rule"] for f in report["findings"] if f["severity"] != "info"}
    assert serious - BY_TIME == set()
    assert set(report["rules"]["not_evaluated"]) - BY_TIME - OF_A_GPU == set()
    assert "XD315" in report["rules"]["clear"]


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["counting_attribute", "growing_list", "item_in_step"])
def test_state_in_tensors_trains_alike(name: str) -> None:
    """A tensor that the compiled function changes in place is another one in its backward pass."""
    sick, healed = (python(f"{name}{twin}.py", cwd=FOLDER).stdout for twin in ("", "_healed"))
    assert sick.startswith("final loss")
    assert healed == sick
