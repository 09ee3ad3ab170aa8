"""What shows that a rule is right: an example that runs live, or what the rule says."""

from __future__ import annotations

from tests.live import test_examples, test_jax_examples, test_torch_compile_examples
from tests.releases.releases import PROGRAMS
from xladoctor.diagnosis.pack import load_rules


def test_rules_that_no_example_shows_say_what_they_are_tested_with() -> None:
    shown = {sick.rule for sick in test_examples.SICK.values()}
    shown |= {sick.rule for sick in test_jax_examples.SICK.values()}
    for sick in test_torch_compile_examples.SICK.values():
        shown |= {sick.rule, *sick.others}
    shown |= {sick.rule for sick in PROGRAMS["torch_tpu"]}

    assert {rule.id for rule in load_rules() if rule.evidence is None} == shown
    assert all(
        rule.evidence.startswith(("generated", "compiled"))
        for rule in load_rules()
        if rule.evidence
    )
