"""Reads compiled graphs for comparison: inputs, and counts of instructions by their contents.

A timeline has modules after optimization: fusions repeat cheap instructions, and half of the
instructions have no Python line. So instructions are counted by *token* (line, operation of the
framework, opcode, type, shape, value, attributes), and a line's operations by *spot* (line,
operation). Both are 64-bit hashes made in the database; the contents are only fetched for the few
tokens that differ.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import pairwise, zip_longest
from typing import Any

import numpy as np

from xladoctor.causes.interface import (
    Compilation,
    Frame,
    Graph,
    HashCounts,
    Line,
    Operands,
    Parameter,
    Place,
    Stack,
    Token,
    Work,
)
from xladoctor.causes.vocabulary import Vocabulary, spelled
from xladoctor.evidence.database import Database

Program = tuple[int, int]  #: process and number of the program

#: Opcodes that only optimization adds, or that mean nothing by themselves.
_PLUMBING = (
    "'parameter', 'fusion', 'tuple', 'get-tuple-element', 'bitcast', 'copy', 'call',"
    " 'while', 'conditional'"
)
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
#: Opcodes of work that fusions never repeat.
_WORKING = """(
    'dot', 'convolution', 'reduce', 'reduce-window', 'select-and-scatter', 'gather', 'scatter',
    'sort', 'fft', 'cholesky', 'triangular-solve', 'custom-call', 'rng-bit-generator'
)"""
_WORK = f"""
    SELECT frame, op_type, opcode, count(*) FROM hlo_instruction
    WHERE process = $process AND program_id = $program AND opcode IN {_WORKING}
      AND frame IS NOT NULL AND op_type IS NOT NULL
    GROUP BY ALL ORDER BY min(position)
"""  # noqa: S608 - of the constants above
_LINED = "SELECT DISTINCT process, program_id FROM hlo_instruction WHERE file IS NOT NULL"
_FRAMES = """
    SELECT frame, parent, file, line, function, kind FROM hlo_frame
    WHERE process = $process AND program_id = $program AND file IS NOT NULL ORDER BY frame
"""
_LINES = """
    SELECT computation, id, opcode, type, shape, coalesce(literal, attributes), parameter, operands
    FROM hlo_instruction WHERE process = $process AND program_id = $program ORDER BY position
"""
_USERS = """
    WITH number AS (
        SELECT process, program_id, computation, id, file, line FROM hlo_instruction
        WHERE graph_hash IS NOT NULL AND op_type IN $numbers AND file IS NOT NULL
    ),
    used AS (
        SELECT process, program_id, computation, op_type, unnest(operands) AS id
        FROM hlo_instruction
        WHERE graph_hash IS NOT NULL AND op_type NOT IN $numbers
    )
    SELECT process, program_id, file, line, mode(op_type)
    FROM number JOIN used USING (process, program_id, computation, id) GROUP BY ALL
"""
#: Lines that give a program's result its size: none of their operands has it in any dimension.
_MAKERS = f"""
    WITH wanted AS (
        SELECT unnest($processes) AS process, unnest($shapes) AS made, unnest($sizes) AS size
    ),
    result AS (
        SELECT process, program_id, computation, unnest(operands) AS id FROM hlo_instruction
        WHERE graph_hash IS NOT NULL AND entry AND root AND opcode = 'tuple'
    ),
    sized AS (
        SELECT DISTINCT process, program_id, type, shape, made, size
        FROM result JOIN hlo_instruction o USING (process, program_id, computation, id)
        JOIN wanted w USING (process)
        WHERE made = o.type || '[' || array_to_string(o.shape, ',') || ']'
    ),
    operand AS (
        SELECT s.made, s.size, i.process, i.program_id, i.computation, i.id AS user, i.frame,
               i.file, i.line, i.function, i.user_file, i.user_line, i.user_function,
               unnest(i.operands) AS id
        FROM hlo_instruction i JOIN sized s USING (process, program_id, type, shape)
        WHERE i.file IS NOT NULL
          AND (i.opcode NOT IN ({_PLUMBING}, 'broadcast') OR i.opcode = 'fusion')
    ),
    maker AS (
        SELECT process, made, p.file, p.line, p.function, p.user_file, p.user_line,
               p.user_function, p.frame
        FROM operand p JOIN hlo_instruction o USING (process, program_id, computation, id)
        GROUP BY process, made, p.file, p.line, p.function, p.user_file, p.user_line,
                 p.user_function, p.frame, program_id, computation, p.user
        HAVING NOT bool_or(list_contains(o.shape, p.size)) AND bool_or(len(o.shape) > 0)
    )
    SELECT process, made, file, line, any_value(function),
           any_value(user_file), any_value(user_line), any_value(user_function)
    FROM maker GROUP BY process, made, file, line ORDER BY process, made, max(frame)
"""  # noqa: S608 - of the constants above
_MODULES = """
    SELECT process, program_id, graph_hash, name, coalesce(instructions, 0),
           donated, devices, sharding
    FROM hlo_module WHERE graph_hash IS NOT NULL ORDER BY process, program_id
"""
_PARAMETERS = """
    SELECT process, program_id, number, type, shape, layout, coalesce(sent, FALSE), file,
           line, function, user_file, user_line, user_function
    FROM hlo_parameter WHERE graph_hash IS NOT NULL ORDER BY process, program_id, number
"""


class Graphs:
    """The graphs in the evidence; ``vocabulary`` is the framework's that made them."""

    def __init__(self, database: Database, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self._database = database
        self._work: dict[Program, Counter[Work]] = {}
        parameters = _parameters(database)
        tokens, spots = (_counted(database, key) for key in (_TOKEN, _SPOT))
        none = np.empty(0, np.int64)
        empty = HashCounts(np.empty(0, np.uint64), none, none)
        self._graphs = {
            (process, graph_hash): Graph(
                process,
                program,
                instructions,
                _size(name, instructions),
                _placement(*placed),
                parameters[process, program],
                tokens.get((process, program), empty),
                spots.get((process, program), empty),
            )
            for process, program, graph_hash, name, instructions, *placed in database.table(
                _MODULES
            )[1]
        }

    def of(self, compilation: Compilation) -> Graph | None:
        """The compiled graph, if its module is in the evidence."""
        return self._graphs.get((compilation.process, compilation.graph_hash or ""))

    def of_all(self, compilations: Iterable[Compilation]) -> list[Graph]:
        """The compiled graphs whose modules are in the evidence."""
        return [graph for compilation in compilations if (graph := self.of(compilation))]

    def size(self, compilation: Compilation) -> int | None:
        """The number of a graph's instructions before optimization, if known."""
        graph = self.of(compilation)
        return graph.size if graph else None

    def describe(self, tokens: Iterable[int]) -> dict[int, Token]:
        """The contents of tokens."""
        wanted = list(tokens)
        if not wanted:
            return {}
        rows = self._database.table(_DESCRIBE, {"wanted": wanted})[1]
        return {
            key: Token(spot, Place(*place), op, opcode, kind, tuple(shape or ()), value)
            for key, spot, *place, op, opcode, kind, shape, value in rows
        }

    def made_of(self, old: Graph, new: Graph, spots: list[int]) -> Operands:
        """By spot, the types and shapes of its instructions' operands, in either graph."""
        programs = {"process": old.process, "old": old.program, "new": new.program, "spots": spots}
        sides: tuple[dict[int, tuple[str, ...]], ...] = {}, {}
        for program, spot, shapes in self._database.table(_MADE_OF, programs)[1]:
            sides[program == new.program][spot] = tuple(sorted(shapes))
        was, now = sides
        return {spot: (was.get(spot, ()), now.get(spot, ())) for spot in was | now}

    def work(self, graph: Graph) -> Counter[Work]:
        """The work in a graph in the order of lowering, with the number of instructions."""
        program = graph.process, graph.program
        if program not in self._work:
            self._work[program] = self._counted_work(*program)
        return self._work[program]

    def has_lines(self, graph: Graph) -> bool:
        """Whether a graph's instructions have Python lines."""
        return (graph.process, graph.program) in self._lined

    @cached_property
    def _lined(self) -> set[tuple[int, int]]:
        return set(self._database.table(_LINED)[1])

    def _counted_work(self, process: int, program: int) -> Counter[Work]:
        where = {"process": process, "program": program}
        stacks = _stacks(self._database.table(_FRAMES, where)[1])
        work: Counter[Work] = Counter()
        for frame, op, opcode, count in self._database.table(_WORK, where)[1]:
            if stacks.get(frame):
                work[Work(stacks[frame], spelled(op), opcode)] += count
        return work

    def users_of_numbers(self) -> dict[tuple[int, int, Line], str]:
        """By process, program and line, the operation that uses a number from that line."""
        names = self.vocabulary.numbers
        spellings = [*names, *(op.replace("::", "__", 1) for op in names)]
        rows = self._database.table(_USERS, {"numbers": spellings})[1]
        return {
            (process, program, (file, line)): spelled(op)
            for process, program, file, line, op in rows
        }

    def makers(self, wanted: Iterable[tuple[int, str, int]]) -> dict[tuple[int, str], list[Place]]:
        """By process and shape, the lines that make a graph's result of that size, in order.

        Args:
            wanted: processes, shapes, and the size that is new in each shape.
        """
        makers: dict[tuple[int, str], list[Place]] = defaultdict(list)
        columns = [list(column) for column in zip(*sorted(set(wanted)), strict=True)]
        if not columns:
            return makers
        names = ("processes", "shapes", "sizes")
        rows = self._database.table(_MAKERS, dict(zip(names, columns, strict=True)))[1]
        for process, shape, *place in rows:
            makers[process, shape].append(Place(*place))
        return makers

    def first_difference(self, old: Graph, new: Graph) -> tuple[str | None, str | None]:
        """The first instruction that differs in its contents or operands, in either graph."""
        lines = (self._lines(graph) for graph in (old, new))
        return next(((was, now) for was, now in zip_longest(*lines) if was != now), (None, None))

    def _lines(self, graph: Graph) -> list[str]:
        """The instructions in order; operands by relative position, parameters by number."""
        program = {"process": graph.process, "program": graph.program}
        positions: dict[tuple[str, int], int] = {}
        lines = []
        for at, row in enumerate(self._database.table(_LINES, program)[1]):
            computation, number, opcode, kind, shape, value, parameter, operands = row
            positions[computation, number] = at
            back = [at - positions.get((computation, operand), at) for operand in operands or ()]
            what = f"parameter({parameter})" if parameter is not None else opcode
            if back:
                what += f"({', '.join(f'-{distance}' for distance in back)})"
            text = f"{kind}[{','.join(map(str, shape or ()))}] {what}"
            lines.append(f"{text} {value}" if value else text)
        return lines


def _parameters(database: Database) -> dict[Program, list[Parameter]]:
    parameters: dict[Program, list[Parameter]] = defaultdict(list)
    for row in database.table(_PARAMETERS)[1]:
        process, program, number, kind, shape, layout, sent, *place = row
        order = None if layout is None else tuple(layout)
        parameters[process, program].append(
            Parameter(number, kind, tuple(shape), order, Place(*place), sent)
        )
    return parameters


def _counted(database: Database, key: str) -> dict[Program, HashCounts]:
    columns = database.arrays(_COUNT.replace("KEY", key))
    process, program, keys, counts, first = columns.values()
    if not len(keys):
        return {}
    change = (np.diff(process) != 0) | (np.diff(program) != 0)
    bounds = [0, *(np.flatnonzero(change) + 1).tolist(), len(keys)]
    return {
        (int(process[begin]), int(program[begin])): HashCounts(
            keys[begin:end], counts[begin:end], first[begin:end]
        )
        for begin, end in pairwise(bounds)
    }


def _stacks(rows: Iterable[Sequence[Any]]) -> dict[int, Stack]:
    """Stacks by number of the innermost frame; ``rows``: number, caller and a frame's fields."""
    calls = {number: (caller, Frame(*frame)) for number, caller, *frame in rows}
    stacks: dict[int, Stack] = {0: ()}
    for innermost in calls:
        new, number = [], innermost
        while number in calls and number not in stacks:
            new.append(number)
            number = calls[number][0]
        stack = stacks.get(number, ())
        for number in reversed(new):
            stack = stacks[number] = (*stack, calls[number][1])
    return stacks


def _size(name: str | None, instructions: int) -> int:
    number = re.search(r"\.(\d+)$", name or "")
    return int(number[1]) if number else instructions


def _placement(
    donated: list[int] | None, devices: list[int] | None, sharding: str | None
) -> dict[str, tuple[str, ...] | None]:
    return {
        "donated": None if donated is None else tuple(map(str, donated)),
        "devices": None if devices is None else tuple(map(str, devices)),
        "sharding": None if sharding is None else (sharding,),
    }
