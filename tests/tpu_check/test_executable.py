"""What executables of a TPU write, as its compiler made them; see ``record.py``."""

from __future__ import annotations

import gzip
import math
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.json_format import ParseDict
from google.protobuf.message import DecodeError
from hypothesis import given
from hypothesis import strategies as st

from xladoctor.facts.tpu import TpuOperation
from xladoctor.ingest.frames import Folders
from xladoctor.ingest.hlo.groups import group_of
from xladoctor.ingest.hlo.layout import padded_elements
from xladoctor.ingest.protobuf_schema import message
from xladoctor.tpu_check.executable import Executable, read_executable

RECORDED = Path(__file__).with_name("recorded")
MAIN = "tests/tpu_check/record.py"


def recorded(name: str) -> bytes:
    return gzip.decompress((RECORDED / f"{name}.pb.gz").read_bytes())


def executable(content: bytes) -> Executable:
    return read_executable(content, Folders(), 0, "v5e")


def written(name: str) -> list[TpuOperation]:
    return executable(recorded(name)).operations


def padding(operations: Sequence[TpuOperation]) -> float:
    """The share of what is written that fills tiles."""
    taken = sum((each.padded_bytes or 0) * each.times for each in operations)
    return 1 - sum(each.bytes * each.times for each in operations) / taken


def test_sizes_that_fill_tiles_are_not_padded() -> None:
    assert padding(written("multiples")) < 0.001
    assert padding(written("odd_sizes")) == pytest.approx(0.208, abs=0.001)


@pytest.mark.parametrize(("name", "bytes_"), [("multiples", 1310720), ("odd_sizes", 3010560)])
def test_arguments_take_what_the_compiler_says(name: str, bytes_: int) -> None:
    """``argument_size_in_bytes``, as :file:`record.py` printed it."""
    module = message("HloModuleProto").FromString(recorded(name))
    (entry,) = (each for each in module.computations if each.id == module.entry_computation_id)
    width = {11: 4, 16: 2}  # of f32 and bf16
    taken = 0
    for instruction in entry.instructions:
        if instruction.opcode == "parameter":
            shape = instruction.shape
            tiles = [tile.dimensions for tile in shape.layout.tiles]
            elements = padded_elements(shape.dimensions, shape.layout.minor_to_major, tiles)
            taken += width[shape.element_type] * (elements or 0)
    assert taken == bytes_


def test_arrays_have_layout_memory_and_line() -> None:
    largest = max(written("odd_sizes"), key=lambda array: (array.bytes, array.op_name))

    assert (largest.type, largest.shape, largest.times) == ("f32", (515, 515), 2)
    assert largest.layout == "{1,0:T(8,128)}"
    assert (largest.memory, largest.bytes, largest.padded_bytes) == ("hbm", 1060900, 1331200)
    assert largest.stored == (520, 640)
    assert str(largest.file).endswith(MAIN)
    assert largest.line is not None


def test_transfers_count_once_and_views_not_at_all() -> None:
    opcodes = {array.opcode for array in written("odd_sizes")}

    assert "copy-done" in opcodes
    assert not opcodes & {"copy-start", "slice-start", "bitcast", "parameter", "tuple"}


def test_what_a_loop_writes_counts_for_each_turn() -> None:
    module = message("HloModuleProto")(entry_computation_id=1)
    for number, opcode in ((1, "while"), (2, "add")):
        computation = module.computations.add(id=number)
        instruction = computation.instructions.add(name=opcode, opcode=opcode)
        instruction.shape.element_type = 11
        instruction.shape.dimensions.extend([8])
        instruction.shape.layout.minor_to_major.extend([0])
        if opcode == "while":
            instruction.called_computation_ids.extend([2, 1])  # a damaged one calls itself
            instruction.backend_config = b'{"known_trip_count":{"n":"12"},"x":[]}'

    operations = executable(module.SerializeToString()).operations

    assert [each.times for each in operations] == [12]


def test_products_are_found_in_fusions() -> None:
    products = executable(recorded("odd_sizes")).products

    # Two layers; for the gradients of the second both factors, of the first its weight.
    assert sum(product.times for product in products) == 5
    assert {product.shape for product in products} == {(130, 515), (515, 515)}
    assert all(str(product.file).endswith(MAIN) for product in products)
    assert all(product.float32 for product in products)
    assert not any(product.float32 for product in executable(recorded("multiples")).products)


def test_arguments_and_results() -> None:
    buffers = executable(recorded("odd_sizes")).buffers
    held = [(each.role, each.name, each.shape, each.donated) for each in buffers]

    assert held == [
        ("argument", "weights[0]", (515, 515), False),
        ("argument", "weights[1]", (515, 515), False),
        ("argument", "inputs", (130, 515), False),
        ("result", "", (515, 515), False),
        ("result", "", (515, 515), False),
        ("result", "", (), False),
    ]


def test_collectives_lie_along_axes_of_the_mesh() -> None:
    operations = written("mesh")
    found = {
        (each.opcode, each.axes, each.group, each.shape)
        for each in operations
        if each.does == "communicates"
    }

    assert found == {
        ("all-to-all", "data", 2, (2, 4, 32, 2048)),
        ("all-to-all", "data", 2, (2, 32, 4, 2048)),
        ("all-reduce", "model", 2, (256, 1000)),
        ("all-reduce", "data", 2, (1024, 2048)),
        ("all-reduce", "data", 2, (2048, 1000)),
        ("all-reduce", "data", 2, ()),
    }
    donated = [each.name for each in executable(recorded("mesh")).buffers if each.donated]
    assert donated == ["w1"]


@pytest.mark.parametrize(
    ("described", "group"),
    [
        ({"replica_groups": [{"replica_ids": [0, 2]}, {"replica_ids": [1, 3]}]}, (2, "a")),
        ({"collective_device_list": {"replica_groups": [{"replica_ids": [0, 1]}]}}, (2, "b")),
        (
            {
                "iota_device_list": {
                    "groups": 1,
                    "group_size": 4,
                    "reshape_dims": [4],
                    "transpose_perm": [0],
                }
            },
            (4, "a, b"),
        ),
        ({"replica_groups": [{"replica_ids": [0, 3]}]}, (2, "")),
        (
            {"iota_device_list": {"group_size": 2, "reshape_dims": [2], "transpose_perm": [1]}},
            (None, ""),
        ),
        (
            {"iota_device_list": {"group_size": 2, "reshape_dims": [2**40], "transpose_perm": [0]}},
            (None, ""),
        ),
        ({}, (None, "")),
    ],
)
def test_groups_of_devices(described: dict[str, Any], group: tuple[int | None, str]) -> None:
    instruction = ParseDict(described, message("HloInstructionProto")())

    assert group_of(instruction, {"a": 2, "b": 2}) == group


@pytest.mark.parametrize("damaged", [b"", b"\xff\xff", b"garbage"])
def test_what_is_no_module_is_an_error(damaged: bytes) -> None:
    with pytest.raises(DecodeError):
        executable(damaged)


@pytest.mark.parametrize(
    ("dimensions", "order", "tiles", "elements"),
    [
        ((3, 5), (1, 0), [(2, 2)], 4 * 6),  # the example of openxla.org/xla/tiled_layout
        ((64, 56, 56, 64), (3, 0, 2, 1), [(8, 128), (2, 1)], 64 * 56 * 56 * 128),
        ((149797, 7), (0, 1), [(8, 128)], 149888 * 8),
        ((), (), [(128,)], 128),
        ((515,), (0,), [(1024,)], 1024),
        ((4, 4), (1, 0), [], 16),
        ((4, 4), (1, 1), [(8, 128)], None),
        ((4, 4), (1, 0), [(-(2**63), 128)], None),
    ],
)
def test_padding(
    dimensions: tuple[int, ...],
    order: tuple[int, ...],
    tiles: list[tuple[int, ...]],
    elements: int | None,
) -> None:
    assert padded_elements(dimensions, order, tiles) == elements


@given(
    st.lists(st.integers(1, 300), max_size=4).flatmap(
        lambda shape: st.tuples(st.just(shape), st.permutations(range(len(shape))))
    ),
    st.sampled_from([[], [(8, 128)], [(8, 128), (2, 1)], [(16, 128), (4, 1)], [(128,)]]),
)
def test_padding_adds_less_than_a_tile_in_each_dimension(
    array: tuple[list[int], list[int]], tiles: list[tuple[int, ...]]
) -> None:
    shape, order = array
    elements = padded_elements(shape, order, tiles)

    assert elements is not None
    assert elements >= math.prod(shape)
    assert elements % math.prod(tiles[0] if tiles else (1,)) == 0
    most = 1
    for position, number in enumerate(order):
        tile = tiles[0][::-1] if tiles else ()
        size = tile[position] if position < len(tile) else 1
        most *= shape[number] + size - 1
    most *= math.prod(tiles[0][: max(0, len(tiles[0]) - len(shape))] if tiles else ())
    assert elements <= most


@given(st.binary(max_size=200), st.integers(0, 2**16))
def test_damaged_modules_are_read_or_refused(noise: bytes, position: int) -> None:
    content = recorded("odd_sizes")
    position %= len(content)
    with suppress(DecodeError):
        executable(content[:position] + noise + content[position + len(noise) :])
