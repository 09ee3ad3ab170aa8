"""CUDA graphs in timelines that are no Chrome traces: kernels name those that they are part of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.xspace.builder import Ref, Space, Unsigned
from xladoctor.doctor import load_evidence


def launches(folder: Path, *graphs: int | None) -> Any:
    """The kernels of a GPU, each in the graph of that number, by how they were launched."""
    space = Space("gpu-vm")
    stream = space.plane("/device:GPU:0").line("Stream #13(Compute)", 13, 1_700_000_000)
    for number, graph in enumerate(graphs):
        in_graph: dict[str, Any] = {} if graph is None else {"cuda_graph_id": Unsigned(graph)}
        stream.event(
            "loop_fusion",
            100 * number,
            50,
            hlo_op=Ref("fusion.1"),
            hlo_module=Ref("jit_step"),
            correlation_id=Unsigned(graph or 100 + number),
            **in_graph,
        )
    space.plane("/host:CPU").line("python", 1, 1_700_000_000).event("PjitFunction(step)", 0, 20)
    (folder / "vm.xplane.pb").write_bytes(space.bytes())
    return load_evidence(str(folder / "vm.xplane.pb")).database.table(
        "SELECT how, sum(kernels)::INT, sum(calls)::INT FROM device_launch GROUP BY 1 ORDER BY 1"
    )[1]


@pytest.mark.parametrize(
    ("graphs", "expected"),
    [((7, 7, 7, None, 8), [("call", 1, 1), ("graph", 4, 2)]), ((7, 7), [("graph", 2, 1)])],
)
def test_kernels_that_are_part_of_a_graph(tmp_path: Path, graphs: Any, expected: Any) -> None:
    assert launches(tmp_path, *graphs) == expected


def test_without_any_graph_nothing_tells_whether_they_would_be_named(tmp_path: Path) -> None:
    assert launches(tmp_path, None, None) == []
