"""What a trace's replay says that a fix saves, held against the same loop simulated without it."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.chrome.simulator import Act, Machine
from xladoctor.diagnosis.engine import diagnose
from xladoctor.diagnosis.finding import Saving
from xladoctor.diagnosis.pack import load_rules
from xladoctor.doctor import load_evidence

FAST: list[Act] = [("op", 20.0, 30.0)] * 20  # the device's time counts
SLOW: list[Act] = [("op", 60.0, 10.0)] * 20  # the host's
ITEM, COPY, AFTER, PYTHON = ("item",), ("copy",), ("copy", False), ("python", 300.0)
INPUT, AHEAD = ("input", 2_500.0), ("ahead", 2_500.0)
STEPS = 24


def saving(folder: Path, acts: Sequence[Act], rule: str) -> Saving:
    """What the fix of the one finding of a rule saves in a loop of these acts."""
    machine = Machine()
    now = machine.run(acts, STEPS)
    diagnosis = diagnose(load_evidence(str(machine.trace.write(folder / "a.json"))), load_rules())
    (found,) = (finding.saving for finding in diagnosis.findings if finding.rule == rule)
    if found.now_ms is not None:
        assert found.now_ms * 1e3 == pytest.approx(now, rel=0.05)
    return found


@pytest.mark.parametrize(
    ("acts", "healed", "rule"),
    [
        ([*FAST, ITEM, PYTHON], [*FAST, PYTHON], "XD201"),
        ([*SLOW, ITEM, PYTHON], [*SLOW, PYTHON], "XD201"),
        ([*FAST, ITEM, *FAST, PYTHON, ITEM], [*FAST, *FAST, PYTHON], "XD201"),
        ([*FAST, ITEM, *SLOW], [*FAST, *SLOW], "XD201"),
        ([PYTHON, *FAST, COPY, PYTHON], [PYTHON, *FAST, AFTER, PYTHON], "XD201"),
        ([INPUT, *FAST], [AHEAD, *FAST], "XD501"),
        ([INPUT, *FAST, ITEM], [AHEAD, *FAST, ITEM], "XD501"),
        ([INPUT, *SLOW, *SLOW, *SLOW], [AHEAD, *SLOW, *SLOW, *SLOW], "XD501"),
    ],
)
def test_a_step_after_the_fix_is_as_the_replay_says(
    tmp_path: Path, acts: list[Act], healed: list[Act], rule: str
) -> None:
    found = saving(tmp_path, acts, rule)

    assert found.basis == "estimate"
    assert found.after_ms is not None
    assert found.after_ms * 1e3 == pytest.approx(Machine().run(healed, STEPS), rel=0.05)


@pytest.mark.parametrize("seed", range(6))
def test_any_loop_without_its_reads_is_as_fast_as_the_replay_says(
    tmp_path: Path, seed: int
) -> None:
    chance = random.Random(seed)
    acts: list[Act] = [ITEM]
    for _ in range(chance.randint(1, 4)):
        acts += [
            ("op", chance.uniform(10, 80), chance.uniform(5, 120))
            for _ in range(chance.randint(5, 40))
        ]
        acts += [("python", chance.uniform(0, 500)), *[ITEM] * chance.randint(0, 2)]
    found = saving(tmp_path, acts, "XD201")

    assert found.after_ms is not None
    healed = Machine().run([act for act in acts if act != ITEM], STEPS)
    assert found.after_ms * 1e3 == pytest.approx(healed, rel=0.1)


def test_launches_in_one_graph_save_no_more_than_the_bound(tmp_path: Path) -> None:
    launched: list[Act] = [("op", 40.0, 6.0)] * 100
    found = saving(tmp_path, [*launched, PYTHON], "XD607")

    assert found.basis == "bound"
    assert found.per_step_ms is not None
    now = Machine().run([*launched, PYTHON], STEPS)
    saved = now - Machine().run([("graph", *[6.0] * 100), PYTHON], STEPS)
    assert saved * 0.99 <= found.per_step_ms * 1e3 <= saved * 1.1
