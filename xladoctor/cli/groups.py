"""Options that belong together, declared once as a dataclass that commands take as one value."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from copy import copy
from dataclasses import MISSING, fields, is_dataclass
from functools import wraps
from typing import Annotated, Any, get_args, get_type_hints

from typer.core import TyperCommand

#: The section of options in a command's help, unless a group of them has its own.
OPTIONS = "Options"


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


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """The command as typer reads it: the fields of each group in place of the group's parameter.

    Args:
        command: whose parameters are options of typer, or dataclasses whose fields are. The
            ``section`` of such a class is the heading of its options in the command's help.
    """
    groups: dict[str, type] = {}
    parameters: list[inspect.Parameter] = []
    hints = get_type_hints(command, include_extras=True)
    for name, parameter in inspect.signature(command).parameters.items():
        kind = hints[name]
        if is_dataclass(kind) and isinstance(kind, type):
            groups[name] = kind
            parameters += _parameters(kind)
        else:
            parameters.append(parameter.replace(annotation=kind))

    @wraps(command)
    def flat(**values: Any) -> None:
        made = {
            name: kind(**{field.name: values.pop(field.name) for field in fields(kind)})
            for name, kind in groups.items()
        }
        command(**values, **made)

    keyword = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in parameters]
    flat.__signature__ = inspect.Signature(keyword)  # type: ignore[attr-defined]
    flat.__annotations__ = {each.name: each.annotation for each in keyword}
    return flat


def _parameters(group: type) -> list[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    section = getattr(group, "section", None)
    return [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=field.default if field.default_factory is MISSING else field.default_factory(),
            annotation=_in_section(hints[field.name], section),
        )
        for field in fields(group)
    ]


def _in_section(annotation: Any, section: str | None) -> Any:
    """The annotation, with an option of its own that names the section of the help."""
    if section is None:
        return annotation
    kind, option = get_args(annotation)
    option = copy(option)
    option.rich_help_panel = option.rich_help_panel or section
    return Annotated[kind, option]
