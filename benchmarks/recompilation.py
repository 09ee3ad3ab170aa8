"""How long it takes to find out why graphs were compiled again: modules in the evidence, compared.

    python -m benchmarks.recompilation [--modules 200] [--instructions 5000] [--rounds 5]

The modules are made: a step of many lines, in which each module differs from the one before in one
of four ways (a shape, a number, an operation, nothing), so that every way of comparing is taken.
Prints the median and the range of the rounds, in seconds, and the peak of resident memory.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import time
from typing import Any

from xladoctor.causes.derive import derive
from xladoctor.evidence.load import build
from xladoctor.ingest.interface import Ingested
from xladoctor.ingest.run_records import Manifest

_OPS = ("aten__mul", "aten__add", "aten__mm", "aten__relu", "aten__pow", "aten__sum")
_OPCODES = ("multiply", "add", "dot", "maximum", "constant", "reduce")


def made(modules: int, instructions: int) -> Ingested:
    """Evidence of a call site that compiled this many modules of this many instructions."""
    ingested = Ingested()
    site = {"file": "/train.py", "line": 900, "function": "train", "via": ""}
    for number in range(modules):
        graph = f"{number:032x}"
        ingested.add(
            "compilation",
            process=0,
            thread=1,
            index=number,
            step=number,
            ordinal=number,
            launches=modules,
            graph_hash=graph,
            cause="user torch_xla.sync",
            inputs=40,
            outputs=30,
            end_ns=number,
            duration_ns=1,
            **site,
        )
        size = 7000 + 3 * (number % 4 == 2)
        ingested.add(
            "hlo_module",
            process=0,
            program_id=number,
            name=f"SyncTensorsGraph.{size}",
            graph_hash=graph,
            instructions=instructions,
        )
        _add_parameters(ingested, number, graph)
        ingested.append("hlo_instruction", _instructions(number, graph, instructions))
    return ingested


def _add_parameters(ingested: Ingested, module: int, graph: str) -> None:
    for number in range(40):
        length = 64 + module if number == 3 and module % 4 == 0 else 64
        ingested.add(
            "hlo_parameter",
            process=0,
            program_id=module,
            graph_hash=graph,
            number=number,
            shape=[16, length],
            layout=[1, 0],
            type="f32",
            op="xla__device_data",
            sent=True,
            file="/train.py",
            line=number,
            function="train",
        )


def _instructions(module: int, graph: str, count: int) -> dict[str, list[Any]]:
    kinds = [number % len(_OPS) for number in range(count)]
    lines = [1 + number // 12 for number in range(count)]
    length = 64 + module if module % 4 == 0 else 64
    literals = [
        (str(module) if module % 4 == 1 and line == 40 else "2") if kind == 4 else None
        for kind, line in zip(kinds, lines, strict=True)
    ]
    extra = module % 4 == 2
    return {
        "process": [0] * count,
        "program_id": [module] * count,
        "graph_hash": [graph] * count,
        "entry": [True] * count,
        "id": list(range(count)),
        "opcode": [_OPCODES[kind] for kind in kinds],
        "type": ["f32"] * count,
        "shape": [[] if kind == 4 else [16, length] for kind in kinds],
        "literal": literals,
        "op_type": [
            "aten__tanh"
            if extra and number == 600 + module
            else "prim__Constant"
            if kind == 4
            else _OPS[kind]
            for number, kind in enumerate(kinds)
        ],
        "frame": lines,
        "file": ["/train.py"] * count,
        "line": lines,
        "function": ["train"] * count,
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--modules", type=int, default=200)
    parser.add_argument("--instructions", type=int, default=5000)
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    ingested = made(asked.modules, asked.instructions)
    seconds = []
    for _ in range(asked.rounds):
        evidence = build(ingested, "made", Manifest(command=[]))
        began = time.perf_counter()
        derive(evidence)
        seconds.append(time.perf_counter() - began)
    kinds = evidence.database.rows(
        "SELECT kind, count(*) AS n FROM recompilation GROUP BY 1 ORDER BY 1"
    )
    print(
        f"{asked.modules} modules of {asked.instructions} instructions:"
        f" {statistics.median(seconds):.2f} s ({min(seconds):.2f} to {max(seconds):.2f});"
        f" peak {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MB"
    )
    print(", ".join(f"{row['kind']} {row['n']}" for row in kinds))


if __name__ == "__main__":
    main()
