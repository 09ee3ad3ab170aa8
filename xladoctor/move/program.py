"""Moves a program: its script, and the files of its project that it imports."""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path

from xladoctor.fixes.files import Files, read_again
from xladoctor.fixes.interface import FixError, Refused
from xladoctor.fixes.source import Source
from xladoctor.fixes.text import MARK
from xladoctor.move.convert import Converter
from xladoctor.move.imports import completed
from xladoctor.move.interface import FileMove, Move, MoveError, Remark, Target
from xladoctor.move.table import Names
from xladoctor.repository import from_here
from xladoctor.whole_files import replacing

#: What only programs of several processes need: helpers, and the framework's function.
_SEVERAL = frozenset({"launch", "init_process_group", "world_size", "rank", "local_rank"})
_JOINS = "init_process_group("


class _Named(Source):
    """A file of which the names of one package are looked at, whatever else it does."""

    def refuse_unclear_names(self) -> None:
        """Code that uses variables by name leaves a package's names what they are."""


def move(paths: Sequence[Path], root: Path, names: Names, target: Target, *, several: bool) -> Move:
    """The program, moved; nothing is written.

    Args:
        paths: its files, the script first; those that do not name the package are left out.
        several: whether it is known to run in several processes; its source may say so as well.
    """
    paths = [path for path in paths if names.package in _text(path)]
    files = Files(root, lambda file: True, _Named)
    found = [_converted(path, files, names, target, several=several) for path in paths]
    joined = any(_JOINS in each.text for each, _ in found)
    if not several and (joined or any(helpers & _SEVERAL for _, helpers in found)):
        found = [_converted(path, files, names, target, several=True) for path in paths]
        several = True
    files_moved = tuple(each for each, _ in found)
    return Move(names.package, names.environment, root, target, files_moved, several)


def files_of(script: Path, root: Path) -> list[Path]:
    """A script and the files of the project that it imports, in the order in which it does."""
    found, pending = list[Path](), [script]
    project = _Project(script.parent, root)
    while pending:
        path = pending.pop(0)
        if path not in found:
            found.append(path)
            pending += project.imported(path)
    return found


class _Project:
    """The modules of a project: beside the script, in the folders above, or anywhere, if only one
    file has that name, as programs extend ``sys.path``.
    """

    def __init__(self, folder: Path, root: Path) -> None:
        above = [each for each in folder.parents if each.is_relative_to(root)]
        self._folders = [folder, *above]
        self._root = root

    @cached_property
    def _anywhere(self) -> dict[str, list[Path]]:
        found: dict[str, list[Path]] = {}
        for place, folders, names in os.walk(self._root):
            folders[:] = [each for each in folders if not each.startswith((".", "__", "venv"))]
            for name in names:
                if name.endswith(".py") and "site-packages" not in place:
                    found.setdefault(name.removesuffix(".py"), []).append(Path(place, name))
        return found

    def imported(self, path: Path) -> Iterator[Path]:
        """The files that one imports."""
        try:
            tree = ast.parse(_text(path))
        except (SyntaxError, ValueError):
            return
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                yield from self._files([alias.name for alias in node.names], self._folders)
            elif isinstance(node, ast.ImportFrom):
                module = node.module or ""
                modules = [module, *(f"{module}.{alias.name}".strip(".") for alias in node.names)]
                near = [path.parents[node.level - 1]] if node.level else self._folders
                yield from self._files(modules, near)

    def _files(self, modules: list[str], places: list[Path]) -> Iterator[Path]:
        for module in filter(None, modules):
            parts = module.replace(".", "/")
            names = (f"{parts}.py", f"{parts}/__init__.py")
            there = [place / name for place in places for name in names if (place / name).is_file()]
            if not there and module not in sys.stdlib_module_names:
                named = self._anywhere.get(module, [])
                there = named if len(named) == 1 else []
            yield from there[:1]


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8", errors="replace")
    except OSError:
        return ""


def _converted(
    path: Path, files: Files, names: Names, target: Target, *, several: bool
) -> tuple[FileMove, set[str]]:
    try:
        source = files.source(path)
    except Refused as refused:
        text = _text(path)
        return FileMove(
            path, "", text, text, refused=(Remark(1, path.name, refused.reason),)
        ), set()
    moved, converter = _moved(source, names, target, several=several)
    found = converter.found
    return (
        FileMove(
            path,
            files.sha256(path),
            source.text,
            moved,
            tuple(sorted(found.relies)),
            tuple(sorted(found.behaviour)),
            tuple(sorted(found.refused)),
        ),
        found.helpers,
    )


def _moved(source: Source, names: Names, target: Target, *, several: bool) -> tuple[str, Converter]:
    converter = Converter(source, names, target, several=several)
    module = source.module.visit(converter)
    found, called = converter.found, converter.helper_names
    module = completed(module, names, found.helpers, called, target)
    text = module.code
    mark = MARK if source.text.startswith(MARK) else ""
    return mark + text, converter


def written(move: Move) -> list[str]:
    """Write the files that change, each as a whole or not at all; return a line about each.

    Raises:
        MoveError: a file has changed meanwhile, or cannot be written.
    """
    lines = []
    for file in move.files:
        if file.moved == file.text:
            continue
        try:
            read_again(file.path, file.sha256)
            with replacing(file.path) as new:
                new.write(file.moved.encode("utf-8"))
        except FixError as error:
            raise MoveError(str(error), error.hint) from error
        except OSError as error:
            raise MoveError(
                f"{from_here(file.path)} cannot be written: {error.strerror}"
            ) from error
        lines.append(f"{from_here(file.path)}: moved to {move.target.title}")
    return lines
