"""What follows from the class of a fact: its table, and the columns of that."""

import re
from collections.abc import Iterator
from types import ModuleType, NoneType
from typing import Annotated, Any, NamedTuple, get_args, get_origin

from xladoctor.recording.bootstrap._xladoctor.facts import Fact, Kind, Number, Recorded, derived

_SQL = {
    str: "VARCHAR",
    bool: "BOOLEAN",
    float: "DOUBLE",
    int: "BIGINT",
    tuple[int, ...]: "BIGINT[]",
    tuple[str, ...]: "VARCHAR[]",
}


class Column(NamedTuple):
    """A column.

    Attributes:
        type: in DuckDB.
        text: what its values mean.
        most: the largest number that it can have, of either sign; that of its type if not given.
    """

    type: str
    text: str
    most: float | None = None


class Table(NamedTuple):
    """A table.

    Attributes:
        text: what it holds, as a part of a sentence.
        source: what it is read from.
        files: patterns of the files that have rows of it.
        example: a query that shows what it is good for.
        kept: whether it is kept as it is of each host of a pod with many.
    """

    text: str
    source: str
    columns: dict[str, Column]
    files: tuple[str, ...]
    example: str
    kept: bool = False


class Field(NamedTuple):
    """A field of a fact: its type, and what its annotation says about it.

    Attributes:
        derived: whether records lack it.
    """

    name: str
    type: Any
    kind: Kind
    text: str
    recorded: Recorded
    derived: bool


_PROCESS = {"process": Column("INTEGER", "number of the process in this evidence, from 0")}


class NamedLine(Fact):
    """The line that a call site names, and the user's line that led there if it is another."""

    file: Annotated[str | None, "path of the named line"]
    line: Annotated[Number | None, "the named line, from 1"]
    function: Annotated[str | None, "function that the named line is in"]
    user_file: Annotated[
        str | None, "path of the user's line that led there, where the named one is a library's"
    ]
    user_line: Annotated[Number | None, "that line"]
    user_function: Annotated[str | None, "function that it is in"]
    via: Annotated[str, "function of the framework that the named line called, if any"]


def fields(fact: type[Fact]) -> list[Field]:
    """The fields that a class declares itself."""
    return [
        _field(name, annotation, vars(fact).get(name) is derived)
        for name, annotation in fact.__annotations__.items()
    ]


def _field(name: str, annotation: Any, is_derived: bool) -> Field:
    said: list[Any] = []  # of the outermost annotation first
    while parts := get_args(annotation):
        if get_origin(annotation) is Annotated:
            annotation, *more = parts
            said += more
        elif NoneType in parts:
            annotation = parts[0]
        else:
            break
    kind = next((each for each in said if isinstance(each, Kind)), Kind())
    text = next((each for each in said if isinstance(each, str)), kind.text)
    recorded = next((each for each in said if isinstance(each, Recorded)), Recorded())
    return Field(name, annotation, kind, text, recorded, is_derived)


def columns(fact: type[Fact]) -> dict[str, Column]:
    """The columns of a fact's table, in the order of its fields."""
    own = dict(column for field in fields(fact) for column in _columns(field))
    return {**_PROCESS, **own} if fact.about.process else own


def _columns(field: Field) -> Iterator[tuple[str, Column]]:
    role, name = field.kind.role, field.name
    if field.recorded.only:
        return
    if role == "site":
        yield from SITE.items()
    elif role == "place":
        yield from PLACE.items()
    elif role == "function":
        yield f"{name}_file", Column("VARCHAR", f"path of {field.text}")
        yield f"{name}_line", Column("INTEGER", "first line of that function")
        yield f"{name}_function", Column("VARCHAR", "its name")
    else:
        sql = field.kind.sql or _SQL[field.type]
        yield name, Column(sql, field.text, None if sql.endswith("[]") else field.kind.most)


SITE = dict(column for field in fields(NamedLine) for column in _columns(field))
PLACE = {name: column for name, column in SITE.items() if name != "via"}


def facts_in(module: ModuleType) -> list[type[Fact]]:
    """The facts that a module declares."""
    return [
        fact
        for fact in vars(module).values()
        if isinstance(fact, type)
        and issubclass(fact, Fact)
        and fact.__module__ == module.__name__
        and fact.__annotations__
        and fact is not Fact
    ]


def tables(*modules: ModuleType) -> dict[str, Table]:
    """The tables of the facts that modules declare, by their names."""
    facts = (fact for module in modules for fact in facts_in(module))
    return {table_name(fact): _table(fact) for fact in facts if fact.about.source}


def table_name(fact: type[Fact]) -> str:
    """The name of a fact's table: ``host_sync`` of ``HostSync``."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", fact.__name__).lower()


def _table(fact: type[Fact]) -> Table:
    about = fact.about
    text = " ".join((fact.__doc__ or "").split()).removesuffix(".")
    return Table(
        text[:1].lower() + text[1:],
        about.source,
        columns(fact),
        about.files,
        about.example,
        about.kept,
    )
