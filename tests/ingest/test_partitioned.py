"""Communications and placements of modules that real releases of XLA partitioned."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.json_format import ParseDict
from google.protobuf.message import DecodeError
from hypothesis import given
from hypothesis import strategies as st

from tests.ingest.hlo_modules import read
from tests.support import Row
from xladoctor.facts import TABLES
from xladoctor.ingest.frames import Folders
from xladoctor.ingest.hlo import decode
from xladoctor.ingest.hlo.groups import axes_of, group_of
from xladoctor.ingest.hlo.placement import Placement, placements
from xladoctor.ingest.interface import Ingested
from xladoctor.ingest.protobuf_schema import message

RECORDED = Path(__file__).with_name("partitioned")
RELEASES = ("0.8.3", "0.10.2", "0.12.0")
MESH = {"data": 4, "model": 2}
SOURCE = (RECORDED / "programs.py").read_text().splitlines()


def rows(name: str, release: str) -> dict[str, list[Row]]:
    from tests.support import rows as as_rows

    proto = message("HloProto")()
    content = gzip.decompress((RECORDED / f"{name}-jax-{release}.pb.gz").read_bytes())
    proto.hlo_module.MergeFromString(content)
    ingested = Ingested()
    module = decode(proto.SerializeToString(), 7, Folders(), [MESH], release != "0.8.3")
    module.add("cafe", ingested.of(3))
    return {table: as_rows(columns) for table, columns in ingested.tables.items()}


def text(line: int | None) -> str:
    return "" if line is None else SOURCE[line - 1].strip()


def found(name: str, release: str) -> set[tuple[Any, ...]]:
    return {
        (each["kind"], each["reason"], each["axes"], each["times"], text(each["line"]))
        for each in rows(name, release)["communication"]
        if each["shape"]
    }


@pytest.mark.parametrize("release", RELEASES)
def test_weights_are_gathered_and_gradients_summed_over_the_data_axis(release: str) -> None:
    product = "x = jnp.tanh(x @ w)  # gathers of the weights"
    communications = found("fsdp", release)

    line = product if release != "0.8.3" else ""  # which gives wrong lines
    assert ("all-gather", "argument", "data", 1, line) in communications
    assert {each[:3] for each in communications if each[0] == "all-reduce"} == {
        ("all-reduce", "gradients", "data")
    }
    gathered = [e for e in rows("fsdp", release)["communication"] if e["reason"] == "argument"]
    assert [(each["argument"], each["bytes"]) for each in gathered] == [
        (0, 3 * 2**20),  # three of four parts come from others
        (1, 3 * 2**20),
    ]
    assert gathered[0]["before"] == "dimension 0 over data"


@pytest.mark.parametrize("release", RELEASES)
def test_what_the_program_calls_is_written_by_it(release: str) -> None:
    lines = {
        "whole": ("all-gather", "data"),
        "shifted": ("collective-permute", "data"),
        "parts": ("reduce-scatter", "data"),
        "turned": ("all-to-all", "data"),
        "summed": ("all-reduce", "model"),
    }
    communications = found("manual", release)

    assert {each[1] for each in communications} == {"written"}
    if release != "0.8.3":
        assert {(each[4].split(" = ")[0], each[:3:2]) for each in communications} >= {
            *lines.items()
        }


@pytest.mark.parametrize("release", RELEASES)
def test_in_a_loop_they_count_for_each_turn(release: str) -> None:
    stacked = next(e for e in rows("scan", release)["communication"] if e["kind"] == "all-gather")

    assert (stacked["times"], stacked["in_loop"], stacked["outside"]) == (6, True, "")


@pytest.mark.parametrize("release", RELEASES)
def test_a_sum_that_is_only_added_up_could_stand_behind_the_loop(release: str) -> None:
    (summed,) = rows("added", release)["communication"]

    assert (summed["times"], summed["outside"]) == (8, "behind")


@pytest.mark.parametrize("release", RELEASES)
def test_a_division_that_the_program_asks_for_is_its_own(release: str) -> None:
    communications = found("explicit", release)

    asked = {each[4] for each in communications if each[1] == "asked"}
    line = 'h = jax.sharding.reshard(h, P("model", "data"))' if release != "0.8.3" else ""
    assert line in asked
    assert {each[1] for each in communications if each[0] == "all-reduce"} == {"sums"}


@pytest.mark.parametrize("release", RELEASES)
def test_arguments_are_whole_arrays_in_the_program_s_words(release: str) -> None:
    tables = rows("fsdp", release)
    placed = [(e["argument"], e["shape"], e["spec"], e["copies"]) for e in tables["placement"]]

    assert placed[:3] == [
        ("weights[0]", (1024, 1024), "('data', None)", 2),
        ("weights[1]", (1024, 1024), "('data', None)", 2),
        ("x", (64, 1024), "('data', None)", 2),
    ]
    assert (tables["hlo_module"][0]["partitions"], tables["hlo_module"][0]["mesh"]) == (
        8,
        "data=4, model=2",
    )
    for table in ("placement", "communication"):
        assert tables[table][0].keys() == TABLES[table].columns.keys() - {"position"}


@pytest.mark.parametrize(
    ("group", "axes"),
    [
        ([0, 2, 4, 6], "data"),
        ([1, 0], "model"),
        ([0, 2], "part of data"),
        ([*range(8)], "data, model"),
        ([0, 3], ""),
        ([0, 9], ""),
        ([], ""),
    ],
)
def test_axes_of_a_group(group: list[int], axes: str) -> None:
    assert axes_of(group, MESH) == axes


def test_a_permutation_moves_along_the_axes_in_which_its_ends_differ() -> None:
    pairs = [{"source": 0, "target": 2}, {"source": 2, "target": 0}, {"source": 1, "target": 1}]
    instruction = ParseDict({"source_target_pairs": pairs}, message("HloInstructionProto")())

    assert group_of(instruction, MESH) == (4, "data")
    assert group_of(instruction, {}) == (None, "")


def test_a_division_that_lists_its_devices_is_understood() -> None:
    """As torch_xla writes it: the last dimension is of devices that hold the same part."""
    listed = ParseDict(
        {
            "type": 3,
            "tile_assignment_dimensions": [2, 1, 4],
            "tile_assignment_devices": [0, 2, 4, 6, 1, 3, 5, 7],
            "replicate_on_last_tile_dim": True,
        },
        message("OpSharding")(),
    )

    assert placements([listed.SerializeToString()], MESH) == [Placement((2, 1), ("model", ""))]


@given(st.binary(max_size=60))
def test_damaged_shardings_are_not_understood(content: bytes) -> None:
    assert all(
        each is None or len(each.parts) == len(each.axes) for each in placements([content], MESH)
    )


@given(st.integers(0, 8000), st.integers(0, 255))
def test_a_damaged_module_is_read_or_refused(position: int, value: int) -> None:
    content = bytearray(gzip.decompress((RECORDED / "scan-jax-0.10.2.pb.gz").read_bytes()))
    content[position % len(content)] = value
    proto = message("HloProto")()
    try:
        proto.hlo_module.MergeFromString(bytes(content))
    except DecodeError:
        return
    assert read(proto)["hlo_module"]
