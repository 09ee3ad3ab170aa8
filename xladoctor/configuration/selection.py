"""Selects the rules to evaluate, with their files, thresholds and levels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from xladoctor.configuration.interface import Configuration, ConfigurationError, Level
from xladoctor.diagnosis.naming import fit
from xladoctor.diagnosis.ranking import LEVELS
from xladoctor.diagnosis.rule import Rule
from xladoctor.diagnosis.selection import Selection

#: By setting, the option that sets it.
OPTIONS = {"select": "--select", "ignore": "--ignore", "levels": "--level"}


def select(
    rules: Sequence[Rule],
    settings: Configuration,
    where: str,
    by_option: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> Selection:
    """Apply ``select``, ``ignore``, levels and thresholds.

    Findings of a rule in preview are information, unless ``select`` has the rule's own id.

    Args:
        where: the configuration's name in errors.
        by_option: names that are from options of the command line, by the setting.

    Raises:
        ConfigurationError: a rule, family or threshold that does not exist.
    """
    _check(rules, settings, where, by_option)
    kept, off = [], []
    for rule in rules:
        if _is_on(rule.id, settings):
            changed = _changed(rule, settings)
            kept.append(changed if rule.id in settings.select else changed.at_its_most())
        else:
            off.append(rule.id)
    errors = [rule.id for rule in kept if level_of(rule.id, settings.levels) == "error"]
    ignored_in = {rule.id: globs for rule in kept if (globs := _globs(rule.id, settings))}
    return Selection(kept, off, errors, ignored_in)


def _changed(rule: Rule, settings: Configuration) -> Rule:
    """The rule with its thresholds, and at most as serious as its level."""
    changes: dict[str, Any] = {}
    if thresholds := settings.thresholds.get(rule.id):
        changes["thresholds"] = {**rule.thresholds, **thresholds}
    level = level_of(rule.id, settings.levels)
    if level in ("info", "warning"):
        changes["severity"] = min(level, rule.severity, key=LEVELS.index)
    return rule.model_copy(update=changes)


def _globs(rule: str, settings: Configuration) -> list[str]:
    """The files in which a rule's findings are ignored."""
    parted = [entry.partition(":") for entry in settings.ignore]
    return [glob for name, _, glob in parted if glob and fit(rule, name)]


def level_of(rule: str, levels: Mapping[str, Level]) -> Level | None:
    """The level of the longest name that the rule's id begins with."""
    names = [name for name in levels if fit(rule, name)]
    return levels[max(names, key=lambda name: fit(rule, name))] if names else None


def _is_on(rule: str, settings: Configuration) -> bool:
    if level_of(rule, settings.levels) == "off":
        return False
    everywhere = [name for name in settings.ignore if ":" not in name]
    chosen, left_out = (
        max((fit(rule, name) for name in names), default=0)
        for names in (settings.select, everywhere)
    )
    return chosen > left_out


def _check(
    rules: Sequence[Rule],
    settings: Configuration,
    where: str,
    by_option: Mapping[str, Sequence[str]],
) -> None:
    known = {rule.id: rule for rule in rules}
    defects = [
        f"{_place(key, name, where, by_option)}: no rule begins with {name.partition(':')[0]}"
        for key, names in (
            ("select", settings.select),
            ("ignore", settings.ignore),
            ("levels", settings.levels),
        )
        for name in names
        if not any(fit(rule, name.partition(":")[0]) for rule in known)
    ]
    for name, thresholds in settings.thresholds.items():
        if name not in known:
            defects.append(f"{where}: thresholds: no rule {name}")
            continue
        has = known[name].thresholds
        defects += [
            f"{where}: thresholds.{name}: no threshold {threshold}; there is:"
            f" {', '.join(has) or 'none'}"
            for threshold in thresholds
            if threshold not in has
        ]
    if defects:
        raise ConfigurationError(defects, "`xladoctor rules` lists the rules")


def _place(key: str, name: str, where: str, by_option: Mapping[str, Sequence[str]]) -> str:
    """Where a name of a setting is from."""
    return f"option {OPTIONS[key]}" if name in by_option.get(key, ()) else f"{where}: {key}"
