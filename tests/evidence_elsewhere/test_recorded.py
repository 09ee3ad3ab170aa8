"""Programs that were recorded without xladoctor: what is named from which kind of evidence.

The truth of each is in its example; what a kind of evidence cannot show is not asked of it.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.evidence_elsewhere.outcomes import CLEARS, FIRES
from tests.evidence_elsewhere.table import diagnosed, recorded, serious
from tests.live.harness import LIVE, PROGRAMS
from xladoctor.diagnosis.interface import Diagnosis
from xladoctor.ingest.interface import IngestError

pytestmark = LIVE

#: Program -> kind of evidence -> rules of which one has to come first. "" is all three together.
SHOWN: dict[str, dict[str, set[str]]] = {
    "recompiling": {"trace": {"XD101"}, "report": {"XD110"}, "log": {"XD110"}, "": {"XD101"}},
    "missing_barrier_growing": {
        "trace": {"XD301"},
        "report": {"XD301"},
        "log": {"XD301"},
        "": {"XD301"},
    },
    "scalar_read": {"trace": {"XD201"}, "report": {"XD201"}, "log": {"XD201"}, "": {"XD201"}},
    "missing_lowering": {"trace": {"XD201"}, "report": {"XD402"}, "log": {"XD201"}, "": {"XD402"}},
    "denoising": {"trace": {"XD305"}, "": {"XD305"}},
    "unrolled_cell": {"trace": {"XD303"}, "": {"XD303"}},
    "printing": {"trace": {"XD201"}},
    "frequent_checkpoint": {"trace": {"XD201"}},
    "branching": {"trace": {"XD105"}, "report": {"XD110"}, "": {"XD105"}},
    "annealed_exponent": {"trace": {"XD104"}, "report": {"XD110"}, "": {"XD104"}},
    "evicted": {"trace": {"XD109"}, "report": {"XD110"}, "log": {"XD109"}, "": {"XD109"}},
    "sequence_length": {"trace": {"XD101"}, "report": {"XD110"}, "": {"XD101"}},
    "input_type": {"trace": {"XD103"}, "": {"XD103"}},
    "growing_cache": {"trace": {"XD101"}, "report": {"XD110"}, "log": {"XD110"}, "": {"XD101"}},
    "accumulating_list": {"trace": {"XD106"}, "report": {"XD110"}, "log": {"XD106"}, "": {"XD106"}},
    "missing_detach": {"trace": {"XD107"}, "report": {"XD110"}, "": {"XD107"}},
    "dynamic_shape": {"trace": {"XD101"}, "report": {"XD102", "XD110"}, "": {"XD101", "XD102"}},
}
TYPICAL = {"scalar_read"}  # the others are thorough
Recording = Callable[[str], Path]
of_recording = cache(diagnosed)  # several tests ask the same of a recording, which stays as it is


@pytest.fixture(scope="session")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    """``recording(name)``: the folder with what was recorded of an example."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    programs = {program.stem: program for program in PROGRAMS}
    return lambda name: recorded(programs[name], shared / "recorded" / name)


def marked(healed: str = "") -> pytest.MarkDecorator:
    """Parametrize ``name`` by the programs; tests of one recording are in one group."""
    return pytest.mark.parametrize(
        "name",
        [
            pytest.param(
                name + healed,
                marks=[
                    pytest.mark.xdist_group(f"recorded-{name}{healed}"),
                    *[pytest.mark.thorough] * (name + healed not in TYPICAL),
                ],
            )
            for name in SHOWN
        ],
    )


def first(diagnosis: Diagnosis) -> str | None:
    return next(iter(serious(diagnosis)), None)


@marked()
def test_each_kind_of_evidence_names_what_it_can_show(name: str, recording: Recording) -> None:
    folder = recording(name)
    said = {kind: first(of_recording(folder, kind)) for kind in SHOWN[name]}
    assert {kind: rule for kind, rule in said.items() if rule not in SHOWN[name][kind]} == {}


@marked("_healed")
def test_healed_programs_have_no_finding_above_info(name: str, recording: Recording) -> None:
    folder = recording(name)
    assert {
        kind: serious(of_recording(folder, kind)) for kind in ("trace", "report", "log", "")
    } == {kind: [] for kind in ("trace", "report", "log", "")}


def excerpts(folder: Path, into: Path) -> Iterator[str]:
    """Write what people paste of a recorded program; the kinds of evidence that they are."""
    report = (folder / "report" / "metrics.txt").read_text()
    runtime = report.index("Metric: CompileTime")
    log = (folder / "log" / "analysis.txt").read_text()
    for kind, text in {
        "first half of the report": report[: report.rindex("\n", 0, runtime // 2) + 1],
        "runtime's part of the report": report[runtime:],
        "compilations of the log": "".join(
            line
            for line in log.splitlines(keepends=True)
            if not line.startswith("Execution Analysis: ")
        ),
    }.items():
        (into / kind).write_text(text)
        yield kind


@marked("")
@pytest.mark.parametrize("twin", ["", pytest.param("_healed", marks=pytest.mark.thorough)])
def test_each_rule_has_the_outcomes_that_its_evidence_allows(
    name: str, twin: str, recording: Recording, tmp_path: Path
) -> None:
    folder = recording(name + twin)
    said = {kind: of_recording(folder, kind) for kind in ("trace", "report", "log", "")}
    said |= {kind: diagnosed(tmp_path, kind) for kind in excerpts(folder, tmp_path)}
    fired = {kind: set(diagnosis.rules.fired) - FIRES[kind] for kind, diagnosis in said.items()}
    clear = {kind: set(diagnosis.rules.clear) - CLEARS[kind] for kind, diagnosis in said.items()}
    assert {kind: rules for kind, rules in fired.items() if rules} == {}
    assert {kind: rules for kind, rules in clear.items() if rules} == {}


@pytest.mark.thorough
@pytest.mark.xdist_group("recorded-recompiling_healed")
def test_what_the_evidence_can_show_to_be_clear_is(recording: Recording) -> None:
    folder = recording("recompiling_healed")
    clear = {
        kind: set(of_recording(folder, kind).rules.clear) for kind in ("trace", "report", "log")
    }
    assert clear == {kind: CLEARS[kind] for kind in clear}


@marked("")
@pytest.mark.parametrize("every", [23, pytest.param(2, marks=pytest.mark.thorough)])
def test_a_report_that_is_cut_at_any_line_calls_nothing_clear_that_the_whole_one_shows(
    name: str, every: int, recording: Recording, tmp_path: Path
) -> None:
    lines = (recording(name) / "report" / "metrics.txt").read_text().splitlines(keepends=True)
    shown = set(serious(of_recording(recording(name), "report")))
    missed = {}
    for number in range(2, len(lines), every):
        (tmp_path / "cut.txt").write_text("".join(lines[:number]))
        with contextlib.suppress(IngestError):
            if clear := shown & set(diagnosed(tmp_path, "cut.txt").rules.clear):
                missed[number] = clear
    assert missed == {}


@pytest.mark.thorough
@pytest.mark.xdist_group("recorded-recompiling")
def test_together_they_give_cause_line_and_cost(recording: Recording) -> None:
    """The trace has the graphs and the times, the log the lines."""
    finding = of_recording(recording("recompiling"), "").findings[0]
    assert finding.locations[0].file.endswith("recompiling.py")
    assert finding.locations[0].function == "train"
    assert finding.cost.seconds
    assert "changed shape" in finding.message
