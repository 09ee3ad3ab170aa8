"""The types of this stage: compilations, their graphs, differences of two graphs, and causes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
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
    "offset",
    "chain",
    "leftover",
]
#: key: two keys of a function were compared. hlo: two modules were compared. upload: a new shape
#: was sent in that step. log: numbers of inputs and outputs differ. hash: the same graph again.
Basis = Literal["key", "hlo", "upload", "log", "hash"]
#: grows: by the same amount in consecutive launches. last_batch: a first dimension with one other,
#: smaller size, or with those of the loaders of batches of its size. varies: any other.
Pattern = Literal["grows", "last_batch", "varies"]
#: How an operation at a line differs: only in one graph, made with another number, of another
#: shape, or lowered to more or fewer instructions.
Nature = Literal["added", "removed", "value", "shape", "count"]

Line = tuple[str | None, int | None]  #: path and number
InputKind = tuple[str, tuple[int, ...]]  #: element type and dimensions
#: Whether two kinds of input were seen in one graph; they are then two inputs (the weights of two
#: layers), not one that changed.
Together = Callable[[InputKind, InputKind], bool]
#: By spot (hash of a line and operation), the types and shapes of its instructions' operands in the
#: earlier and in the later graph.
Operands = dict[int, tuple[tuple[str, ...], tuple[str, ...]]]
Hashes: TypeAlias = "NDArray[np.uint64]"
Counts: TypeAlias = "NDArray[np.int64]"


class Place(NamedTuple):
    """A line of Python, and the user's line that led there if it is a different one."""

    file: str | None = None
    line: int | None = None
    function: str | None = None
    user_file: str | None = None
    user_line: int | None = None
    user_function: str | None = None

    @property
    def spot(self) -> Line:
        """File and line."""
        return self.file, self.line


NOWHERE = Place()


class Site(NamedTuple):
    """The key of a call site."""

    process: int
    file: str | None
    line: int | None
    via: str | None
    trigger: str | None


@dataclass(frozen=True, slots=True, eq=False)
class Compilation:
    """One compilation, with columns of that table; equal only to itself."""

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
        """Its numbers of inputs and outputs, in words: ``2 inputs, 1 output``."""
        if self.inputs is None or self.outputs is None:
            return None
        return f"{_counted(self.inputs, 'input')}, {_counted(self.outputs, 'output')}"


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a call site compiled again, with columns of the table ``recompilation``."""

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
#: By compilation, an earlier one: of the same graph, or the one that it is compared with.
Earlier = Mapping[Compilation, Compilation]
Sites = Mapping[Site, Sequence[Compilation]]
#: By process and batch size, the rows of the last, smaller batch of each loader that does not drop
#: it: 0 if there is none, None if unknown.
Loaders = Mapping[tuple[int, int], Sequence[int | None]]
#: By process and thread, how many launches make an iteration of the loop, if not one.
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
        """The text with dimensions from minor to major: ``f32[16,64]{1,0}``."""
        return f"{self.text}{{{','.join(map(str, self.layout or ()))}}}"


class Frame(NamedTuple):
    """A call in a Python stack; machinery is Python's or the framework's own."""

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
    """The contents of a kind of instruction; ``spot`` is the hash of its line and operation."""

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
class HashCounts:
    """Hashes in ascending order, with the count of each and when it was first lowered."""

    keys: Hashes
    counts: Counts
    order: Counts


@dataclass(frozen=True, slots=True, eq=False)
class Graph:
    """One compiled graph.

    Attributes:
        instructions: number in all its computations, after optimization.
        size: number before optimization, from the module's name; else after it.
        placement: donated inputs, devices and sharding, each as texts; None if unknown.
    """

    process: int
    program: int
    instructions: int
    size: int
    placement: Mapping[str, tuple[str, ...] | None]
    parameters: list[Parameter]
    tokens: HashCounts
    spots: HashCounts


class Change(NamedTuple):
    """An operation of a line that differs.

    Attributes:
        nature: how it differs.
        op: the framework's name of the operation, as its vocabulary spells it.
        was: its instructions in the earlier graph that the later one lacks, as HLO text.
        now: its instructions in the later graph that the earlier one lacks.
        order: when it was lowered; the first change is the cause of later ones.
        spot: hash of its line and operation.
        significant: whether it is more than a consequence of optimization.
        number: whether the operation is a Python number itself.
        origin: whether its operands have the same sizes in both graphs, so that the graphs differ
            from here on; False if unknown.
        makes: whether its operands are all scalars, as for an operation that creates a tensor.
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
    """Inputs that differ: pairs of the same input, and inputs that only one graph has."""

    changed: tuple[tuple[Parameter, Parameter], ...] = ()
    removed: tuple[Parameter, ...] = ()
    added: tuple[Parameter, ...] = ()

    @property
    def scalars_alone(self) -> bool:
        """Whether all inputs that were added or removed are scalars."""
        return not any(parameter.shape for parameter in (*self.removed, *self.added))

    @property
    def sent(self) -> bool:
        """Whether the host sent an input that changed."""
        return any(parameter.sent for _, parameter in self.changed)

    def apart(self, was_there: Callable[[Parameter], bool]) -> InputChanges:
        """The changes, with each pair whose later side existed before as two separate inputs."""
        stale = [pair for pair in self.changed if was_there(pair[1])]
        return InputChanges(
            tuple(pair for pair in self.changed if pair not in stale),
            (*self.removed, *(old for old, _ in stale)),
            (*self.added, *(new for _, new in stale)),
        )


#: By compilation, the operations that differ, if graphs were compared.
Changes = Mapping[Compilation, Sequence[Change]]
