"""The configuration as the command line changes it: option, then environment, then file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import typer

if TYPE_CHECKING:
    from xladoctor.configuration.interface import Configured

ConfigOption = Annotated[
    Path | None,
    typer.Option(
        "--config",
        envvar="XLADOCTOR_CONFIG",
        show_default=False,
        help="Configuration file (default: the nearest xladoctor.toml, or pyproject.toml with"
        " [tool.xladoctor]).",
    ),
]
FailOnOption = Annotated[
    Literal["error", "warning", "info", "never"] | None,
    typer.Option(
        "--fail-on",
        envvar="XLADOCTOR_FAIL_ON",
        show_default="warning",
        help="Lowest severity, judged by counts, at which a finding fails.",
    ),
]
RulesOption = Annotated[
    list[Path],
    typer.Option(
        "--rules",
        envvar="XLADOCTOR_RULES",
        metavar="DIR",
        show_default=False,
        help="Folder with more rules, in addition to those of the configuration. May be repeated.",
    ),
]
SelectOption = Annotated[
    list[str],
    typer.Option(
        "--select",
        envvar="XLADOCTOR_SELECT",
        metavar="RULES",
        show_default=False,
        help="Rules or families to evaluate, separated by commas. A family is the beginning of"
        " ids.",
    ),
]
IgnoreOption = Annotated[
    list[str],
    typer.Option(
        "--ignore",
        envvar="XLADOCTOR_IGNORE",
        metavar="RULES[:GLOB]",
        show_default=False,
        help="Rules or families to leave out, separated by commas. RULE:GLOB ignores only"
        " findings in matching files, such as third_party/**.",
    ),
]


@dataclass(frozen=True)
class ConfigOptions:
    """Which configuration, and what options change in it; what is None or empty is left to it."""

    section: ClassVar[str] = "Rules"

    config: ConfigOption = None
    rules: RulesOption = field(default_factory=list)
    select: SelectOption = field(default_factory=list)
    ignore: IgnoreOption = field(default_factory=list)


def configured(
    options: ConfigOptions,
    *,
    levels: Sequence[str] = (),
    budgets: Sequence[str] = (),
    of_gate: Mapping[str, Any] | None = None,
) -> Configured:
    """The configuration in effect.

    Args:
        levels: ``RULE=LEVEL`` each.
        budgets: ``NAME=LIMIT`` each.
        of_gate: other keys of the gate; None leaves a key to the file.

    Raises:
        ConfigurationError: a file or an option that cannot be used.
    """
    from pydantic import ValidationError

    from xladoctor import doctor
    from xladoctor.configuration.interface import Configuration, ConfigurationError
    from xladoctor.configuration.load import load_configuration, message_of

    configuration = load_configuration(options.config)
    changes = configuration.settings.model_dump(exclude_unset=True)
    gate = changes.setdefault("gate", {})
    gate.update({key: value for key, value in (of_gate or {}).items() if value is not None})
    by_rule = _pairs("--level", "RULE=warning", levels)
    of_file = changes.get("levels", {})  # an option for a family overrides the file
    changes["levels"] = {
        name: level for name, level in of_file.items() if not name.startswith(tuple(by_rule))
    } | by_rule
    limits = _pairs("--budget", "max_host_syncs_per_step=0.1", budgets)
    if limits:
        gate["budgets"] = {**gate.get("budgets", {}), **limits}
    for of_script in gate.get("scripts", {}).values():  # an option overrides every file
        for name in limits:
            of_script.pop(name, None)
    if options.rules:
        folders = [str(folder.absolute()) for folder in options.rules]
        changes["rules"] = [*changes.get("rules", []), *folders]
    by_option = {"levels": list(by_rule)}
    for key, names in (("select", options.select), ("ignore", options.ignore)):
        if names:
            changes[key] = [part.strip() for name in names for part in name.split(",")]
            by_option[key] = changes[key]
    if options.select and not options.ignore:
        left_out = changes.get("ignore", [])
        changes["ignore"] = [name for name in left_out if name not in changes["select"]]
    try:
        configuration = configuration.model_copy(
            update={"settings": Configuration.model_validate(changes), "options": by_option}
        )
    except ValidationError as error:
        first = error.errors()[0]
        where = _option_at(first["loc"])
        raise ConfigurationError(f"{where}: {message_of(first, Configuration)}") from error
    if configuration.settings != Configuration():  # before a program runs for hours
        doctor.selection(configuration)
    return configuration


def _option_at(location: Sequence[Any]) -> str:
    """The option that sets what is at a place of the configuration, and the name in it."""
    from xladoctor.configuration.selection import OPTIONS

    known = {**OPTIONS, "budgets": "--budget"}
    for at, key in enumerate(location):
        if key in known:
            return " ".join(["option", known[key], *map(str, location[at + 1 : at + 2])])
    return f"option for {'.'.join(map(str, location))}"


def _pairs(option: str, example: str, words: Sequence[str]) -> dict[str, str]:
    pairs = [word.partition("=") for word in words]
    if bad := [name for name, equals, value in pairs if not (name and equals and value)]:
        raise typer.BadParameter(
            f"{bad[0]!r}: expected something like {example}", param_hint=option
        )
    return {name.strip(): value.strip() for name, _, value in pairs}
