"""Compiled graphs by hand, written much as HLO text writes them.

An input is ``f32[16,64]{1,0} @data.py:88 sent``: type and dimensions, then its layout, its line and
whether the program sent it, each if known. An instruction is ``3 * lib::pow f32[16] slice
slice={[0:5]} @train.py:38``: how often it is there, the operation of the framework, type and
dimensions, opcode (``constant(2.5)`` with its value), attributes and line. Instructions were
lowered in the order that they stand in.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from xladoctor.evidence.row import Row
from xladoctor.rule_cases.evidence import CaseError

_SHAPE = r"(?P<type>\w+)\[(?P<shape>[\d,]*)\](?:\{(?P<layout>[\d,]*)\})?"
_PLACE = r"(?: @(?P<file>[^\s:]+):(?P<line>\d+))?"
_INPUT = re.compile(rf"{_SHAPE}{_PLACE}(?P<sent> sent)?")
_INSTRUCTION = re.compile(
    rf"(?:(?P<times>\d+) \* )?(?:(?P<op>\w+::\w+) )?{_SHAPE}"
    rf" (?P<opcode>[\w-]+)(?:\((?P<literal>.*?)\))?(?: (?P<attributes>[^@\s].*?))?{_PLACE}"
)


def module(
    graph_hash: str, inputs: Sequence[str] = (), instructions: Sequence[str] = (), **columns: Any
) -> Row:
    """A graph; ``columns`` are of ``hlo_module``, whose name tells the size by default."""
    return {"hash": graph_hash, "inputs": inputs, "instructions": instructions, **columns}


def tables_of(modules: Iterable[Row]) -> dict[str, list[Row]]:
    """The tables that modules fill; the program's number is the position of its module."""
    tables: dict[str, list[Row]] = {"hlo_module": [], "hlo_parameter": [], "hlo_instruction": []}
    for program, given in enumerate(modules):
        columns = dict(given)
        origin = {
            "process": columns.pop("process", 0),
            "program_id": program,
            "graph_hash": columns.pop("hash"),
        }
        inputs = [_input(text) for text in columns.pop("inputs", ())]
        instructions = [
            row
            for nth, text in enumerate(columns.pop("instructions", ()))
            for row in _instruction(text, nth + 1)
        ]
        count = len(inputs) + len(instructions)
        tables["hlo_module"].append(
            {**origin, "name": "SyncTensorsGraph", "instructions": count, **columns}
        )
        tables["hlo_parameter"] += [{**origin, "number": n, **row} for n, row in enumerate(inputs)]
        tables["hlo_instruction"] += [
            {**origin, "id": n, **row} for n, row in enumerate(instructions)
        ]
    return tables


def _input(text: str) -> Row:
    match = _INPUT.fullmatch(text)
    if not match:
        raise CaseError(
            f"{text!r} is not an input: expected such as f32[16,64]{{1,0}} @data.py:88 sent"
        )
    return {**_shaped(match), **_placed(match), "sent": bool(match["sent"])}


def _instruction(text: str, frame: int) -> list[Row]:
    match = _INSTRUCTION.fullmatch(text)
    if not match:
        raise CaseError(
            f"{text!r} is not an instruction: expected such as f32[16] add @train.py:38"
        )
    op = match["op"] and match["op"].replace("::", "__")
    row = {
        **_shaped(match),
        **_placed(match),
        "op_type": op,
        "opcode": match["opcode"],
        "literal": match["literal"],
        "attributes": match["attributes"],
        "frame": frame,
    }
    return [row] * int(match["times"] or 1)


def _shaped(match: re.Match[str]) -> Row:
    return {
        "type": match["type"],
        "shape": _numbers(match["shape"]),
        "layout": None if match["layout"] is None else _numbers(match["layout"]),
    }


def _placed(match: re.Match[str]) -> Row:
    if not match["file"]:
        return {"file": None, "line": None, "function": None}
    return {"file": match["file"], "line": int(match["line"]), "function": "train"}


def _numbers(text: str) -> list[int]:
    return [int(number) for number in text.split(",") if number]
