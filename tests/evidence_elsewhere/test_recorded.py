"""Programs that were recorded without xladoctor: what is named from which kind of evidence.

The truth of each is in its example; what a kind of evidence cannot show is not asked of it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.evidence_elsewhere.table import diagnosed, recorded, serious
from tests.live.harness import LIVE, PROGRAMS
from xladoctor.diagnosis.interface import Diagnosis

pytestmark = LIVE

#: Program -> kind of evidence -> rules of which one has to come first. "" is all three together.
SHOWN: dict[str, dict[str, set[str]]] = {
    "recompiling": {"trace": {"XD101"}, "report": {"XD110"}, "log": {"XD110"}, "": {"XD101"}},
    "missing_barrier_growing": {
        "trace": {"XD301"}, "report": {"XD301"}, "log": {"XD301"}, "": {"XD301"}
    },
    "scalar_read": {"trace": {"XD201"}, "report": {"XD201"}, "": {"XD201"}},
    "missing_lowering": {"trace": {"XD201"}, "report": {"XD401"}, "": {"XD401"}},
    "printing": {"trace": {"XD201"}},
    "frequent_checkpoint": {"trace": {"XD201"}},
    "branching": {"trace": {"XD105"}, "report": {"XD110"}, "": {"XD105"}},
    "annealed_exponent": {"trace": {"XD104"}, "report": {"XD110"}, "": {"XD104"}},
    "evicted": {"trace": {"XD109"}, "report": {"XD110"}, "log": {"XD109"}, "": {"XD109"}},
    "sequence_length": {"trace": {"XD101"}, "report": {"XD110"}, "": {"XD101"}},
    "input_type": {"trace": {"XD103"}, "": {"XD103"}},
    "growing_cache": {"trace": {"XD101"}, "report": {"XD110"}, "log": {"XD110"}, "": {"XD101"}},
    "accumulating_list": {
        "trace": {"XD106"}, "report": {"XD110"}, "log": {"XD106"}, "": {"XD106"}
    },
    "missing_detach": {"trace": {"XD107"}, "report": {"XD110"}, "": {"XD107"}},
    "dynamic_shape": {"trace": {"XD101"}, "report": {"XD102", "XD110"}, "": {"XD101", "XD102"}},
}  # fmt: skip
TYPICAL = {"recompiling", "missing_barrier_growing"}  # the others are thorough
Recording = Callable[[str], Path]


@pytest.fixture(scope="session")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    """``recording(name)``: the folder with what was recorded of an example."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    programs = {program.stem: program for program in PROGRAMS}
    return lambda name: recorded(programs[name], shared / "recorded" / name)


def marked(healed: str = "") -> pytest.MarkDecorator:
    """Parametrize ``name`` by the programs; tests of one recording are in one group."""
    return pytest.mark.parametrize("name", [
        pytest.param(name + healed, marks=[pytest.mark.xdist_group(f"recorded-{name}{healed}"),
                                           *[pytest.mark.thorough] * (name not in TYPICAL)])
        for name in SHOWN
    ])  # fmt: skip


def first(diagnosis: Diagnosis) -> str | None:
    return next(iter(serious(diagnosis)), None)


@marked()
def test_each_kind_of_evidence_names_what_it_can_show(name: str, recording: Recording) -> None:
    folder = recording(name)
    said = {kind: first(diagnosed(folder, kind)) for kind in SHOWN[name]}
    assert {kind: rule for kind, rule in said.items() if rule not in SHOWN[name][kind]} == {}


@marked("_healed")
def test_healed_programs_have_no_finding_above_info(name: str, recording: Recording) -> None:
    folder = recording(name)
    assert {kind: serious(diagnosed(folder, kind)) for kind in ("trace", "report", "log", "")} == {
        kind: [] for kind in ("trace", "report", "log", "")
    }


@marked()
def test_nothing_is_called_clear_that_the_evidence_cannot_show(
    name: str, recording: Recording
) -> None:
    """Lines of reads, samples of Python and sizes of uploads are in none of the three."""
    folder = recording(name)
    unseen = {"XD202", "XD203", "XD204", "XD302", "XD501", "XD502", "XD503", "XD701", "XD702"}
    for kind in ("trace", "report", "log", ""):
        assert not unseen & set(diagnosed(folder, kind).rules.clear), kind


@pytest.mark.xdist_group("recorded-recompiling")
def test_together_they_give_cause_line_and_cost(recording: Recording) -> None:
    """The trace has the graphs and the times, the log the lines."""
    finding = diagnosed(recording("recompiling"), "").findings[0]
    assert finding.locations[0].file.endswith("recompiling.py")
    assert finding.locations[0].function == "train"
    assert finding.cost.seconds
    assert "changed shape" in finding.message
