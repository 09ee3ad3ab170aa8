"""Finds and reads the configuration: only the nearest file upward counts."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from xladoctor.configuration.interface import Configuration, ConfigurationError, Configured
from xladoctor.regular_files import SETTINGS, read_bytes, read_text
from xladoctor.repository import repository

Model = TypeVar("Model", bound=BaseModel)

OWN_FILE = "xladoctor.toml"
_SHARED_FILE = "pyproject.toml"
_TABLE = ("tool", "xladoctor")
_NAME = r"""(?:"[^"]*+"|'[^']*+'|[\w-]++)"""
_NAMES = rf"({_NAME}(?:\s*+\.\s*+{_NAME})*+)"
_HEADER = re.compile(rf"\s*+\[\[?+\s*+{_NAMES}\s*+\]\]?+\s*+(?:#.*)?$")
_KEY = re.compile(rf"\s*+{_NAMES}\s*+=")
_PART = re.compile(r'"([^"]*)"|\'([^\']*)\'|([\w-]+)')


def load_configuration(named: Path | None = None, start: Path | None = None) -> Configured:
    """Read ``named``, or the nearest file from ``start`` (the working directory) upward.

    In a folder, ``xladoctor.toml`` has priority over ``pyproject.toml``, which only counts if it
    has ``[tool.xladoctor]``. Without a file all settings are the defaults, and paths are relative
    to the repository.

    Raises:
        ConfigurationError: with file and line of each defect.
    """
    start = (start or Path.cwd()).absolute()
    if named is not None:
        return _read(named, _table_of(named))
    for folder in (start, *start.parents):
        if (own := folder / OWN_FILE).is_file():
            return _read(own, _table_of(own))
        shared = folder / _SHARED_FILE
        if shared.is_file() and _has_table(shared):
            return _read(shared, _TABLE)
    return Configured(folder=repository(start) or start)


def _table_of(path: Path) -> tuple[str, ...]:
    return _TABLE if path.name == _SHARED_FILE else ()


def _has_table(path: Path) -> bool:
    """Whether the file has our table; broken TOML that does not name us is ignored."""
    try:
        content = read_bytes(path, SETTINGS)
        document = tomllib.loads(content.decode())
    except OSError as error:
        raise ConfigurationError(f"{path}: cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError):
        return _TABLE[1].encode() in content  # then the defect is reported
    tools = document.get(_TABLE[0])
    return isinstance(tools, dict) and _TABLE[1] in tools


def _read(path: Path, table: tuple[str, ...]) -> Configured:
    settings = read_toml(path, table, Configuration)
    return Configured(settings=settings, folder=path.absolute().parent, source=path)


def read_toml(path: Path, table: tuple[str, ...], model: type[Model]) -> Model:
    """A table of a TOML file, validated.

    Raises:
        ConfigurationError: with file and line of each defect.
    """
    try:
        text = read_text(path, SETTINGS)
        document: Any = tomllib.loads(text)
    except OSError as error:
        raise ConfigurationError(f"{path}: cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:  # a ValueError has the line or byte
        raise ConfigurationError(f"{path}: not TOML: {error}") from error
    for key in table:
        document = document.get(key, {}) if isinstance(document, dict) else document
    try:
        return model.model_validate(document)
    except ValidationError as error:
        lines, found = lines_of(text), error.errors(include_input=False, include_url=False)
        defects = [
            f"{path}:{line_of(lines, (*table, *item['loc']))}:"
            f" {'.'.join(map(str, item['loc'])) or '.'.join(table)}: {message_of(item, model)}"
            for item in found
        ]
        raise ConfigurationError(defects) from error


def message_of(item: Any, model: type[BaseModel]) -> str:
    """A pydantic error in our own words."""
    if item["type"] == "extra_forbidden":
        known = _keys(model, item["loc"][:-1])
        return f"no such key; expected one of {', '.join(known)}" if known else "no such key"
    return str(item["msg"]).removeprefix("Value error, ")


def _keys(model: Any, location: tuple[Any, ...]) -> list[str]:
    """The keys that the model at ``location`` has."""
    for key in location:
        field = getattr(model, "model_fields", {}).get(key)
        model = field.annotation if field else next(iter(_of_values(model)), None)
    return sorted(getattr(model, "model_fields", {}))


def _of_values(annotation: Any) -> tuple[Any, ...]:
    return tuple(a for a in getattr(annotation, "__args__", ()) if hasattr(a, "model_fields"))


def line_of(lines: Mapping[tuple[str, ...], int], location: tuple[Any, ...]) -> int:
    """The line (from 1) of the deepest key of ``location`` among those of :func:`lines_of`."""
    wanted = tuple(map(str, location))
    spelled = (wanted[:depth] for depth in range(len(wanted), 0, -1))
    return next((lines[keys] for keys in spelled if keys in lines), 1)


def lines_of(text: str) -> dict[tuple[str, ...], int]:
    """The first line (from 1) of each table and key that a TOML text spells out."""
    lines: dict[tuple[str, ...], int] = {}
    table, seen = list[str](), dict[str, int]()
    for number, row in enumerate(text.splitlines(), 1):
        if header := _HEADER.match(row):
            table = _parts(header[1])
            if row.lstrip().startswith("[["):  # an item of an array: its number is part of it
                name = ".".join(table)
                seen[name] = seen.get(name, -1) + 1
                table.append(str(seen[name]))
            spelled = table
        elif key := _KEY.match(row):
            spelled = [*table, *_parts(key[1])]
        else:
            continue
        lines.setdefault(tuple(spelled), number)
    return lines


def _parts(dotted: str) -> list[str]:
    return [a or b or c for a, b, c in _PART.findall(dotted)]
