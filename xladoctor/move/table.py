"""The table of a framework's names: what becomes of each where a program is moved."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from functools import cache, cached_property
from pathlib import Path
from typing import cast

import yaml
from pydantic import BaseModel, ConfigDict

_PLACE = re.compile(r"\{(\w+)\}")
#: Places in texts that are not arguments.
OWN_PLACES = frozenset({"device", "kind", "seeder"})


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Call(_Strict):
    """What becomes of the calls of a function; the fields are described in ``table.yaml``."""

    takes: str = ""
    gives: str | tuple[str, ...]
    given: dict[str, str] = {}
    several: str | tuple[str, ...] | None = None
    of_steps: str | None = None
    drops: frozenset[str] = frozenset()
    relies: str = ""
    behaviour: str = ""

    @cached_property
    def parameters(self) -> ast.arguments:
        """The parameters that it takes."""
        return cast(ast.Lambda, ast.parse(f"lambda {self.takes}: 0", mode="eval").body).args

    def texts(self, *, several: bool) -> tuple[str, ...]:
        """What may take its place, in the order in which it is tried."""
        texts = self.gives if self.several is None or not several else self.several
        return (texts,) if isinstance(texts, str) else texts


class TargetEntry(_Strict):
    """A framework that programs can be moved to."""

    title: str
    device: str
    frontend: str = ""
    without: tuple[str, ...] = ()
    foreign: bool = False


class Devices(_Strict):
    """A type of devices."""

    backend: str
    seeder: str


class Table(_Strict):
    """A ``table.yaml``."""

    targets: dict[str, TargetEntry]
    devices: dict[str, Devices]
    environment: dict[str, str] = {}
    modules: dict[str, str]
    device: str
    calls: dict[str, Call]
    others: dict[str, Call] = {}
    libraries: dict[str, str] = {}
    names: dict[str, str] = {}
    refused: dict[str, str] = {}

    def whole(self, name: str) -> str:
        """The full name for one that begins with a short name of a module."""
        first, dot, rest = name.partition(".")
        return f"{self.modules.get(first, first)}{dot}{rest}"


class Names:
    """A table by full names, and the functions that may be added to a file.

    Attributes:
        package: that the names are of.
        helpers: their texts, by name; and the modules that they name.
        targets: what programs can be moved to, by name.
        environment: variables for a program that is tried.
        devices: what is known of devices, by their type.
        device: how texts name its devices.
        libraries: what to do about calls that choose the device themselves.
        others: functions of other packages, where an argument is such a text.
    """

    def __init__(self, folder: Path, package: str) -> None:
        given = yaml.safe_load((folder / "table.yaml").read_text("utf-8"))
        table = Table.model_validate(given)
        self.package = package
        self.targets = table.targets
        self.devices = table.devices
        self.environment = table.environment
        self.device = re.compile(table.device)
        self.others = table.others
        self.libraries = table.libraries
        self.calls = {table.whole(name): each for name, each in table.calls.items()} | self.others
        self.names = {table.whole(name): each for name, each in table.names.items()}
        self.refused = {table.whole(name): each for name, each in table.refused.items()}
        text = (folder / "helpers.py").read_text("utf-8")
        body = ast.parse(text).body
        self.helpers = {
            node.name: ast.get_source_segment(text, node) or ""
            for node in body
            if isinstance(node, ast.FunctionDef | ast.ClassDef)
        }
        imports = [node for node in body if isinstance(node, ast.Import)]
        self.modules = [alias.name for node in imports for alias in node.names]

    def is_of_package(self, name: str) -> bool:
        """Whether a full name is the package's, or of one of its modules."""
        return name == self.package or name.startswith(f"{self.package}.")

    def instead(self, name: str, replaced: Mapping[str, str]) -> str:
        """What to do by hand about a name: the words about it, or about what it is of."""
        while name:
            for words in (self.refused, replaced):
                if name in words and (name != self.package or words is self.refused):
                    return words[name]
            name = name.rpartition(".")[0]
        return ""

    def with_needed(self, names: set[str]) -> list[str]:
        """These helpers and those that they call, in the order of the file."""
        wanted, pending = set[str](), set(names)
        while pending:
            wanted |= pending
            used = {name for each in pending for name in re.findall(r"\w+", self.helpers[each])}
            pending = (used & self.helpers.keys()) - wanted
        return [name for name in self.helpers if name in wanted]


@cache
def names_of(folder: Path, package: str) -> Names:
    """The table in a folder."""
    return Names(folder, package)


def places(text: str) -> set[str]:
    """The arguments that a text needs."""
    return set(_PLACE.findall(text)) - OWN_PLACES
