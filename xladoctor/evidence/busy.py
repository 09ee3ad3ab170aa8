"""Notes that other programs kept the machine busy, which makes times longer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xladoctor.quantities import first_few

if TYPE_CHECKING:
    from xladoctor.evidence.database import Database  # which loads DuckDB

#: How sentences about it begin.
BUSY = "the machine was busy"
_WORTH_SAYING, _MISLEADS = 0.1, 0.25  # shares of the steady loop
_NAMED = 4  # processes that are named


def waited_share(database: Database) -> float:
    """The largest share of any loop spent waiting for a processor; 0 if unknown."""
    return float(database.scalar("SELECT coalesce(max(share), 0) FROM processor_wait", {}))


def busy_notes(database: Database) -> tuple[str, ...]:
    """A sentence, if the loop of any process often waited for a processor."""
    rows = database.rows(
        "SELECT p.pid, w.share FROM processor_wait w JOIN process p USING (process)"
        " WHERE w.share >= $least ORDER BY p.process",
        {"least": _WORTH_SAYING},
    )
    if not rows:
        return ()
    pids, share = [str(row["pid"]) for row in rows], max(row["share"] for row in rows)
    many = len(pids) > 1
    processes = f"process{'es' * many} {first_few(pids, _NAMED)}"
    part = f"{'up to ' * many}{100 * share:.0f}% of its loop{'s' * many}"
    return (f"{BUSY}: the program ({processes}) waited for a processor for {part}",)


def busy_warning(database: Database) -> str:
    """A sentence, if so much of a loop was spent waiting for a processor that times mislead; else
    empty.
    """
    share = waited_share(database)
    if share < _MISLEADS:
        return ""
    waited = f"the program waited for a processor for {100 * share:.0f}% of its loop"
    return f"{BUSY}, so times are too long: {waited}"
