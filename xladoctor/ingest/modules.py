"""Reads the compiled modules of a captured process, and finds which compilation made each.

``recording/bootstrap/_xladoctor/modules.py`` writes files with all modules loaded at a time, each
file with the number of compilations until then. Modules are numbered in the order they were made,
so the new ones in a file were made by the compilations since the previous file.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from google.protobuf.message import DecodeError

from xladoctor.facts.run import Process
from xladoctor.ingest import hlo
from xladoctor.ingest.compilations import Numbers, agree
from xladoctor.ingest.frames import Folders, Line
from xladoctor.ingest.interface import Columns, Notes, ProcessRows
from xladoctor.ingest.regular import own_files

_SITE = ("file", "line", "via", "user_file", "user_line")


@dataclass(frozen=True, slots=True)
class _File:
    """The modules that are new in a file, in order.

    ``numbered``: whether a module's number is its compilation's, from 1.
    ``until``: compilations noted when the file was written, which may be fewer than there were;
    None if the process ended before it noted the file.
    """

    modules: list[hlo.Module]
    until: int | None
    numbered: bool = False


@dataclass(frozen=True, slots=True)
class CompiledModules:
    """The modules of a process."""

    folder: Path
    files: tuple[_File, ...]

    @property
    def made(self) -> list[Numbers]:
        """Inputs and outputs of the modules compiled under capture, in order."""
        return [
            (module.inputs, module.outputs)
            for file in self.files
            if file.until != 0 and not file.numbered
            for module in file.modules
        ]

    def add(self, table: Columns, rows: ProcessRows) -> set[Line]:
        """Fill the tables of modules; return the lines of their operations.

        Args:
            table: the compilations of the process, which get what the analysis log lacks:
                ``graph_hash``, inputs and outputs.
        """
        compilations = _in_order(table)
        joined: list[tuple[hlo.Module, int | None]] = []
        done = unjoined = 0
        for file in self.files:
            until = 0 if file.until == 0 else max(file.until or 0, done + len(file.modules))
            if file.numbered:
                made = _by_number(file.modules, table)
            else:
                made = _join(file.modules, compilations[done:until], table)
            joined += zip(file.modules, made, strict=True)
            unjoined += sum(row is None for row in made) if until else 0
            done = min(until, len(compilations))
        if unjoined:
            rows.notes.append(
                f"{self.folder.name}: {unjoined} of {len(joined)} compiled modules cannot be"
                " distinguished from others; their causes are missing"
            )
        sites = [_site_of(row, table) for _, row in joined]
        hlo.lend_lines([module for module, _ in joined], sites)
        for module, row in joined:
            module.add(_hash_of(row, module, table), rows)
        return set[Line]().union(*(module.traced_lines() for module, _ in joined))


def read_modules(folder: Path, record: Process, folders: Folders, noted: Notes) -> CompiledModules:
    """Decode the modules of a process, whose ``record`` lists their files."""
    until = {row.file: row.compilations for row in record.modules}
    numbered = {row.file for row in record.modules if row.numbered}
    known: set[int] = set()
    files = []
    found = sorted(folder.glob("modules*.xplane.pb"), key=lambda path: _order(path.name))
    for path in own_files(folder, found, noted):
        decoded = _decode(path, folders, record, noted)
        fresh = [module for module in decoded if module.program not in known]
        known.update(module.program for module in fresh)
        files.append(_File(fresh, until.get(path.name, _count(path.name)), path.name in numbered))
    if record.misplaced_lines and any(
        module.partitioned.count > 1 for file in files for module in file.modules
    ):
        noted.notes.append(
            f"{folder.name}: programs of several devices have no lines, as this release of the"
            " compiler gives their operations wrong ones; newer ones do not"
        )
    return CompiledModules(folder, tuple(files))


def _count(name: str) -> int | None:
    digits = "".join(filter(str.isdecimal, name))
    return int(digits) if digits else None


def _order(name: str) -> float:
    """A sort key: ``modules-0`` is from before the capture; others are numbered after evictions."""
    count = _count(name)
    return 0.5 if count is None else count


def _decode(path: Path, folders: Folders, record: Process, noted: Notes) -> list[hlo.Module]:
    from xladoctor.ingest.timeline.compiling import protos
    from xladoctor.ingest.xplane.read import read_space

    space = read_space(path, noted)
    decoded = []
    for program, proto in protos(space) if space else ():
        try:
            module = hlo.decode(proto, program, folders, record.meshes, not record.misplaced_lines)
            decoded.append(module)
        except DecodeError as error:
            noted.notes.append(f"{path}: module {program}: unreadable HLO ({error})")
    return decoded


def _in_order(table: Columns) -> list[int]:
    """Rows of compilations, in the order they began."""
    ends, durations = list(table.get("end_ns", ())), list(table.get("duration_ns", ()))
    rows = list(range(len(ends)))
    if None in ends or None in durations:
        return rows
    return sorted(rows, key=lambda row: ends[row] - durations[row])


def _by_number(modules: list[hlo.Module], table: Columns) -> list[int | None]:
    """The row of each module's compilation, by number; fills in its inputs and outputs."""
    by_index = {index: row for row, index in enumerate(table.get("index", ()))}
    rows = [by_index.get(module.program - 1) for module in modules]
    for module, row in zip(modules, rows, strict=True):
        if row is not None:
            table["inputs"][row], table["outputs"][row] = _numbers(module)
    return rows


def _join(modules: list[hlo.Module], rows: list[int], table: Columns) -> list[int | None]:
    """The row of each module's compilation: in order, if inputs and outputs agree in number.

    If modules are missing, a module is joined only if as many modules as compilations have its
    numbers, or if all these compilations are of one graph.
    """
    logged = {row: (table["inputs"][row], table["outputs"][row]) for row in rows}
    if len(modules) == len(rows) and all(
        agree(_numbers(module), logged[row]) for module, row in zip(modules, rows, strict=True)
    ):
        return list(rows)
    by_numbers: dict[Any, list[int]] = defaultdict(list)
    for row in rows:
        by_numbers[logged[row]].append(row)
    alike: dict[Any, list[hlo.Module]] = defaultdict(list)
    for module in modules:
        alike[_numbers(module)].append(module)
    rows_of: dict[int, int] = {}
    for numbers, group in alike.items():
        candidates = by_numbers[numbers]
        hashes = {table["graph_hash"][row] for row in candidates}
        if None in numbers or None in hashes:
            continue
        if len(candidates) == len(group) or len(hashes) == 1:
            rows_of |= {id(module): row for module, row in zip(group, candidates, strict=False)}
    return [rows_of.get(id(module)) for module in modules]


def _numbers(module: hlo.Module) -> Numbers:
    return module.inputs, module.outputs


def _site_of(row: int | None, table: Columns) -> tuple[Any, ...]:
    """The call site of a compilation, empty if that is not known."""
    return () if row is None else tuple(table[name][row] for name in _SITE if name in table)


def _hash_of(row: int | None, module: hlo.Module, table: Columns) -> str | None:
    """The graph's hash; without a log of it, the module's number stands for it."""
    if row is None:
        return None
    if table["graph_hash"][row] is None:
        table["graph_hash"][row] = f"module {module.program}"
    graph_hash: str = table["graph_hash"][row]
    return graph_hash
