"""Names of TPUs: what they mean, and what is said about others."""

from __future__ import annotations

import pytest

from xladoctor.tpu_check.compiler.topology import (
    GENERATIONS,
    Topology,
    TopologyError,
    parse_topology,
)


@pytest.mark.parametrize(
    ("text", "name", "chips", "devices"),
    [
        ("v5e", "v5e", None, None),
        (" V5E:2x2 ", "v5e:2x2", 4, 4),
        ("v6e:4x4", "v6e:4x4", 16, 16),
        ("v5p:2x2x1", "v5p:2x2x1", 4, 4),
        ("v4:2x2x2", "v4:2x2x2", 8, 8),
        ("v3:2x2", "v3:2x2", 4, 8),
        ("tpu7x:2x2x1", "tpu7x:2x2x1", 4, 8),
    ],
)
def test_names(text: str, name: str, chips: int | None, devices: int | None) -> None:
    topology = parse_topology(text)
    assert (topology.name, topology.chips, topology.devices) == (name, chips, devices)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("v5f", "did you mean v5"),
        ("v7x", "did you mean tpu7x?"),
        ("gpu", "known are v2, v3, v4, v5e, v5p, v6e, tpu7x"),
        ("", "known are"),
        ("v5e:", "known are"),
        ("v5e:2x", "known are"),
        ("v5e:2x2_twisted", "known are"),
        ("v5e:٢x٢", "known are"),
        ("v5e:2", "shapes of it are 1x1, 2x2"),
        ("v5e:2x2x1", "shapes of it are 1x1, 2x2"),
        ("v5p:2x2", "shapes of it are 1x1x1, 2x2x1"),
        ("v5e:0x2", "shapes of it are 1x1"),
    ],
)
def test_other_names_are_errors_with_a_list(text: str, words: str) -> None:
    with pytest.raises(TopologyError) as caught:
        parse_topology(text)
    assert words in caught.value.hint


@pytest.mark.parametrize("generation", GENERATIONS)
def test_usual_shapes_grow_and_are_names(generation: str) -> None:
    shaped = [*Topology(generation).shaped()]
    devices = [topology.devices or 0 for topology in shaped]
    assert devices == sorted(set(devices))
    assert [parse_topology(topology.name) for topology in shaped] == shaped


def test_the_smallest_that_a_graph_needs() -> None:
    assert Topology("v5e").for_devices(4) == Topology("v5e", "2x2")
    assert Topology("v5e", "1x1").for_devices(5) == Topology("v5e", "2x4")
    assert Topology("v3").for_devices(8) == Topology("v3", "2x2")
    assert Topology("v5e").for_devices(1000) is None
    assert [*Topology("v5e", "4x8").shaped()] == [Topology("v5e", "4x8")]


def test_memory_is_what_the_compiler_says() -> None:
    assert Topology("v5e").memory == 16_911_433_728
