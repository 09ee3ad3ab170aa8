"""Checks settings that hurt: ones that a rule finds, and ones that hurt in any program.

Debugging settings are judged by the rules that judge them in a captured run, so there is only one
list of them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from xladoctor.environment.interface import Check, ok, warning


@dataclass(frozen=True, slots=True)
class Setting:
    """Environment variables that hurt, whatever the program.

    Attributes:
        names: the variables.
        hurts: whether a value hurts.
        why: what it does.
        advice: what to do.
    """

    names: tuple[str, ...]
    hurts: Callable[[str], bool]
    why: str
    advice: str = "unset it"


def switched_on(value: str) -> bool:
    """Whether a variable with this value switches something on."""
    return value.strip().lower() not in ("", "0", "false", "no", "off")


def settings(
    others: Sequence[Setting], environment: Mapping[str, str] | None = None
) -> list[Check]:
    """A warning for each setting that hurts, or one check that none does.

    Args:
        others: settings that no rule judges.
        environment: the environment; by default this process's.
    """
    given = os.environ if environment is None else environment
    hurting = _debugging(given) + [
        warning("settings", f"{_assignment(name, given[name])}: {setting.why}", setting.advice)
        for setting in others
        for name in setting.names
        if name in given and setting.hurts(given[name])
    ]
    return hurting or [ok("settings", "none that slows programs down")]


def _assignment(name: str, value: str) -> str:
    """An assignment as in a shell; for flags only the name, as the value may be anything."""
    return name if name == "XLA_FLAGS" else f"{name}={value}"


def _debugging(environment: Mapping[str, str]) -> list[Check]:
    """What the rule finds in the environment variables as they stand."""
    from xladoctor.causes.derive import derive
    from xladoctor.diagnosis.engine import diagnose
    from xladoctor.diagnosis.pack import load_rules
    from xladoctor.evidence.interface import Elsewhere
    from xladoctor.evidence.load import build
    from xladoctor.ingest.interface import Ingested

    variables = Ingested()
    variables.table("environment")
    for name, value in environment.items():
        nowhere = dict.fromkeys(("file", "line", "function"))
        variables.of(0).add("environment", name=name, value=value, set_by="environment", **nowhere)
    rules = [rule for rule in load_rules() if rule.needs == ["environment"]]
    evidence = derive(build(variables, "-", Elsewhere("text")))
    findings = diagnose(evidence, rules).findings
    return [
        warning("settings", finding.message.rstrip("."), " ".join(finding.fix.split()))
        for finding in findings
    ]
