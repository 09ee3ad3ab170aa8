"""What this stage has to know of the framework's operators."""

from __future__ import annotations

from dataclasses import dataclass

from xladoctor.evidence.database import Database


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Operators by what they mean.

    Attributes:
        insignificant: those that come and go with the optimization around them, or stand for values
            alone.
        numbers: those that are a Python number.
    """

    insignificant: frozenset[str]
    numbers: frozenset[str]

    @classmethod
    def of(cls, database: Database) -> Vocabulary:
        """That of the frontend which the evidence is of."""
        _, traits = database.table("SELECT op, trait FROM operator_trait")
        insignificant = frozenset(op for op, trait in traits if trait == "insignificant")
        return cls(insignificant, frozenset(op for op, trait in traits if trait == "constant"))


def spelled(op: str) -> str:
    """An operator as frameworks write it (``a::b``), of how HLO metadata has it (``a__b``)."""
    return op.replace("__", "::", 1)
