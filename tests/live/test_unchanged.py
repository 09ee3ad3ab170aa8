"""A captured program computes the same graphs and numbers as a bare one."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from tests.live.harness import LIVE, PROGRAMS, Captures, bare, settings_of

pytestmark = LIVE

#: Threads, whose order is chance.
_UNORDERED = {"two_threads"}

#: A program of each kind; of all of them is a thorough test.
_OF_EACH_KIND = {
    "dynamic_shape",
    "scalar_read_healed",
    "donation",
}


def marks(program: Path) -> list[pytest.MarkDecorator]:
    group = pytest.mark.xdist_group(program.stem)
    return [group] if program.stem in _OF_EACH_KIND else [group, pytest.mark.thorough]


def graphs(log: Path) -> Counter[str]:
    """Hashes of the graphs that an analysis log names."""
    text = log.read_text() if log.exists() else ""
    return Counter(re.findall(r"Compilation Analysis: .*Graph Hash: ([0-9a-f]+)", text))


@pytest.mark.parametrize(
    "program",
    [
        pytest.param(program, id=f"{program.parent.name}/{program.stem}", marks=marks(program))
        for program in PROGRAMS
    ],
)
def test_graphs_and_numbers_are_the_same(program: Path, captured: Captures, tmp_path: Path) -> None:
    run = captured(program)
    alone, compiled = bare(program, tmp_path / "log", env=settings_of(program))

    assert alone.status == run.finished.status == 0
    printed = alone.stdout.splitlines()
    if program.stem in _UNORDERED:
        assert sorted(run.finished.stdout.splitlines()) == sorted(printed)
        return
    assert run.finished.stdout.splitlines() == printed
    assert graphs(run.process / "analysis.log") == graphs(tmp_path / "log")
    report = (run.process / "metrics.txt").read_text()
    counted = re.search(r"Counter: UncachedCompile\n  Value: (\d+)", report)
    assert int(counted[1] if counted else 0) == compiled
