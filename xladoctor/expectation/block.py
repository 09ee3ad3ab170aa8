"""``with xladoctor.expect(…):`` counts what happens in a block, and fails if it is too much."""

from __future__ import annotations

from types import TracebackType
from typing import Any, NamedTuple

from xladoctor.errors import XladoctorError
from xladoctor.expectation import session as sessions
from xladoctor.expectation.interface import EventCounts, Expectation, Kind, UnmetExpectation
from xladoctor.frontends.vocabulary import vocabulary


class _Counted(NamedTuple):
    """A session when a block begins: whether it looks for lines, and its counts."""

    session: Any
    looks: bool
    before: Any


class Block:
    """The context manager; it can be entered several times, also inside itself."""

    def __init__(self, expected: Expectation) -> None:
        self._bounds: dict[Kind, int] = {
            kind: bound
            for kind in ("compilations", "host_syncs", "fallbacks")
            if (bound := getattr(expected, kind)) is not None
        }
        self._entered: list[dict[str, _Counted]] = []

    def __enter__(self) -> Block:
        """Start counting."""
        active = sessions.active()
        self._entered.append({name: self._begin(session) for name, session in active.items()})
        return self

    def _begin(self, session: Any) -> _Counted:
        tally = session.tally
        before = tally.counts()
        looks = ("fallbacks" in self._bounds or before.fallbacks) and tally.look()
        return _Counted(session, looks, before)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Compare, unless the block raised an exception."""
        __tracebackhide__ = True
        entered = self._entered.pop()
        for session, looks, _ in entered.values():
            if looks:
                session.tally.look_away()
        if kind is not None:
            return
        happened = _happened(entered)
        if "host_syncs" in self._bounds:
            _require_reads()
        if any(
            sum(each.count(kind) for _, each in happened) > bound
            for kind, bound in self._bounds.items()
        ):
            from xladoctor.expectation.failure import message

            raise UnmetExpectation(message(happened, self._bounds))


def _happened(entered: dict[str, _Counted]) -> list[tuple[Any, EventCounts]]:
    """What happened in a block that ends, by session; only sessions in which anything did."""
    found = []
    for session, _, before in (*entered.values(), *_begun_since(entered)):
        sessions.check(session)
        after = session.tally.counts()
        if after.numbers != before.numbers:
            found.append((session, EventCounts.between(before, after)))
    return found


def _require_reads() -> None:
    """Raises XladoctorError if no session counts reads: none would be seen."""
    known = [vocabulary(name) for name in sessions.running()]
    if known and not any(each.records_reads for each in known):
        titles = " and ".join(each.title for each in known)
        raise XladoctorError(
            f"host_syncs cannot be expected: reads in programs of {titles} alone are not recorded",
            "leave host_syncs out",
        )


def _begun_since(entered: dict[str, _Counted]) -> list[_Counted]:
    """The sessions of frameworks that were imported and used in the block."""
    return [
        _Counted(session, False, session.tally.at_start)
        for name, session in sessions.running().items()
        if name not in entered and session.awake
    ]


def expect(
    *, compilations: int | None = None, host_syncs: int | None = None, fallbacks: int | None = None
) -> Block:
    """A context manager that fails if more happens inside than is expected.

    Args:
        compilations: graphs that may be compiled, at most; None for any number.
        host_syncs: times that the host may wait for values from the device, at most: reads,
            prints, copies to the host, saves. Those in step closures are not counted.
        fallbacks: times that operators without a lowering may run on the CPU, at most.

    Raises:
        TypeError: none of them is given, or one is not a number.
        UnmetExpectation: (on leaving) more happened; the message says where and why.
        XladoctorError: (on entering) the framework is missing, or counting failed; (on leaving)
            host_syncs is given, and nothing that the program uses has its reads recorded.
    """
    return Block(Expectation(compilations, host_syncs, fallbacks))
