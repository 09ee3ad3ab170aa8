"""Which of some things is which of others, where nothing but their keys tells."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

Left = TypeVar("Left")
Right = TypeVar("Right")


def paired(
    left: Iterable[Left], right: Iterable[Right],
    left_key: Callable[[Left], Hashable | None], right_key: Callable[[Right], Hashable | None],
) -> list[tuple[Left, Right]]:  # fmt: skip
    """Those that are alone of their key on both sides; what has None for a key is left out."""
    groups: dict[Hashable, tuple[list[Left], list[Right]]] = defaultdict(lambda: ([], []))
    for one in left:
        if (key := left_key(one)) is not None:
            groups[key][0].append(one)
    for other in right:
        if (key := right_key(other)) is not None:
            groups[key][1].append(other)
    return [(a[0], b[0]) for a, b in groups.values() if len(a) == len(b) == 1]
