"""Options: each declared as a default, and those that belong together as the fields of a dataclass,
which commands take as one value.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from copy import copy
from dataclasses import MISSING, Field, field, fields, is_dataclass
from functools import wraps
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import typer
from typer.core import TyperCommand

#: The section of options in a command's help, unless a group of them has its own.
OPTIONS = "Options"
#: The default of an option that has to be given.
REQUIRED = MISSING
#: Keys of a field's metadata: what typer knows of it, and whether it is written as it is named.
_DECLARED, _FLAG = "typer", "flag"


class SectionedCommand(TyperCommand):
    """A command whose help has a section for each group of options."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments, then the options by section."""
        sections: dict[str, list[tuple[str, str]]] = {"Arguments": [], OPTIONS: []}
        for parameter in self.get_params(ctx):
            if (record := parameter.get_help_record(ctx)) is None:
                continue
            section = getattr(parameter, "rich_help_panel", None) or OPTIONS
            argument = parameter.param_type_name == "argument"
            sections.setdefault("Arguments" if argument else section, []).append(record)
        for section, records in sections.items():
            if records:
                with formatter.section(section):
                    formatter.write_dl(records)


def option(help_: str, *names: str, default: Any = None, **settings: Any) -> Any:
    """An option, as the default of a command's parameter or of a field of a group.

    Args:
        help_: what the command's help says about it.
        names: how it is written; by default as its parameter is named.
        default: its value where it is not given; a list, if it may be repeated.
        settings: others of :func:`typer.Option`.
    """
    return _declared(typer.Option(*names, help=help_, **settings), default)


def flag(help_: str, *names: str, **settings: Any) -> Any:
    """An option without a value, False where it is not given; see :func:`option`."""
    declared = typer.Option(*names, help=help_, **settings)
    return _declared(declared, default=False, flag=not names)


def repeated(help_: str, *names: str, **settings: Any) -> Any:
    """An option that may be repeated, a list; see :func:`option`."""
    return option(help_, *names, default=[], **settings)


def argument(help_: str, *, default: Any = REQUIRED, **settings: Any) -> Any:
    """An argument, which has to be given unless it has a default; see :func:`option`."""
    return _declared(typer.Argument(help=help_, **settings), default)


def _declared(declared: Any, default: Any, *, flag: bool = False) -> Any:
    known = {_DECLARED: declared, _FLAG: flag}
    if isinstance(default, list):
        return field(default_factory=default.copy, metadata=known)
    return field(default=default, metadata=known)


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """The command as typer reads it: the fields of each group in place of the group's parameter.

    Args:
        command: whose parameters are options, or dataclasses whose fields are. The ``section`` of
            such a class is the heading of its options in the command's help.
    """
    groups: dict[str, type] = {}
    parameters: list[inspect.Parameter] = []
    hints = get_type_hints(command, include_extras=True)
    for name, parameter in inspect.signature(command).parameters.items():
        kind = hints[name]
        if is_dataclass(kind) and isinstance(kind, type):
            groups[name] = kind
            of, section = get_type_hints(kind, include_extras=True), getattr(kind, "section", None)
            parameters += [_parameter(each, of[each.name], section) for each in fields(kind)]
            continue
        given = parameter.default
        if not isinstance(given, Field):
            given = field(default=MISSING if given is inspect.Parameter.empty else given)
        given.name = name
        parameters.append(_parameter(given, kind))

    @wraps(command)
    def flat(**values: Any) -> None:
        made = {
            name: kind(**{each.name: values.pop(each.name) for each in fields(kind)})
            for name, kind in groups.items()
        }
        command(**values, **made)

    flat.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    flat.__annotations__ = {each.name: each.annotation for each in parameters}
    return flat


def _parameter(given: Field[Any], annotation: Any, section: str | None = None) -> inspect.Parameter:
    """A parameter with its type, default and option, which names the section of the help."""
    kind, declared = (
        get_args(annotation) if get_origin(annotation) is Annotated else (annotation, None)
    )
    if declared := copy(given.metadata.get(_DECLARED, declared)):
        declared.rich_help_panel = declared.rich_help_panel or section
        if given.metadata.get(_FLAG):
            declared.param_decls = (f"--{given.name.replace('_', '-')}",)
        annotation = Annotated[kind, declared]
    made = given.default if given.default_factory is MISSING else given.default_factory()
    default = inspect.Parameter.empty if made is MISSING else made
    kind_of = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(given.name, kind_of, default=default, annotation=annotation)
