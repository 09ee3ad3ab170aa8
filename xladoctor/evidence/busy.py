"""Notes that other programs kept the machine busy, which makes times longer."""

from __future__ import annotations

from xladoctor.evidence.database import Database
from xladoctor.quantities import first_few

_WORTH_SAYING = 0.1  # share of the steady loop
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
    return (
        f"the machine was busy: process{'es' * many} {first_few(pids, _NAMED)} spent"
        f" {'up to ' * many}{100 * share:.0f}% of {'their loops' if many else 'the loop'}"
        " waiting for a processor",
    )
