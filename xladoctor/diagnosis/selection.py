"""The rules to judge by, as a project configures them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from hashlib import sha256

from xladoctor.diagnosis.rule import Rule


@dataclass(frozen=True, slots=True)
class Selection:
    """The rules to evaluate, and the ids of rules that are switched off.

    Attributes:
        errors: ids of rules whose findings are all errors.
        ignored_in: by rule id, globs of the files in which its findings are ignored.
        notes: faults of rules that were left out.
    """

    rules: list[Rule]
    off: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    ignored_in: dict[str, list[str]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    @property
    def digest(self) -> str:
        """The same for rules by which evidence is judged the same, and for no others."""
        text = repr(replace(self, notes=[]))
        return sha256(text.encode("utf-8", "backslashreplace")).hexdigest()
