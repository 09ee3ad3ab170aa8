"""Each rule's fix was followed on a program, or its page says why it cannot be."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.live.harness import LIVE
from tests.prescriptions.trial import Patch, kept, patches, tried
from xladoctor.diagnosis.pack import load_rules

PATCHES = patches([])
each_patch = pytest.mark.parametrize("patch", PATCHES, ids=lambda patch: patch.name)


@each_patch
def test_patch_applies_and_says_what_it_follows(patch: Patch, tmp_path: Path) -> None:
    assert patch.header["Advice"]
    healed = patch.apply(tmp_path).read_text(encoding="utf-8")
    compile(healed, patch.program, "exec")


def test_each_rule_was_tried_or_cannot_be() -> None:
    followed = {(patch.rule, patch.frontend) for patch in PATCHES}
    rules = [
        (frontend, rule.for_frontend(frontend))
        for rule in load_rules()
        for frontend in rule.applies_to.frontends
        if frontend != "torch_tpu"  # tests/releases tries healed twins in its environment
    ]
    due = {
        (rule.id, frontend)
        for frontend, rule in rules
        if rule and rule.curable and not rule.untried
    }
    assert sorted(due - followed) == []
    assert {patch.name for patch in PATCHES} == set(kept())


def test_each_held_when_it_was_tried() -> None:
    assert [trial for trial in kept().values() if not trial.holds] == []


@pytest.mark.thorough
@each_patch
class TestLive:
    pytestmark = LIVE

    def test_fix_holds(self, patch: Patch, tmp_path: Path) -> None:
        if not patch.can_run:
            pytest.skip(f"needs a {patch.header['Device']}")
        trial = tried(patch, tmp_path)
        assert trial.holds, trial
