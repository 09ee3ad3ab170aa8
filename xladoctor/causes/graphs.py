"""Compiled graphs as they are compared: inputs, and instructions counted by what they say.

The modules of a timeline are those after optimization: fusions repeat cheap instructions, and half
of them have no Python line. So instructions are counted by *token* (line, operation of the
framework, opcode, type, shape, value, attributes), and which operations a line has by *spot*
(line, operation). Both are 64-bit hashes made in the database; what a token says is fetched for
the few that differ.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise, zip_longest
from typing import Any, NamedTuple

import numpy as np

from xladoctor.evidence.database import Database

Numbers = np.ndarray[Any, Any]
Row = dict[str, Any]

#: Opcodes that only the optimization puts in or that say nothing of their own.
_PLUMBING = ("'parameter', 'fusion', 'tuple', 'get-tuple-element', 'bitcast', 'copy', 'call',"
             " 'while', 'conditional'")  # fmt: skip
_TOKEN = "hash(file, line, op_type, opcode, type, shape, literal, attributes)"  # noqa: S105
_SPOT = "hash(file, line, op_type)"
_COUNT = f"""
    SELECT process, program_id, KEY AS key, count(*) AS n,
           coalesce(min(frame), {np.iinfo(np.int32).max}) AS first
    FROM hlo_instruction
    WHERE graph_hash IS NOT NULL AND opcode NOT IN ({_PLUMBING})
    GROUP BY ALL ORDER BY 1, 2, 3
"""  # noqa: S608 - of the constants above
_DESCRIBE = f"""
    SELECT {_TOKEN}, any_value({_SPOT}),
           any_value(file), any_value(line), any_value(function),
           any_value(user_file), any_value(user_line), any_value(user_function),
           any_value(op_type), any_value(opcode), any_value(type), any_value(shape),
           any_value(coalesce(literal, attributes))
    FROM hlo_instruction
    WHERE {_TOKEN} IN (SELECT unnest($wanted::UBIGINT[])) GROUP BY 1
"""  # noqa: S608 - of the constants above
_MADE_OF = f"""
    WITH chosen AS (
        SELECT program_id, computation, {_SPOT} AS spot, unnest(operands) AS id
        FROM hlo_instruction
        WHERE process = $process AND program_id IN ($old, $new)
          AND {_SPOT} IN (SELECT unnest($spots::UBIGINT[]))
    )
    SELECT c.program_id, c.spot,
           list(DISTINCT o.type || '[' || array_to_string(o.shape, ',') || ']')
    FROM chosen c
    JOIN hlo_instruction o ON o.process = $process AND o.program_id = c.program_id
        AND o.computation = c.computation AND o.id = c.id
    -- what the operation's own instructions hand to each other says nothing
    WHERE hash(o.file, o.line, o.op_type) <> c.spot
    GROUP BY ALL
"""  # noqa: S608 - of the constants above
_LINES = """
    SELECT computation, id, opcode, type, shape, coalesce(literal, attributes), parameter, operands
    FROM hlo_instruction WHERE process = $process AND program_id = $program ORDER BY rowid
"""
_USERS = """
    WITH number AS (
        SELECT process, program_id, computation, id, file, line FROM hlo_instruction
        WHERE graph_hash IS NOT NULL AND op_type = 'prim__Constant' AND file IS NOT NULL
    ),
    used AS (
        SELECT process, program_id, computation, op_type, unnest(operands) AS id
        FROM hlo_instruction
        WHERE graph_hash IS NOT NULL AND op_type IS NOT NULL AND op_type <> 'prim__Constant'
    )
    SELECT process, program_id, file, line, replace(mode(op_type), '__', '::')
    FROM number JOIN used USING (process, program_id, computation, id) GROUP BY ALL
"""


class Place(NamedTuple):
    """A line of Python, and the user's line that led there where the two differ."""

    file: str | None = None
    line: int | None = None
    function: str | None = None
    user_file: str | None = None
    user_line: int | None = None
    user_function: str | None = None


NOWHERE = Place()


class Parameter(NamedTuple):
    """An input of a graph, and the line that sent it to the device or first uses it."""

    number: int
    type: str
    shape: tuple[int, ...]
    layout: tuple[int, ...] | None
    place: Place = NOWHERE
    sent: bool = False

    @property
    def kind(self) -> tuple[str, tuple[int, ...]]:
        """Element type and dimensions."""
        return self.type, self.shape

    @property
    def text(self) -> str:
        """As HLO text writes it: ``f32[16,64]``."""
        return f"{self.type}[{','.join(map(str, self.shape))}]"


class Token(NamedTuple):
    """What a kind of instruction says; ``spot`` is the hash of its line and operation."""

    spot: int
    place: Place
    op: str | None
    opcode: str
    type: str
    shape: tuple[int, ...]
    value: str | None

    @property
    def text(self) -> str:
        """As HLO text writes it, without names: ``f32[16,8] slice={[0:16],[0:5]}``."""
        shape = f"{self.type}[{','.join(map(str, self.shape))}]"
        if self.opcode == "constant":
            return f"{shape} constant({self.value or '{...}'})"
        return f"{shape} {self.opcode}" + (f" {self.value}" if self.value else "")


@dataclass(frozen=True, slots=True, eq=False)
class Counted:
    """Hashes in ascending order, with how often each is there and when it was lowered first."""

    keys: Numbers
    counts: Numbers
    order: Numbers


@dataclass(frozen=True, slots=True, eq=False)
class Graph:
    """One compiled graph.

    Attributes:
        size: instructions before optimization, as the module's name tells them; else after it.
        placement: donated inputs, devices and sharding.
    """

    process: int
    program: int
    name: str
    size: int
    placement: dict[str, Any]
    parameters: list[Parameter]
    tokens: Counted
    spots: Counted


class Graphs:
    """The graphs of the evidence, by process and hash."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._found: dict[tuple[int, str], Graph] = {}
        modules = database.rows("SELECT * FROM hlo_module WHERE graph_hash IS NOT NULL"
                                " ORDER BY process, program_id")  # fmt: skip
        parameters = self._parameters()
        tokens, spots = self._counted(_TOKEN), self._counted(_SPOT)
        empty = Counted(*(np.empty(0, kind) for kind in (np.uint64, np.int64, np.int64)))
        for row in modules:
            key = row["process"], row["program_id"]
            placement = {name: row[name] for name in ("donated", "devices", "sharding")}
            self._found[row["process"], row["graph_hash"]] = Graph(
                *key, row["name"], _size(row), placement, parameters.get(key, []),
                tokens.get(key, empty), spots.get(key, empty),
            )  # fmt: skip

    def get(self, process: int, graph_hash: str | None) -> Graph | None:
        """The module of a graph, if it is in the evidence."""
        return self._found.get((process, graph_hash or ""))

    def describe(self, tokens: Iterable[int]) -> dict[int, Token]:
        """What tokens say."""
        wanted = list(tokens)
        if not wanted:
            return {}
        rows = self._database.table(_DESCRIBE, {"wanted": wanted})[1]
        return {
            key: Token(spot, Place(*place), op, opcode, kind, tuple(shape or ()), value)
            for key, spot, *place, op, opcode, kind, shape, value in rows
        }

    def made_of(self, old: Graph, new: Graph, spots: list[int]) -> dict[int, tuple[Any, Any]]:
        """By spot, the types and shapes of what its instructions are made of, in either graph."""
        programs = {"process": old.process, "old": old.program, "new": new.program, "spots": spots}
        found: dict[int, list[tuple[str, ...]]] = {}
        for program, spot, shapes in self._database.table(_MADE_OF, programs)[1]:
            sides = found.setdefault(spot, [(), ()])
            sides[program == new.program] = tuple(sorted(shapes))
        return {spot: (sides[0], sides[1]) for spot, sides in found.items()}

    def users_of_numbers(self) -> dict[Any, str]:
        """By process, program and line: the operation that a number of that line goes into."""
        rows = self._database.table(_USERS)[1]
        return {tuple(key): op for *key, op in rows}

    def first_difference(self, old: Graph, new: Graph) -> dict[str, str | None]:
        """The first instruction that differs in what it says or in what it is made of."""
        lines = [self._lines(graph) for graph in (old, new)]
        for was, now in zip_longest(*lines):
            if was != now:
                return {"was": was, "now": now}
        return {}

    def _lines(self, graph: Graph) -> list[str]:
        """The instructions in order; operands by how far they lie back, parameters by number."""
        rows = self._database.table(_LINES, {"process": graph.process, "program": graph.program})[1]
        position: dict[Any, int] = {}
        lines = []
        for at, (computation, number, opcode, kind, shape, value, parameter, operands) in enumerate(
            rows
        ):
            position[computation, number] = at
            back = [at - position.get((computation, one), at) for one in operands or ()]
            what = f"parameter({parameter})" if parameter is not None else opcode
            if back:
                what += f"({', '.join(f'-{distance}' for distance in back)})"
            text = f"{kind}[{','.join(map(str, shape or ()))}] {what}"
            lines.append(f"{text} {value}" if value else text)
        return lines

    def _parameters(self) -> dict[Any, list[Parameter]]:
        found: dict[Any, list[Parameter]] = {}
        for process, program, number, kind, shape, layout, sent, *place in self._database.table(
            "SELECT process, program_id, number, type, shape, layout, coalesce(sent, FALSE), file,"
            " line, function, user_file, user_line, user_function FROM hlo_parameter"
            " WHERE graph_hash IS NOT NULL ORDER BY process, program_id, number"
        )[1]:
            order = None if layout is None else tuple(layout)
            found.setdefault((process, program), []).append(
                Parameter(number, kind, tuple(shape), order, Place(*place), sent)
            )
        return found

    def _counted(self, key: str) -> dict[Any, Counted]:
        columns = self._database.arrays(_COUNT.replace("KEY", key))
        process, program, keys, counts, first = columns.values()
        if not len(keys):
            return {}
        change = (np.diff(process) != 0) | (np.diff(program) != 0)
        bounds = [0, *(np.flatnonzero(change) + 1).tolist(), len(keys)]
        return {
            (int(process[begin]), int(program[begin])): Counted(
                keys[begin:end], counts[begin:end], first[begin:end]
            )
            for begin, end in pairwise(bounds)
        }


def _size(row: Row) -> int:
    number = re.search(r"\.(\d+)$", row["name"] or "")
    return int(number[1]) if number else row["instructions"] or 0
