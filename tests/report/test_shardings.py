"""How arrays are divided and what moves, on a terminal and as JSON."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.cli.command import ROOT
from tests.cli.forked import called
from tests.report.diagnoses import SHARDINGS
from tests.report.snapshots import assert_as_before
from tests.report.test_terminal import columns
from xladoctor.diagnosis.sharding_use import DividedProgram
from xladoctor.report import shardings as report
from xladoctor.report.interface import Style

SNAPSHOTS = Path(__file__).parent / "shardings_snapshots"


def shown(shardings: list[DividedProgram], limit: int = 20, **style: object) -> str:
    output = io.StringIO()
    report.render(shardings, limit, output, Style(**{"width": 80, **style}))  # type: ignore[arg-type]
    return output.getvalue()


@pytest.mark.parametrize("width", [40, 80, 140])
def test_on_a_terminal(width: int) -> None:
    text = shown(SHARDINGS, width=width)
    assert_as_before(SNAPSHOTS / f"shardings-{width}.txt", text)
    assert max(map(columns, text.splitlines())) <= width


def test_a_limit_says_how_much_is_left_out() -> None:
    assert "3 more" in shown(SHARDINGS, 1)
    assert "more" not in shown(SHARDINGS, 0)


def test_bytes_are_of_a_step_where_it_is_known_how_often_that_runs_the_program() -> None:
    _, evaluate, _ = SHARDINGS
    assert "a device receives 1 MiB a step" in report.title(evaluate)
    unknown = replace(evaluate, runs_a_step=None)
    assert "a device receives 4 MiB a run" in report.title(unknown)
    assert [title for title, *_ in report.tables(unknown)] == ["What moves in a run"]


def test_json_has_all_of_it() -> None:
    output = io.StringIO()
    report.render_json(SHARDINGS, output, Style())
    first, *others = json.loads(output.getvalue())
    assert (first["name"], first["mesh"], len(others)) == ("train_step", "data=4, model=2", 2)
    assert first["arrays"][2]["given"] == "(None, None)"
    assert first["moved"][2]["bytes"] == 2 << 20


def test_a_run_for_one_device_says_so() -> None:
    done = called("shardings", ROOT / "sample_traces" / "recompiling")
    assert (done.returncode, done.stdout.strip()) == (0, report.NONE)


def test_a_run_without_compiled_programs_says_so() -> None:
    done = called("shardings", ROOT / "sample_traces" / "graph_breaks")
    assert done.returncode == 2
    assert "no compiled program" in done.stderr
