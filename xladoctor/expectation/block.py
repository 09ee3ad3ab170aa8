"""``with xladoctor.expect(…):`` counts what happens in a block, and fails if it is too much."""

from __future__ import annotations

from types import TracebackType
from typing import Any

from xladoctor.expectation import session as sessions
from xladoctor.expectation.interface import Expectation, Happened, Kind, UnmetExpectation


class Block:
    """Can be entered several times, also inside itself."""

    def __init__(self, expected: Expectation) -> None:
        self._bounds: dict[Kind, int] = {
            kind: bound
            for kind in ("compilations", "host_syncs", "fallbacks")
            if (bound := getattr(expected, kind)) is not None
        }
        self._entered: list[tuple[Any, bool, Any]] = []

    def __enter__(self) -> Block:
        """Start counting."""
        session = sessions.active()
        tally = session.tally
        before = tally.counts()
        looks = ("fallbacks" in self._bounds or before.fallbacks) and tally.look()
        self._entered.append((session, looks, before))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:  # fmt: skip
        """Compare, unless the block raised an exception."""
        __tracebackhide__ = True
        session, looks, before = self._entered.pop()
        if looks:
            session.tally.look_away()
        if kind is not None:
            return
        sessions.check(session)
        after = session.tally.counts()
        if after.numbers == before.numbers:  # nothing happened
            return
        happened = Happened.between(before, after)
        if any(happened.count(kind) > bound for kind, bound in self._bounds.items()):
            from xladoctor.expectation.failure import message

            raise UnmetExpectation(message(session, happened, self._bounds))


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
        XladoctorError: (on entering) the framework is missing, or counting failed.
    """
    return Block(Expectation(compilations, host_syncs, fallbacks))
