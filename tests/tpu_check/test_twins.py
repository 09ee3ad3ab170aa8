"""Examples with one defect each, and their healed twins: the TPU's compiler distinguishes them.

Needs the interpreter of ``test_real.py``, which also runs the programs, on the CPU.
"""

from __future__ import annotations

import gzip
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from xladoctor import doctor
from xladoctor.diagnosis.pack import load_rules
from xladoctor.diagnosis.selection import Selection
from xladoctor.facts.tpu import TpuOperation
from xladoctor.ingest.frames import Folders
from xladoctor.ingest.protobuf_schema import message
from xladoctor.tpu_check.check import Request, check
from xladoctor.tpu_check.compiler.cache import Cache
from xladoctor.tpu_check.compiler.interpreter import clean_environment, find_compiler
from xladoctor.tpu_check.compiler.outcome import Compiled, DoesNotFit, Outcome
from xladoctor.tpu_check.compiler.run import Limits, compile_graph
from xladoctor.tpu_check.compiler.topology import parse_topology
from xladoctor.tpu_check.executable import read_executable
from xladoctor.tpu_check.graphs import find_graphs

PYTHON = os.environ.get("XLADOCTOR_TPU_PYTHON", "")
EXAMPLES = Path(__file__).parents[2] / "examples" / "tpu_check"
_MOVES = ("copy", "transpose", "reshape")
pytestmark = [
    pytest.mark.tpu_compiler,
    pytest.mark.skipif(not PYTHON, reason="XLADOCTOR_TPU_PYTHON names no interpreter with libtpu"),
]


def outcome_of(name: str, folder: Path) -> Outcome:
    """Run an example on the CPU, and compile its step for v5e."""
    _dump(name, folder)
    (graph,) = [each for each in find_graphs(folder).graphs if each.name == "jit_step"]
    compiler, cache = find_compiler(Path(PYTHON)), Cache(folder / "cache")
    return compile_graph(graph, parse_topology("v5e"), compiler, cache=cache)


def _dump(name: str, folder: Path) -> None:
    """Run an example on the CPU, which leaves its graphs in a folder."""
    environment = {**clean_environment(), "JAX_PLATFORMS": "cpu", "JAX_DUMP_IR_TO": str(folder)}
    program = EXAMPLES / f"{name}.py"
    subprocess.run([PYTHON, str(program)], env=environment, check=True, stdout=subprocess.PIPE)


class Twin:
    """An example's executable."""

    def __init__(self, name: str, folder: Path) -> None:
        found = outcome_of(name, folder)
        assert isinstance(found, Compiled), found
        content = gzip.decompress(found.module.read_bytes())
        self.memory = found.memory
        self.module: Any = message("HloModuleProto").FromString(content)
        self.written = read_executable(content, Folders(), 0, "v5e").operations

    def padding(self) -> float:
        """The share of what it writes that fills tiles."""
        taken = [(each.padded_bytes or each.bytes) * each.times for each in self.written]
        return 1 - sum(each.bytes * each.times for each in self.written) / sum(taken)

    def moved(self) -> list[TpuOperation]:
        """The large arrays that are only copied."""
        return [each for each in self.written if each.opcode in _MOVES and each.bytes > 1 << 18]

    def bytes_of(self, opcode: str) -> int:
        return sum(each.bytes * each.times for each in self.written if each.opcode == opcode)

    def computations_with(self, opcode: str) -> list[bool]:
        """For each computation with such an operation, whether it is the entry."""
        return [
            each.id == self.module.entry_computation_id
            for each in self.module.computations
            if any(instruction.opcode == opcode for instruction in each.instructions)
        ]


@pytest.fixture
def twins(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Twin, Twin]:
    """An example, and its healed twin."""
    (tmp_path / "sick").mkdir()
    (tmp_path / "healed").mkdir()
    name = request.param
    return Twin(name, tmp_path / "sick"), Twin(f"{name}_healed", tmp_path / "healed")


@pytest.mark.parametrize("twins", ["uneven_sizes", "uneven_channels"], indirect=True)
def test_sizes_that_fill_tiles_have_little_padding(twins: tuple[Twin, Twin]) -> None:
    sick, healed = twins
    assert sick.padding() > 0.25
    assert healed.padding() < 0.15


@pytest.mark.parametrize("twins", ["state_not_donated"], indirect=True)
def test_a_donated_state_is_held_once(twins: tuple[Twin, Twin]) -> None:
    sick, healed = twins
    assert not sick.module.input_output_alias.entries
    assert len(healed.module.input_output_alias.entries) == 6
    assert not sick.memory.aliased
    assert healed.memory.aliased == 6 * 1024 * 1024 * 4


@pytest.mark.parametrize("twins", ["sorted_scores"], indirect=True)
def test_a_sort_stays_outside_of_fusions(twins: tuple[Twin, Twin]) -> None:
    sick, healed = twins
    assert sick.bytes_of("sort") == 2 * 512 * 1024 * 4  # scores and their numbers
    assert healed.bytes_of("sort") == 0
    assert sick.moved()
    assert not healed.moved()


@pytest.mark.parametrize("twins", ["cut_alike"], indirect=True)
def test_layers_divided_in_turn_exchange_less(twins: tuple[Twin, Twin]) -> None:
    sick, healed = twins
    assert sick.bytes_of("all-gather") == 256 * 4096 * 2
    assert healed.bytes_of("all-gather") == 0
    assert healed.bytes_of("all-reduce") == 256 * 1024 * 2


@pytest.mark.parametrize("twins", ["summed_in_loop"], indirect=True)
def test_a_sum_in_a_loop_is_in_its_body(twins: tuple[Twin, Twin]) -> None:
    sick, healed = twins
    assert sick.computations_with("all-reduce") == [False]
    assert healed.computations_with("all-reduce") == [True]


def test_activations_that_are_computed_again_fit(tmp_path: Path) -> None:
    (tmp_path / "sick").mkdir()
    (tmp_path / "healed").mkdir()
    assert isinstance(outcome_of("kept_activations", tmp_path / "sick"), DoesNotFit)
    assert isinstance(outcome_of("kept_activations_healed", tmp_path / "healed"), Compiled)


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("uneven_sizes", "XD622"),
        ("turned_positions", "XD623"),
        ("float32_products", "XD624"),
        ("state_not_donated", "XD625"),
        ("sorted_scores", "XD627"),
        ("kept_activations", "XD620"),
    ],
)
def test_rules_find_the_defect_and_nothing_in_the_healed_twin(
    name: str, rule: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    sick, healed = (_judged(each, tmp_path / each) for each in (name, f"{name}_healed"))
    assert rule in sick
    assert rule not in healed


def _judged(name: str, folder: Path) -> list[str]:
    """The rules with findings in an example's step."""
    _dump(name, folder)
    compiler = find_compiler(Path(PYTHON))
    request = Request([parse_topology("v5e")], compiler, Limits(seconds=600), most=1)
    checked, _ = check(folder, request, lambda _: None)
    chosen = Selection(load_rules())
    return doctor.examine_tpu_check(checked, str(folder), chosen).rules.fired
