"""Graphs with more or fewer of the same blocks, and which line is named for it."""

from __future__ import annotations

from itertools import count

import pytest

from tests.support import Row, complete

WRAPPER, CALL = "module.py:100 wrapped machinery", "module.py:200 call machinery"
STEP = "train.py:9 main user > train.py:30 step user"
FORWARD = f"{STEP} > {WRAPPER} > {CALL}"
LAYER = f"{FORWARD} > model.py:25 forward user > {WRAPPER} > {CALL}"
ATTENTION, MIXED = f"{LAYER} > model.py:12 forward user", f"{LAYER} > model.py:15 forward user"
HEAD = f"{FORWARD} > model.py:27 forward user"
UPDATE = "train.py:9 main user > train.py:33 step user"

Program = dict[str, int]  # by stack, how many products


def tables(*programs: Program) -> dict[str, list[Row]]:
    """A call site that compiled one program after the other, ten times as large before that."""
    filled: dict[str, list[Row]] = {
        name: []
        for name in (
            "compilation",
            "hlo_module",
            "hlo_instruction",
            "hlo_frame",
        )
    }
    for index, program in enumerate(programs):
        origin = {"process": 0, "program_id": index}
        size = 10 * sum(program.values())
        filled["compilation"].append(
            {
                "process": 0,
                "thread": 1,
                "index": index,
                "step": index,
                "graph_hash": f"g{index}",
                "file": "train.py",
                "line": 34,
                "function": "step",
                "via": "",
                "cause": "sync",
            }
        )
        filled["hlo_module"].append(
            {**origin, "graph_hash": f"g{index}", "name": f"Graph.{size}", "instructions": size}
        )
        numbers, frames = count(1), dict[str, int]()
        for stack, times in program.items():
            frame = _frame(stack, frames, numbers, filled["hlo_frame"], origin)
            filled["hlo_instruction"] += [
                {
                    **origin,
                    "graph_hash": f"g{index}",
                    "id": n,
                    "frame": frame,
                    "opcode": "dot",
                    "op_type": "aten__mm",
                    "type": "f32",
                    "shape": [8, 8],
                    "file": "model.py",
                    "line": 12,
                }
                for n in range(times)
            ]
    return filled


def _frame(
    stack: str, frames: dict[str, int], numbers: count[int], rows: list[Row], origin: Row
) -> int:
    if stack in frames:
        return frames[stack]
    caller, _, innermost = stack.rpartition(" > ")
    parent = _frame(caller, frames, numbers, rows, origin) if caller else 0
    frames[stack] = next(numbers)
    place, function, kind = innermost.split(" ")
    file, line = place.split(":")
    rows.append(
        {
            **origin,
            "frame": frames[stack],
            "parent": parent,
            "file": file,
            "line": int(line),
            "function": function,
            "kind": kind,
        }
    )
    return frames[stack]


def causes(*programs: Program) -> list[Row]:
    return complete(tables(*programs)).database.rows("SELECT * FROM recompilation ORDER BY index")


def model(layers: int) -> Program:
    return {ATTENTION: 3 * layers, MIXED: 2 * layers, HEAD: 1, UPDATE: 4}


def test_layer_left_out() -> None:
    (cause,) = causes(model(4), model(3))
    assert (cause["kind"], cause["file"], cause["line"], cause["function"]) == (
        "operations",
        "model.py",
        25,
        "forward",
    )
    assert (cause["op"], cause["was"], cause["now"]) == (
        "aten::mm",
        "12 instructions",
        "9 instructions",
    )


def test_loop_that_turns_more_often_in_the_function_of_the_barrier() -> None:
    turn, update = f"{STEP} > model.py:12 forward user", UPDATE
    (cause,) = causes({turn: 4}, {turn: 8})
    assert (cause["file"], cause["line"]) == ("train.py", 30)
    (cause,) = causes({turn: 4, update: 1}, {turn: 8, update: 2})
    assert (cause["file"], cause["line"]) == ("train.py", 30)


def test_branch_in_a_block_that_the_frameworks_own_module_calls() -> None:
    blocks = (
        f"{FORWARD} > model.py:25 forward user > {WRAPPER} > {CALL} > container.py:9 run machinery"
    )
    inside = f"{blocks} > {WRAPPER} > {CALL} > model.py:12 forward user"
    (cause,) = causes({inside: 4, HEAD: 1}, {inside: 2, HEAD: 1})
    assert cause["line"] == 12


def test_layer_of_a_library_has_the_users_line_too() -> None:
    layer = (
        f"{STEP} > {WRAPPER} > lib.py:541 forward library > {WRAPPER} > lib.py:3 forward library"
    )
    (cause,) = causes(
        {layer: 4, f"{layer} > lib.py:9 f library": 4, HEAD: 1},
        {layer: 2, f"{layer} > lib.py:9 f library": 2, HEAD: 1},
    )
    assert (cause["file"], cause["line"]) == ("lib.py", 541)
    assert (cause["user_file"], cause["user_line"]) == ("train.py", 30)


@pytest.mark.parametrize("layers", [0, 4])
def test_no_copy_in_common_is_no_block(layers: int) -> None:
    """A layer that one graph alone has is found by its own operations."""
    (cause,) = causes(model(layers), model(0 if layers else 4))
    assert cause["line"] != 25


def test_as_many_layers_but_others_follow_from_leaving_layers_out() -> None:
    filled = tables(model(4), model(3), model(3))
    for row, donated in zip(filled["hlo_module"], ([], [1, 2], [1, 3]), strict=True):
        row.update(donated=donated, devices=[0], sharding="")
    rows = complete(filled).database.rows("SELECT * FROM recompilation ORDER BY index")
    assert [(row["kind"], row["line"], row["against"]) for row in rows] == [
        ("operations", 25, 0),
        ("operations", 25, 0),
    ]
