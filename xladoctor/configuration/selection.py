"""Which rules are judged, with which thresholds, and how the gate treats each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xladoctor.configuration.interface import ALL, Configuration, ConfigurationError, Level
from xladoctor.diagnosis.rule import Rule


@dataclass(frozen=True, slots=True)
class Selection:
    """The rules that are judged, and the ids of those that are switched off."""

    rules: list[Rule]
    off: list[str]


def select(rules: Sequence[Rule], settings: Configuration, where: str) -> Selection:
    """Apply ``select``, ``ignore``, levels and thresholds.

    What a rule in preview finds is information, unless ``select`` has the rule's own id.

    Args:
        where: names the configuration in errors.

    Raises:
        ConfigurationError: a rule, family or threshold that does not exist.
    """
    _check(rules, settings, where)
    kept, off = [], []
    for rule in rules:
        if _is_on(rule.id, settings):
            changed = settings.thresholds.get(rule.id, {})
            thresholds = {**rule.thresholds, **changed}
            own = rule.model_copy(update={"thresholds": thresholds}) if changed else rule
            kept.append(own if rule.id in settings.select else own.at_its_most())
        else:
            off.append(rule.id)
    return Selection(kept, off)


def level_of(rule: str, levels: Mapping[str, Level]) -> Level | None:
    """The level of the longest name that the rule's begins with."""
    names = [name for name in levels if _fit(rule, name)]
    return levels[max(names, key=lambda name: _fit(rule, name))] if names else None


def _fit(rule: str, name: str) -> int:
    """How well a name fits a rule: 0 not at all, else more the longer it is."""
    if name == ALL:
        return 1
    return 1 + len(name) if rule.startswith(name) else 0


def _is_on(rule: str, settings: Configuration) -> bool:
    if level_of(rule, settings.levels) == "off":
        return False
    chosen, left_out = (max((_fit(rule, name) for name in names), default=0)
                        for names in (settings.select, settings.ignore))  # fmt: skip
    return chosen > left_out


def _check(rules: Sequence[Rule], settings: Configuration, where: str) -> None:
    known = {rule.id: rule for rule in rules}
    defects = [
        f"{where}: {key}: no rule begins with {name}"
        for key, names in (("select", settings.select), ("ignore", settings.ignore),
                           ("levels", settings.levels))
        for name in names if not any(_fit(rule, name) for rule in known)
    ]  # fmt: skip
    for name, thresholds in settings.thresholds.items():
        if name not in known:
            defects.append(f"{where}: thresholds: no rule {name}")
            continue
        has = known[name].thresholds
        defects += [
            f"{where}: thresholds.{name}: no threshold {threshold}; there is:"
            f" {', '.join(has) or 'none'}"
            for threshold in thresholds if threshold not in has
        ]  # fmt: skip
    if defects:
        raise ConfigurationError(defects, "`xladoctor rules` lists the rules")
