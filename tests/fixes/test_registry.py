from __future__ import annotations

from xladoctor.diagnosis.pack import load_rules
from xladoctor.fixes import registry


def test_each_kind_that_a_rule_names_is_there_and_each_kind_has_a_rule() -> None:
    named = {name for rule in load_rules() for name in rule.fix_by}
    assert named == registry.names()


def test_each_kind_has_a_function() -> None:
    assert all(callable(registry.kind(name)) for name in registry.names())
