"""The configuration as the command line changes it: option, then environment, then file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import typer

from xladoctor import doctor
from xladoctor.cli.groups import option, repeated

if TYPE_CHECKING:
    from xladoctor.configuration.interface import Configured
    from xladoctor.diagnosis.rule import Rule
    from xladoctor.diagnosis.selection import Selection

FailOnOption = Annotated[
    Literal["error", "warning", "info", "never"] | None,
    typer.Option(
        "--fail-on",
        envvar="XLADOCTOR_FAIL_ON",
        show_default="warning",
        help="Lowest severity, judged by counts, at which a finding fails.",
    ),
]


@dataclass(frozen=True)
class PackOptions:
    """Which rules there are; what is None or empty is left to the configuration."""

    config: Path | None = option(
        "Configuration file (default: the nearest xladoctor.toml, or pyproject.toml with"
        " [tool.xladoctor]).",
        envvar="XLADOCTOR_CONFIG",
    )
    rules: list[Path] = repeated(
        "Folder with more rules, in addition to those of the configuration. May be repeated.",
        envvar="XLADOCTOR_RULES",
        metavar="DIR",
    )

    def all_rules(self) -> list[Rule]:
        """The pack and all that is configured. Raises ConfigurationError and RuleError."""
        return doctor.rules(configured(ConfigOptions(self.config, self.rules)))


@dataclass(frozen=True)
class ConfigOptions(PackOptions):
    """Which configuration, and what options change in it."""

    section: ClassVar[str] = "Rules"

    select: list[str] = repeated(
        "Rules or families to evaluate, separated by commas. A family is the beginning of ids.",
        envvar="XLADOCTOR_SELECT",
        metavar="RULES",
    )
    ignore: list[str] = repeated(
        "Rules or families to leave out, separated by commas. RULE:GLOB ignores only"
        " findings in matching files, such as third_party/**.",
        envvar="XLADOCTOR_IGNORE",
        metavar="RULES[:GLOB]",
    )

    def selection(self) -> Selection:
        """The rules as configured. Raises ConfigurationError and RuleError."""
        return doctor.selection(configured(self))


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

    from xladoctor.configuration.interface import Configuration, ConfigurationError
    from xladoctor.configuration.load import load_configuration, message_of

    configuration = load_configuration(options.config)
    changes = configuration.settings.model_dump(exclude_unset=True)
    by_option = _choose_rules(changes, options, levels)
    _change_gate(changes.setdefault("gate", {}), budgets, of_gate or {})
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


def _choose_rules(
    changes: dict[str, Any], options: ConfigOptions, levels: Sequence[str]
) -> dict[str, list[str]]:
    """Put what options say about rules in place of what the file does; return the rules that they
    name, by key.
    """
    by_rule = _pairs("--level", "RULE=warning", levels)
    of_file = changes.get("levels", {})  # an option for a family overrides the file
    changes["levels"] = {
        name: level for name, level in of_file.items() if not name.startswith(tuple(by_rule))
    } | by_rule
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
    return by_option


def _change_gate(gate: dict[str, Any], budgets: Sequence[str], given: Mapping[str, Any]) -> None:
    """Put what options say about the gate in place of what the file does."""
    gate.update({key: value for key, value in given.items() if value is not None})
    limits = _pairs("--budget", "max_host_syncs_per_step=0.1", budgets)
    if limits:
        gate["budgets"] = {**gate.get("budgets", {}), **limits}
    for of_script in gate.get("scripts", {}).values():  # an option overrides every file
        for name in limits:
            of_script.pop(name, None)


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
