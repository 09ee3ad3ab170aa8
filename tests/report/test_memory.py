"""What takes memory, on a terminal and as JSON."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from tests.cli.command import ROOT
from tests.cli.forked import called
from tests.report.diagnoses import MEMORY
from tests.report.snapshots import assert_as_before
from tests.report.test_terminal import columns
from xladoctor.diagnosis.memory import grouped
from xladoctor.diagnosis.memory_use import Memory
from xladoctor.evidence.row import Row
from xladoctor.report import memory as report
from xladoctor.report.interface import Style

SNAPSHOTS = Path(__file__).parent / "memory_snapshots"


def shown(memory: Memory, limit: int = 20, **style: object) -> str:
    output = io.StringIO()
    report.render(memory, limit, output, Style(**{"width": 80, **style}))  # type: ignore[arg-type]
    return output.getvalue()


@pytest.mark.parametrize("width", [40, 80, 140])
def test_on_a_terminal(width: int) -> None:
    text = shown(MEMORY, width=width)
    assert_as_before(SNAPSHOTS / f"memory-{width}.txt", text)
    assert max(map(columns, text.splitlines())) <= width


def test_a_limit_says_how_much_is_left_out() -> None:
    assert "3 more" in shown(MEMORY, 2)
    assert "more" not in shown(MEMORY, 0)


def test_json_has_all_of_it() -> None:
    output = io.StringIO()
    report.render_json(MEMORY, output, Style())
    first, *others = json.loads(output.getvalue())["programs"]
    assert (first["name"], first["bytes"], len(others)) == ("train_step", 150 << 20, 2)
    assert first["held"][1] == {
        "role": "parameters",
        "what": "state.params…",
        "location": None,
        "bytes": 30 << 20,
        "arrays": 24,
        "reused": True,
    }


def argument(name: str | None, size: int = 8, *, reused: bool = False) -> Row:
    return {
        "role": "argument",
        "bytes": size,
        "count": 1,
        "reused": reused,
        "op_name": name,
        "opcode": "parameter",
        "type": "f32",
        "shape": [2],
        "made_file": None,
        "made_line": None,
        "made_function": None,
    }


def roles(*rows: Row) -> list[tuple[str, str, int]]:
    return [(each.role, each.what, each.arrays) for each in grouped(rows, lambda _: None)]


def test_arguments_are_put_together_by_the_beginning_of_their_paths() -> None:
    layers = [argument(f"state.params['layer{n}']['w']", 100) for n in range(20)]
    moments = [argument(f"state.opt_state[0].mu['layer{n}']['w']", 50) for n in range(20)]
    assert roles(*layers, *moments, argument("batch['x']")) == [
        ("parameters", "state.params…", 20),
        ("optimizer state", "state.opt_state…", 20),
        ("argument", "batch['x'] f32[2]", 1),
    ]


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("params['w']", "parameters"),
        ("weights", "parameters"),
        ("opt_state[0].nu['w']", "optimizer state"),
        ("state['momentum']['w']", "optimizer state"),
        ("adam_opt_state[1]", "optimizer state"),
        ("mu", "optimizer state"),
        ("multiplier", "argument"),
        ("optional", "argument"),
        ("x", "argument"),
    ],
)
def test_roles_of_arguments_follow_their_names(name: str, role: str) -> None:
    assert [found for found, *_ in roles(argument(name))] == [role]


def test_an_argument_without_a_path_is_known_by_its_line() -> None:
    assert roles(argument(None, 8), argument("jit(f)/a/b", 16)) == [("argument", "f32[2]", 2)]


def test_a_run_without_a_plan_of_memory_says_so() -> None:
    done = called("memory", ROOT / "sample_traces" / "graph_breaks")
    assert done.returncode == 2
    assert "no compiled program that says what it has in memory" in done.stderr
