"""Whether the machine was busy while the program ran, which makes its times longer."""

from __future__ import annotations

from xladoctor.evidence.database import Database

_WORTH_SAYING = 0.1  # of the steady loop


def waited_share(database: Database) -> float:
    """The largest part of a loop that went to waiting for a processor; 0 if that is not known."""
    return float(database.scalar("SELECT coalesce(max(share), 0) FROM processor_wait", {}))


def busy_notes(database: Database) -> tuple[str, ...]:
    """A sentence for each process whose loop often waited for a processor."""
    rows = database.rows(
        "SELECT p.pid, w.share FROM processor_wait w JOIN process p USING (process)"
        " WHERE w.share >= $least ORDER BY p.process",
        {"least": _WORTH_SAYING},
    )
    return tuple(
        f"process-{row['pid']}: the machine was busy: {100 * row['share']:.0f} % of the loop"
        " waiting for a processor"
        for row in rows
    )
