"""What executables of a TPU write, as its compiler made them; see ``record.py``."""

from __future__ import annotations

import gzip
import math
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest
from google.protobuf.message import DecodeError
from hypothesis import given
from hypothesis import strategies as st

from xladoctor.ingest.frames import Folders
from xladoctor.ingest.protobuf_schema import message
from xladoctor.tpu_check.written import Written, padded_elements, read_written

RECORDED = Path(__file__).with_name("recorded")
MAIN = "tests/tpu_check/record.py"


def recorded(name: str) -> bytes:
    return gzip.decompress((RECORDED / f"{name}.pb.gz").read_bytes())


def written(name: str) -> list[Written]:
    return read_written(recorded(name), Folders())


def padding(arrays: Sequence[Written]) -> float:
    """The share of what is written that fills tiles."""
    taken = sum(array.padded_bytes or 0 for array in arrays)
    return 1 - sum(array.bytes for array in arrays) / taken


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

    assert (largest.type, largest.shape, largest.times) == ("f32", (515, 515), 1)
    assert largest.layout == "{1,0:T(8,128)}"
    assert (largest.memory, largest.bytes, largest.padded_bytes) == ("hbm", 1060900, 1331200)
    assert str(largest.site.file).endswith(MAIN)
    assert largest.site.line is not None


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

    arrays = read_written(module.SerializeToString(), Folders())

    assert [array.times for array in arrays] == [12]


@pytest.mark.parametrize("damaged", [b"", b"\xff\xff", b"garbage"])
def test_what_is_no_module_is_an_error(damaged: bytes) -> None:
    with pytest.raises(DecodeError):
        read_written(damaged, Folders())


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
        read_written(content[:position] + noise + content[position + len(noise) :], Folders())
