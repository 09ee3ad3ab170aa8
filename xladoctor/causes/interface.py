"""Compilations, their graphs, in what two graphs differ, and causes: the types of this stage."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

Kind = Literal[
    "input_shape",
    "input_type",
    "data_dependent_shape",
    "constant",
    "operations",
    "growing",
    "input_count",
    "placement",
    "evicted",
    "unknown",
    "function",
    "member",
    "weak_type",
    "configuration",
    "leftover",
]
#: key: two keys of a function compared. hlo: two modules. upload: a new shape sent in that step.
#: log: numbers of inputs and outputs. hash: the same graph again.
Basis = Literal["key", "hlo", "upload", "log", "hash"]
#: grows: by the same amount in launches that follow each other. last_batch: a first dimension with
#: one other, smaller size, or for each loader of batches of its size one. varies: any other.
Pattern = Literal["grows", "last_batch", "varies"]
#: How an operation at a line differs: there in one graph alone, made with another number, of
#: another shape, or as often as before but for more or fewer instructions.
Nature = Literal["added", "removed", "value", "shape", "count"]

Line = tuple[str | None, int | None]  #: path and number
InputKind = tuple[str, tuple[int, ...]]  #: element type and dimensions
#: Whether two kinds of input were seen in one graph; they are then two inputs (the weights of two
#: layers), not one that changed.
Together = Callable[[InputKind, InputKind], bool]
#: By spot (hash of a line and operation), the types and shapes of what its instructions are made of
#: in the earlier and in the later graph.
Operands = dict[int, tuple[tuple[str, ...], tuple[str, ...]]]
Hashes = NDArray[np.uint64]
Counts = NDArray[np.int64]


class Place(NamedTuple):
    """A line of Python, and the user's line that led there where the two differ."""

    file: str | None = None
    line: int | None = None
    function: str | None = None
    user_file: str | None = None
    user_line: int | None = None
    user_function: str | None = None

    @property
    def spot(self) -> Line:
        """The line alone."""
        return self.file, self.line


NOWHERE = Place()


class Site(NamedTuple):
    """What makes two compilations those of one call site."""

    process: int
    file: str | None
    line: int | None
    via: str | None
    trigger: str | None


@dataclass(frozen=True, slots=True, eq=False)
class Compilation:
    """One compilation, as the table of that name describes its columns; it equals itself alone."""

    site: Site
    index: int
    thread: int | None
    step: int | None
    ordinal: int | None
    graph_hash: str | None
    inputs: int | None
    outputs: int | None
    end_ns: int | None
    duration_ns: int | None
    function: str | None = None

    @property
    def process(self) -> int:
        """Number of its process."""
        return self.site.process

    @property
    def numbers(self) -> str | None:
        """What it had as inputs and outputs, in words: ``2 inputs, 1 output``."""
        if self.inputs is None or self.outputs is None:
            return None
        return f"{_counted(self.inputs, 'input')}, {_counted(self.outputs, 'output')}"


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a call site compiled again, as the table ``recompilation`` describes its columns."""

    kind: Kind
    basis: Basis | None = None
    against: int | None = None
    parameter: int | None = None
    was: str | None = None
    now: str | None = None
    dimension: int | None = None
    value: int | None = None
    op: str | None = None
    role: Literal["made", "used"] | None = None
    place: Place = NOWHERE
    pattern: Pattern | None = None
    seen: int | None = None
    possible: int | None = None
    used_file: str | None = None
    used_line: int | None = None
    used_function: str | None = None
    argument: str | None = None
    hint: str | None = None


Causes = Mapping[Compilation, Cause]
#: By compilation an earlier one: that of the same graph, or the one that it is compared with.
Earlier = Mapping[Compilation, Compilation]
Sites = Mapping[Site, Sequence[Compilation]]
#: By process and size of batch, the loaders that give a last, smaller batch.
Loaders = Mapping[tuple[int, int], int]
#: By process and thread, how many launches make a turn of the loop, if not one.
Periods = Mapping[tuple[int, int | None], int]


class Parameter(NamedTuple):
    """An input of a graph, and the line that sent it to the device or first uses it."""

    number: int
    type: str
    shape: tuple[int, ...]
    layout: tuple[int, ...] | None
    place: Place = NOWHERE
    sent: bool = False

    @property
    def kind(self) -> InputKind:
        """Element type and dimensions."""
        return self.type, self.shape

    @property
    def text(self) -> str:
        """As HLO text writes it: ``f32[16,64]``."""
        return f"{self.type}[{','.join(map(str, self.shape))}]"

    @property
    def text_with_layout(self) -> str:
        """The same with its dimensions from minor to major: ``f32[16,64]{1,0}``."""
        return f"{self.text}{{{','.join(map(str, self.layout or ()))}}}"


class Frame(NamedTuple):
    """A call in a Python stack; machinery is Python's own and the framework's."""

    file: str
    line: int
    function: str
    kind: Literal["user", "library", "machinery"]


Stack = tuple[Frame, ...]  #: outermost first


class Work(NamedTuple):
    """Instructions that no optimization repeats, by the calls that led to them."""

    stack: Stack
    op: str
    opcode: str


class Token(NamedTuple):
    """What a kind of instruction says; ``spot`` is the hash of its line and operation."""

    spot: int
    place: Place
    op: str | None
    opcode: str
    type: str
    shape: tuple[int, ...]
    value: str | None

    @property
    def text(self) -> str:
        """As HLO text writes it, without names: ``f32[16,8] slice={[0:16],[0:5]}``."""
        shape = f"{self.type}[{','.join(map(str, self.shape))}]"
        if self.opcode == "constant":
            return f"{shape} constant({self.value or '{...}'})"
        return f"{shape} {self.opcode}" + (f" {self.value}" if self.value else "")


@dataclass(frozen=True, slots=True, eq=False)
class Counted:
    """Hashes in ascending order, with how often each is there and when it was lowered first."""

    keys: Hashes
    counts: Counts
    order: Counts


@dataclass(frozen=True, slots=True, eq=False)
class Graph:
    """One compiled graph.

    Attributes:
        instructions: in all its computations, after optimization.
        size: instructions before optimization, as the module's name tells them; else after it.
        placement: donated inputs, devices and sharding, each as texts; None where not known.
    """

    process: int
    program: int
    instructions: int
    size: int
    placement: Mapping[str, tuple[str, ...] | None]
    parameters: list[Parameter]
    tokens: Counted
    spots: Counted


class Change(NamedTuple):
    """An operation of a line that differs.

    Attributes:
        nature: how.
        op: the framework's name of the operation, as its vocabulary spells it.
        was: instructions of it in the earlier graph that the later one lacks, as HLO text.
        now: and the other way round.
        order: when it was lowered; the first change is the cause of those behind it.
        spot: hash of its line and operation.
        significant: whether it is more than a consequence of how the graph was optimized.
        number: whether the operation is a Python number itself.
        origin: whether what it is made of has the same size in both graphs, so that it is where
            they part; False where this is not known.
        makes: whether it is made of single numbers alone, as what creates a tensor.
    """

    nature: Nature
    place: Place
    op: str
    was: tuple[str, ...]
    now: tuple[str, ...]
    was_count: int
    now_count: int
    order: int
    spot: int = 0
    significant: bool = True
    number: bool = False
    origin: bool = False
    makes: bool = False

    @property
    def more(self) -> int:
        """How many more instructions the later graph has."""
        return self.now_count - self.was_count


@dataclass(frozen=True, slots=True)
class InputChanges:
    """Inputs that differ: pairs of the same input, and those of one graph alone."""

    changed: tuple[tuple[Parameter, Parameter], ...] = ()
    removed: tuple[Parameter, ...] = ()
    added: tuple[Parameter, ...] = ()

    @property
    def scalars_alone(self) -> bool:
        """Whether all that came and went are single numbers."""
        return not any(parameter.shape for parameter in (*self.removed, *self.added))

    @property
    def sent(self) -> bool:
        """Whether the host sent one that changed."""
        return any(parameter.sent for _, parameter in self.changed)

    def apart(self, was_there: Callable[[Parameter], bool]) -> InputChanges:
        """Without pairs whose later side was there before: two inputs, not one that changed."""
        stale = [pair for pair in self.changed if was_there(pair[1])]
        return InputChanges(
            tuple(pair for pair in self.changed if pair not in stale),
            (*self.removed, *(old for old, _ in stale)),
            (*self.added, *(new for _, new in stale)),
        )


#: The operations that differ, of those whose graphs were compared.
Changes = Mapping[Compilation, Sequence[Change]]
