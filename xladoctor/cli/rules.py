"""``xladoctor rules`` and ``xladoctor explain``: what is checked, and what a rule means."""

from __future__ import annotations

from typing import Annotated

import typer

from xladoctor.cli.configured import Asked, ConfigOption, RulesOption, configured
from xladoctor.errors import XladoctorError
from xladoctor.report.output import emit


def rules(
    config: ConfigOption = None,
    folders: RulesOption = [],  # noqa: B006  # typer reads it
) -> None:
    """List the rules."""
    from xladoctor import doctor

    known = doctor.rules(configured(Asked(config, rules=folders)))
    emit("".join(f"{rule.id}  {rule.severity:<7}  {rule.title}\n" for rule in known))


def explain(
    rule_id: Annotated[str, typer.Argument(metavar="RULE", help="A rule's id, in any case.")],
    config: ConfigOption = None,
    folders: RulesOption = [],  # noqa: B006  # typer reads it
) -> None:
    """Explain a rule: what it finds, why that is slow, how to fix it, when it is wrong."""
    from xladoctor import doctor
    from xladoctor.report.rule_page import page

    configuration = configured(Asked(config, rules=folders))
    known = {rule.id: rule for rule in doctor.rules(configuration)}
    rule = known.get(rule_id.upper())
    if rule is None:
        raise XladoctorError(f"{rule_id}: no such rule", f"known rules: {', '.join(known)}")
    emit(page(rule))
