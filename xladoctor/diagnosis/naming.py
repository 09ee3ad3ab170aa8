"""Names of rules: an id, a family (the beginning of ids), or all."""

from __future__ import annotations

from string import digits

ALL = "ALL"


def fit(rule: str, name: str) -> int:
    """How well a name matches a rule: 0 for no match, else higher the longer the name is.

    A family has all letters of the rule's id, and fewer than three digits.
    """
    if name == ALL:
        return 1
    letters = rule.rstrip(digits)
    family = rule.startswith(name) and len(letters) <= len(name) < len(letters) + 3
    return 1 + len(name) if family or rule == name else 0
