"""The largest of some values with which a program fits: found by bisection, as memory grows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xladoctor.facts.records import TpuCheckFile
from xladoctor.facts.tpu import TpuGraph
from xladoctor.tpu_check.check import Request, check_graphs
from xladoctor.tpu_check.compiler.run import Tell
from xladoctor.tpu_check.ladder.lower import Lowered
from xladoctor.tpu_check.ladder.vary import Variation, VaryError, Way


@dataclass(frozen=True, slots=True)
class Rung:
    """What came of one value.

    Attributes:
        checked: of the program's step.
        lowered_s: seconds that lowering it took.
    """

    value: str
    checked: TpuCheckFile
    lowered_s: float

    @property
    def graph(self) -> TpuGraph:
        """What the compiler decided."""
        return self.checked.graphs[0]

    @property
    def needed_bytes(self) -> int | None:
        """What a device needs, where the compiler says that."""
        return self.graph.needed_bytes or self.graph.peak_bytes


@dataclass(frozen=True, slots=True)
class Ladder:
    """The values that were compiled.

    Attributes:
        rungs: from the smallest value to the largest.
        beside: another value that the program got, as ``remat=full``; empty if none is varied.
    """

    variation: Variation
    way: Way
    rungs: Sequence[Rung]
    beside: str = ""

    def rung(self, value: str) -> Rung | None:
        """What came of a value; None if it was not compiled."""
        return next((each for each in self.rungs if each.value == value), None)

    @property
    def largest(self) -> Rung | None:
        """The largest that fits."""
        return next((each for each in reversed(self.rungs) if each.graph.verdict == "fits"), None)

    @property
    def next(self) -> Rung | None:
        """The smallest that was compiled and has another verdict."""
        return next((each for each in self.rungs if each.graph.verdict != "fits"), None)

    def why_not(self, value: str) -> str:
        """Why a value was not compiled."""
        smaller = self.next
        if smaller is not None and float(value) > float(smaller.value):
            named = {"does_not_fit": "does not fit", "unknown": "is near the limit"}
            return f"{smaller.value} {named.get(smaller.graph.verdict, 'has no verdict')}"
        return f"{self.largest.value} fits" if self.largest else ""


def climb(
    variation: Variation,
    way: Way,
    lower: Callable[[str], Lowered],
    request: Request,
    progress: Tell,
    beside: str = "",
) -> Ladder:
    """Ask about as few values as are needed: the largest, then by bisection.

    Args:
        lower: lowers the program with a value.
        beside: see :class:`Ladder`.

    Raises:
        VaryError: the values are no numbers, or do not reach the program.
        LowerError: nothing was lowered with a value.
    """
    values = variation.values
    if not variation.ordered:
        raise VaryError(f"the first value to vary has to be a number: {variation.name} is none")
    steps = _Steps(variation.name, lower)
    steps.of(values[0])  # before minutes of compiling, to be compared with the last
    found: dict[int, Rung] = {}
    below, above, asked = (
        -1,
        len(values),
        len(values) - 1,
    )  # that a graph is too large takes seconds
    while above - below > 1:
        step = steps.of(values[asked])
        rung = Rung(values[asked], check_graphs(step.found, request, progress), step.seconds)
        found[asked] = rung
        if rung.graph.reason.startswith("interrupted"):  # what is known by then is reported
            break
        below, above = (asked, above) if rung.graph.verdict == "fits" else (below, asked)
        asked = (below + above) // 2
    return Ladder(variation, way, [found[number] for number in sorted(found)], beside)


class _Steps:
    """The step of a program, with each value that was asked for."""

    def __init__(self, name: str, lower: Callable[[str], Lowered]) -> None:
        self._name, self._lower = name, lower
        self._known: dict[str, Lowered] = {}

    def of(self, value: str) -> Lowered:
        """The step with a value, of the same function as with others, and yet not the same."""
        if value in self._known:
            return self._known[value]
        self._known[value] = lowered = self._lower(value)
        step = lowered.found.graphs[0]
        if lowered.failed:
            raise VaryError(f"{self._name}={value}: {lowered.failed}")
        for other, known in self._known.items():
            graph = known.found.graphs[0]
            both = f"{self._name}={other} and {self._name}={value}"
            if other != value and graph.content == step.content:
                raise VaryError(f"{both} give the same graph: the value does not reach {step.name}")
            if graph.name != step.name:
                raise VaryError(f"the largest graphs of {both} are {graph.name} and {step.name}")
        return lowered
