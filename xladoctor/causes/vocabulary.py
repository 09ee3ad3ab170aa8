"""The operators of the framework, as far as this stage needs their meaning."""

from __future__ import annotations

from dataclasses import dataclass

from xladoctor.evidence.database import Database


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Operators by what they mean.

    Attributes:
        insignificant: operators that come and go with the optimization around them, or only stand
            for values.
        numbers: operators that are a Python number.
    """

    insignificant: frozenset[str]
    numbers: frozenset[str]

    @classmethod
    def of(cls, database: Database) -> Vocabulary:
        """The vocabulary of the evidence's frontend."""
        _, traits = database.table("SELECT op, trait FROM operator_trait")
        insignificant = frozenset(op for op, trait in traits if trait == "insignificant")
        return cls(insignificant, frozenset(op for op, trait in traits if trait == "constant"))


def spelled(op: str) -> str:
    """An operator as frameworks write it (``a::b``), from its form in HLO metadata (``a__b``)."""
    return op.replace("__", "::", 1)
