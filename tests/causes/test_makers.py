"""A state that a step leaves in another size: which line made it so."""

from __future__ import annotations

from typing import Any

from tests.support import Row, complete


def instruction(number: int, opcode: str, shape: list[int], *operands: int, **columns: Any) -> Row:
    line = {"file": "step.py", "op_type": "aten__op"} if "line" in columns else {}
    return {
        "id": number,
        "opcode": opcode,
        "type": "f32",
        "shape": shape,
        "entry": True,
        "computation": "main",
        "operands": [*operands],
        **line,
        **columns,
    }


def step(rows: int, *middle: Row) -> list[Row]:
    """A graph of a state of ``rows`` rows, whose only result is its instruction number 9."""
    return [
        instruction(0, "parameter", [rows, 8], parameter=0),
        *middle,
        instruction(99, "tuple", [], 9, root=True, type="tuple"),
    ]


def causes(*graphs: list[Row]) -> list[Row]:
    tables: dict[str, list[Row]] = {
        "compilation": [],
        "hlo_module": [],
        "hlo_parameter": [],
        "hlo_instruction": [],
    }
    for index, instructions in enumerate(graphs):
        origin = {"process": 0, "program_id": index, "graph_hash": f"g{index}"}
        tables["compilation"].append(
            {
                "process": 0,
                "thread": 1,
                "index": index,
                "step": index,
                "graph_hash": f"g{index}",
                "file": "train.py",
                "line": 40,
                "via": "",
                "cause": "sync",
            }
        )
        tables["hlo_module"].append({**origin, "name": "Graph.50", "instructions": 50})
        tables["hlo_parameter"].append(
            {
                **origin,
                "number": 0,
                "type": "f32",
                "shape": instructions[0]["shape"],
                "file": "model.py",
                "line": 6,
                "function": "forward",
                "sent": False,
            }
        )
        tables["hlo_instruction"] += [{**origin, "line": None, **row} for row in instructions]
    return complete(tables).database.rows("SELECT * FROM recompilation ORDER BY index")


def appended(rows: int) -> list[Row]:
    """The state is used as it is, and one row is put to it."""
    return step(
        rows,
        instruction(1, "multiply", [rows, 8], 0, 0, line=6),
        instruction(2, "slice", [1, 8], 1, line=10),
        instruction(9, "concatenate", [rows + 1, 8], 0, 2, line=11),
    )


def test_line_that_makes_it_so_large_is_guilty_and_the_first_use_related() -> None:
    rows = causes(appended(4), appended(5), appended(6))
    assert [(row["role"], row["file"], row["line"]) for row in rows] == [
        ("made", "step.py", 11)
    ] * 2
    assert {(row["used_file"], row["used_line"], row["used_function"]) for row in rows} == {
        ("model.py", 6, "forward"),
    }


def test_line_that_only_keeps_the_size_is_not_guilty() -> None:
    def kept(rows: int, now: int) -> list[Row]:
        return step(
            rows,
            instruction(1, "fusion", [now, 8], 0, line=10),
            instruction(9, "tanh", [now, 8], 1, line=12),
        )

    rows = causes(kept(9, 7), kept(7, 5), kept(5, 3))
    assert {(row["role"], row["line"]) for row in rows} == {("made", 10)}


def test_state_whose_maker_is_not_in_the_evidence_has_the_line_of_its_first_use() -> None:
    def used(rows: int) -> list[Row]:
        return step(rows, instruction(9, "tanh", [rows, 8], 0, line=12))

    (row,) = causes(used(4), used(5))
    assert (row["role"], row["file"], row["line"], row["used_file"]) == (
        "used",
        "model.py",
        6,
        None,
    )
