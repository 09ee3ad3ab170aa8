"""What a move makes of a program."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from xladoctor.errors import XladoctorError


class MoveError(XladoctorError):
    """There is nothing to move, or what was asked for cannot be done."""


@dataclass(frozen=True, slots=True)
class Target:
    """What a program is moved to.

    Attributes:
        name: as ``--to`` takes it.
        title: as people call it.
        device: the type of its devices.
        backend: of its process groups.
        seeder: the function that seeds its random numbers.
        without: texts by which lines of helpers are left out.
        foreign: whether libraries that choose the device do not know it.
        replaced: what takes the place of names and settings, in words.
    """

    name: str
    title: str
    device: str
    backend: str
    seeder: str
    without: tuple[str, ...]
    foreign: bool
    replaced: Mapping[str, str]


@dataclass(frozen=True, slots=True, order=True)
class Remark:
    """A line of the program, and what is to be known about it.

    Attributes:
        line: from 1, in the file before it is moved.
        code: what the line uses, as a name or a setting.
        text: a clause.
    """

    line: int
    code: str
    text: str


@dataclass(frozen=True, slots=True)
class FileMove:
    """A file, before and after.

    Attributes:
        path: absolute.
        sha256: of the bytes that were read.
        text: as it is now.
        moved: as it is to be.
        relies: what is taken for granted.
        behaviour: what the program does differently afterwards.
        refused: what has to be done by hand.
    """

    path: Path
    sha256: str
    text: str
    moved: str
    relies: tuple[Remark, ...] = ()
    behaviour: tuple[Remark, ...] = ()
    refused: tuple[Remark, ...] = ()


@dataclass(frozen=True, slots=True)
class Move:
    """A program, moved.

    Attributes:
        source: the framework that it is moved from.
        environment: variables with which the original is tried.
        root: the project: no file outside of it is changed.
        files: those that use the framework, the script first.
        several: whether it runs in several processes.
    """

    source: str
    environment: Mapping[str, str]
    root: Path
    target: Target
    files: tuple[FileMove, ...]
    several: bool

    @property
    def refused(self) -> int:
        """How many places have to be changed by hand."""
        return sum(len(file.refused) for file in self.files)

    @property
    def texts(self) -> dict[Path, str]:
        """The new text of each file that changes."""
        return {file.path: file.moved for file in self.files if file.moved != file.text}
