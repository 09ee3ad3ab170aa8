"""What this stage has to know of the framework's operators."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

_INSIGNIFICANT = (
    "aten::view", "aten::permute", "aten::expand", "aten::squeeze", "aten::unsqueeze",
    "aten::clone", "aten::detach", "aten::t", "aten::transpose", "aten::reshape", "xla::cast",
    "xla::as_strided_view_update",
)  # fmt: skip
_TRAITS = (
    *((op, "insignificant") for op in _INSIGNIFICANT),
    ("prim::Constant", "constant"), ("xla::device_data", "device_data"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Operators by what they mean, as ``aten::view``.

    Attributes:
        insignificant: those that come and go with the optimization around them, or stand for values
            alone.
        numbers: those that are a Python number.
    """

    insignificant: frozenset[str]
    numbers: frozenset[str]

    @classmethod
    def of(cls, traits: Iterable[tuple[str, str]] = _TRAITS) -> Vocabulary:
        """From operators, however spelled, each with one of its traits."""
        of_trait: dict[str, set[str]] = {}
        for op, trait in traits:
            of_trait.setdefault(trait, set()).add(spelled(op))
        numbers = of_trait.get("constant", set())
        values = numbers | of_trait.get("device_data", set())
        return cls(frozenset(values | of_trait.get("insignificant", set())), frozenset(numbers))


def spelled(op: str) -> str:
    """``aten__view``, as HLO metadata has it, as the framework writes it: ``aten::view``."""
    return op.replace("__", "::", 1)
