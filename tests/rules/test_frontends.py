"""Rules of several frontends: the same findings, each in the words of its framework."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from xladoctor.diagnosis.case import Case
from xladoctor.diagnosis.pack import load_rules, pack
from xladoctor.diagnosis.rule import Rule, Texts
from xladoctor.rule_cases.judge import judge, judged_by

HERE = Path(__file__).parent
#: Those of a metrics report or a log, and settings, which the frameworks name otherwise.
OWN = {"counter", "metric", "environment", "log_compilation"}
#: What a JAX program does not have.
FOREIGN = re.compile(
    r"(?i)\b(torch_xla|torch\.|xm\.|mark_step|MpDeviceLoader)|\bbarrier|\btensors?\b"
)
#: What only one framework's programs can be told: modules, methods, settings.
OF_ONE = re.compile(
    r"(?i:torch|jax|flax|lightning)|\bjnp\b|\b(x[mrp]|nn)\.|mark_step|MpDeviceLoader|XLA_|PJRT"
    r"|\.(to|cpu|detach|backward)\("
)
BOTH = [rule for rule in load_rules() if {"torch_xla", "jax"} <= set(rule.applies_to.frontends)]


def firing(rule: Rule) -> Case | None:
    """A case that triggers the rule, by evidence that any framework gives."""
    for path in sorted((HERE / rule.id).glob("*.yaml")):
        case = Case.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))
        own = [each for each in case.expect or () if each.rule in ("", rule.id)]
        if own and case.frontend == "torch_xla" and not OWN & set(case.tables):
            return case
    return None


@pytest.mark.thorough
@pytest.mark.parametrize("rule", BOTH, ids=lambda rule: rule.id)
def test_a_rule_finds_the_same_in_either_frontend(rule: Rule) -> None:
    case = firing(rule)
    if case is None:
        pytest.skip("fires on settings or reports alone: it has cases of each framework")
    expected = [each.model_copy(update={"message": None}) for each in case.expect or ()]
    for each in expected:
        each.__pydantic_fields_set__.discard("message")
    in_jax = case.model_copy(update={"frontend": "jax", "expect": expected})
    outcome = judge(in_jax, rule.id, [rule])
    assert outcome.passed, "\n".join(outcome.difference())
    assert [
        each.message for each in judged_by(in_jax, [rule]).findings if FOREIGN.search(each.message)
    ] == []


@pytest.mark.parametrize("rule", BOTH, ids=lambda rule: rule.id)
def test_words_for_jax_are_of_jax(rule: Rule) -> None:
    own = rule.for_frontend("jax")
    assert own is not None
    assert own.code is not None
    texts = (
        own.title,
        own.message,
        own.why,
        own.fix,
        own.false_positives,
        own.code.before,
        own.code.after,
    )
    assert [text for text in texts if FOREIGN.search(text)] == []
    assert len(own.title) <= 72


@pytest.mark.parametrize(
    "rule", [rule for rule in load_rules() if rule.applies_to.trait], ids=lambda rule: rule.id
)
def test_what_a_rule_tells_every_frontend_names_none(rule: Rule) -> None:
    (file,) = pack().glob(f"{rule.id}-*.yaml")
    texts = yaml.safe_load(file.read_text(encoding="utf-8"))
    told = {key: str(texts.get(key, "")) for key in Texts.model_fields if key != "references"}
    assert {key: found[0] for key, text in told.items() if (found := OF_ONE.search(text))} == {}


@pytest.mark.parametrize("rule", load_rules(), ids=lambda rule: rule.id)
def test_texts_for_one_frontend_name_its_nouns(rule: Rule) -> None:
    texts = {name: str(own.model_dump()) for name, own in rule.per_frontend.items()}
    assert [name for name, text in texts.items() if "{{ words." in text] == []  # shown as it is
