"""Programs with several defects are healed by following their reports."""

from __future__ import annotations

import shutil
from pathlib import Path
from statistics import median

import pytest

from tests.journeys.journey import JOURNEYS, follow, kept, names, programs, travelled
from tests.live.harness import LIVE

each_journey = pytest.mark.parametrize("name", names())
#: What Python needs of the device in each turn, the actions of an agent, stays a finding.
STAY = {"ppo": {"XD203"}, "actor_critic": {"XD201"}}


@each_journey
def test_rounds_follow_each_other(name: str, tmp_path: Path) -> None:
    start, expert = programs(name)
    program = tmp_path / "program.py"
    shutil.copy(start, program)
    for patch in sorted((JOURNEYS / name).glob("*.patch")):
        follow(patch, program)
        compile(program.read_text(encoding="utf-8"), str(program), "exec")
    assert expert.is_file()


def test_journeys_were_short_and_are_over() -> None:
    tried = kept()
    assert set(tried) == set(names())
    assert median(journey.rounds for journey in tried.values()) <= 3
    left = {name: set(journey.stages[-1].findings) for name, journey in tried.items()}
    assert {name: rules - STAY.get(name, set()) for name, rules in left.items()} == {
        name: set() for name in tried
    }


@pytest.mark.thorough
@each_journey
class TestLive:
    pytestmark = LIVE

    def test_journey_is_over(self, name: str, tmp_path: Path) -> None:
        journey = travelled(name, tmp_path, repeats=1)
        assert set(journey.stages[-1].findings) <= STAY.get(name, set())
