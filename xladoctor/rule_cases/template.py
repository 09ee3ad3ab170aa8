"""The file of a new rule: the least that works, with a case of each kind."""

from __future__ import annotations

from importlib import resources
from typing import Any

import yaml

SCHEMA_FILE = "rule.schema.json"
_ID, _NAME = "ACME001", "odd-thing"  # of the rule in ``template.yaml``


def rule_text(rule_id: str = _ID, name: str = _NAME) -> str:
    """The text of ``ID-name.yaml``."""
    text = resources.files(__package__).joinpath("template.yaml").read_text(encoding="utf-8")
    return text.replace(_ID, rule_id).replace(_NAME, name)


def rule_data(rule_id: str, name: str) -> dict[str, Any]:
    """What that file says, whatever characters the two have."""
    return {**yaml.safe_load(rule_text()), "id": rule_id, "name": name}
