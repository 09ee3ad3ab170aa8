"""Whether a statement may be moved past others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import libcst as cst

from xladoctor.fixes.effects import Effects, effects, shortened
from xladoctor.fixes.interface import Refused
from xladoctor.fixes.source import Source
from xladoctor.fixes.values import is_own, is_plain


def refuse_unless_movable(
    source: Source, moved: cst.CSTNode, past: Sequence[cst.CSTNode], own: Iterable[str] = ()
) -> None:
    """Refuse to run code before or after other code that it stands next to, unless both do the same
    in the other order.

    Args:
        own: variables that nothing but the moved code can reach.
    """
    one, line = effects(source, moved), source.begin(moved).line
    for each in past:
        other, at = effects(source, each), source.begin(each).line
        if other.leaves is not None:
            raise Refused(f"line {at} may pass by what would be moved out of line {line}")
        clash = (one.binds & (other.reads | other.binds)) | (one.reads & other.binds)
        if clash:
            raise Refused(f"`{min(clash)}` changes between line {line} and line {at}")
        _refuse_disorder(source, one, other, line, each)
        _refuse_disorder(source, other, one, at, moved)
        changes = {name for name in other.changes if not _is_plain(source, each, name)}
        if other.unknown is not None or changes:
            for name in sorted(one.reads - set(own) - other.changes):
                if not is_own(source, moved, name):
                    part = other.unknown or each
                    raise Refused(
                        f"`{shortened(source, part)}` in line {source.begin(part).line} may change"
                        f" `{name}`"
                    )
        touched = other.changes & (one.reads | one.changes)
        if touched:
            raise Refused(f"`{min(touched)}` is changed in place in line {at}")


def _is_plain(source: Source, code: cst.CSTNode, name: str) -> bool:
    uses = source.names_used(code, name)
    return bool(uses) and is_plain(source, uses[0])


def _refuse_disorder(
    source: Source, one: Effects, other: Effects, line: int, at: cst.CSTNode
) -> None:
    """Refuse effects of one piece of code that those of the other may depend on."""
    if one.unknown is not None and (other.unknown or other.ordered or other.changes):
        raise Refused(
            f"`{shortened(source, one.unknown)}` in line {line} may depend on what line"
            f" {source.begin(at).line} does"
        )
    both = one.ordered & other.ordered
    if both:
        raise Refused(f"lines {line} and {source.begin(at).line} have an order: {min(both)}")
