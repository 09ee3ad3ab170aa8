"""What a compiled module holds in memory at its peak: each buffer, with the instruction that fills
it.

From ``BufferAssignmentProto`` of ``xla/service/hlo.proto``: *allocations* are blocks of the
device's memory, which a run of the module has from beginning to end, and *logical buffers* are
values in a part of one, several in the same part one after the other. So the peak is the sum of
the allocations, and in the block for temporary values counts what is alive when most of it is.
Only the device's main memory counts (color 0), not smaller ones beside it. When a value is alive
follows from the schedule (``HloScheduleProto``), with loops and calls at their place.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from google.protobuf.message import DecodeError

from xladoctor.ingest.protobuf_schema import message

_PASSES = frozenset(("bitcast", "optimization-barrier", "async-update", "all-reduce-done"))
#: Instructions that end what another has started, and which element of its result they give.
_DONE = {"copy-done": 0, "async-done": 1, "all-gather-done": 1, "collective-permute-done": 1}
_TAKES = {"get-tuple-element", *_DONE}
#: Instructions that hand on values; of a buffer's values, others say better what it is.
_HANDS_ON = frozenset(
    ("parameter", "tuple", "get-tuple-element", "bitcast", "while", "call", "conditional")
) | {"copy", "broadcast", "optimization-barrier", *_PASSES, *_DONE}
#: Instructions that run other computations of the schedule.
_RUNS = frozenset(("while", "call", "conditional", "async-start"))
_LEAST, _MOST = 1e-4, 1_000  # of the peak, and buffers, that have a row of their own
_CONVERTS = frozenset(("bitcast", "reshape", "convert", "copy"))
_DEEPEST = 50  # calls within calls
_MOST_PLACES = 10_000  # of one value
_BACKWARD = "transpose("  # of transposed functions, in names with scopes


@dataclass(frozen=True, slots=True)
class Held:
    """A buffer that a module holds at its peak.

    Attributes:
        instruction: number of the instruction that fills it; None if unknown, or of several.
        role: argument, result, activation (kept for the backward pass), temporary, constant, or
            unused: parts of a block that no value takes at that moment.
        bytes: that it takes.
        reused: of an argument: whether a result takes its place.
        count: buffers.
    """

    instruction: int | None
    role: str
    bytes: int
    reused: bool = False
    count: int = 1


class _Value(NamedTuple):
    """A logical buffer: where it lies, when it is alive, and what defines and uses it."""

    offset: int
    size: int
    begin: int
    end: int
    definer: int
    path: tuple[int, ...]
    users: frozenset[int]


@dataclass(slots=True)
class _Chain:
    """Values that take the same part of an allocation one right after the other: one buffer."""

    offset: int
    size: int
    begin: int
    end: int
    values: list[_Value] = field(default_factory=list)


def held_at_peak(assignment: Any, module: Any) -> list[Held]:
    """The buffers that a module holds at its peak, largest first, and sums of the small ones.

    Args:
        assignment: ``BufferAssignmentProto`` of the module.
        module: ``HloModuleProto``, after optimization.
    """
    if not assignment.buffer_allocations:
        return []
    lives = _Lives(module)
    defined = {buffer.id: buffer.defined_at for buffer in assignment.logical_buffers}
    held: list[Held] = []
    for allocation in assignment.buffer_allocations:
        if allocation.size and not (allocation.is_thread_local or allocation.color):
            values = [
                lives.value(part, defined[part.logical_buffer_id])
                for part in allocation.assigned
                if part.logical_buffer_id in defined
            ]
            held += _of_allocation(allocation, values, lives)
    return [*_with_sums(held)]


def _with_sums(held: Sequence[Held]) -> Iterator[Held]:
    """The larger buffers, and of the others the sum by role."""
    least = sum(each.bytes for each in held) * _LEAST
    ordered = sorted(held, key=lambda each: -each.bytes)
    few = next((n for n, each in enumerate(ordered) if each.bytes < least), len(ordered))
    few = min(few, _MOST)
    yield from ordered[:few]
    small: dict[tuple[str, bool], list[int]] = defaultdict(list)
    for each in ordered[few:]:
        small[each.role, each.reused].append(each.bytes)
    for (role, reused), sizes in small.items():
        yield Held(None, role, sum(sizes), reused, len(sizes))


def _of_allocation(allocation: Any, values: Sequence[_Value], lives: _Lives) -> Iterator[Held]:
    if allocation.is_entry_computation_parameter:
        definers = [each.definer for each in values if lives.opcode(each.definer) == "parameter"]
        reused = allocation.maybe_live_out
        yield Held(next(iter(definers), None), "argument", allocation.size, reused)
    elif allocation.is_constant:
        yield Held(values[0].definer if values else None, "constant", allocation.size)
    elif allocation.maybe_live_out:
        whole = _Chain(0, allocation.size, 0, lives.clock, list(values))
        yield Held(_filled_by(whole, lives.clock, lives), "result", allocation.size)
    else:
        yield from _temporaries(allocation.size, values, lives)


def _temporaries(size: int, values: Sequence[_Value], lives: _Lives) -> Iterator[Held]:
    """The buffers of a block of temporary values when most of it is taken."""
    chains = list(_chains(values))
    moment = _fullest(chains)
    alive = [chain for chain in chains if chain.begin <= moment <= chain.end]
    taken = end = 0
    for chain in sorted(alive, key=lambda each: (each.offset, -each.size)):
        part = chain.offset + chain.size - max(chain.offset, end)
        if part > 0:
            made = _filled_by(chain, moment, lives)
            role = "activation" if _is_kept(made, chain, lives) else "temporary"
            yield Held(made, role, part)
            taken, end = taken + part, chain.offset + chain.size
    if size > taken:
        yield Held(None, "unused", size - taken)


def _chains(values: Iterable[_Value]) -> Iterator[_Chain]:
    """Values of the same part, joined where one begins before the other has ended."""
    last: dict[tuple[int, int], _Chain] = {}
    for value in sorted(values, key=lambda each: each.begin):
        part = value.offset, value.size
        chain = last.get(part)
        if chain is None or value.begin > chain.end:
            if chain is not None:
                yield chain
            chain = last[part] = _Chain(*part, value.begin, value.end)
        chain.values.append(value)
        chain.end = max(chain.end, value.end)
    yield from last.values()


def _fullest(chains: Iterable[_Chain]) -> int:
    """The last moment at which the chains that are alive take most bytes."""
    changes = sorted(
        change
        for chain in chains
        for change in ((chain.begin, 0, chain.size), (chain.end, 1, -chain.size))
    )
    most = taken = moment = 0
    for when, _, change in changes:
        taken += change
        if taken >= most:
            most, moment = taken, when
    return moment


def _filled_by(chain: _Chain, moment: int, lives: _Lives) -> int | None:
    """The instruction that made what a buffer has at a moment, rather than one that hands it on.

    What a loop's turn makes stands for what it finds at its beginning.
    """
    if not chain.values:
        return None
    making = [each for each in chain.values if lives.opcode(each.definer) not in _HANDS_ON]
    before = [each for each in making if each.begin <= moment]
    value = before[-1] if before else (making or chain.values)[0]
    return lives.source(value.definer, value.path)


def _is_kept(made: int | None, chain: _Chain, lives: _Lives) -> bool:
    """Whether a buffer that an instruction of the forward pass made is read by the backward one."""
    scope = "" if made is None else lives.scope(made)
    if "jvp(" not in scope or _BACKWARD in scope:
        return False
    return any(_BACKWARD in lives.scope(user) for each in chain.values for user in each.users)


class _Lives:
    """The instructions of a module, and when each runs.

    Attributes:
        clock: the moment at which the module ends.
    """

    def __init__(self, module: Any) -> None:
        self._computations = {each.id: each for each in module.computations}
        self._all = {
            instruction.id: instruction
            for computation in module.computations
            for instruction in computation.instructions
        }
        self._users: dict[int, list[Any]] = defaultdict(list)
        #: By computation, its parameters; by a computation's result, what runs the computation.
        self._parameters: dict[int, dict[int, int]] = defaultdict(dict)
        self._callers: dict[int, list[int]] = defaultdict(list)
        for computation in module.computations:
            for instruction in computation.instructions:
                if instruction.opcode == "parameter":
                    parameters = self._parameters[computation.id]
                    parameters[instruction.parameter_number] = instruction.id
                for operand in set(instruction.operand_ids):
                    self._users[operand].append(instruction)
        self._spans: dict[int, tuple[int, int]] = {}
        self._orders = _orders(module)
        self.clock = 0
        self._run(module.entry_computation_id, 0)

    def _run(self, number: int, depth: int) -> None:
        computation = self._computations.get(number)
        if computation is None or depth > _DEEPEST:
            return
        order = self._orders.get(number) or [each.id for each in computation.instructions]
        for each in order:
            instruction = self._all.get(each)
            if instruction is None or each in self._spans:
                continue
            begin = self.clock = self.clock + 1
            self._spans[each] = begin, begin
            if instruction.opcode in _RUNS:
                for called in instruction.called_computation_ids:
                    if called in self._computations:
                        self._callers[self._computations[called].root_id].append(each)
                        self._run(called, depth + 1)
                self.clock += 1
            self._spans[each] = begin, self.clock

    def opcode(self, instruction: int) -> str:
        """Its operation; empty if there is no such instruction."""
        return self._all[instruction].opcode if instruction in self._all else ""

    def scope(self, instruction: int) -> str:
        """The framework's name of it, with scopes."""
        return self._all[instruction].metadata.op_name if instruction in self._all else ""

    def value(self, part: Any, place: Any) -> _Value:
        """The value at a place (``Location``), which takes a part of an allocation."""
        definer = place.instruction_id
        begin, end = self._spans.get(definer, (0, 0))
        if self.opcode(definer) in _RUNS:  # its result, which is there when it ends
            begin = end
        users = set[int]()
        todo = [(definer, (*place.shape_index,))]
        seen = set(todo)
        while todo:
            at = todo.pop()
            end = max(end, self._spans.get(at[0], (0, 0))[1])
            for user, further in self._flows(*at):
                if further is None:
                    users.add(user)
                    end = max(end, self._spans.get(user, (0, 0))[1])
                elif (user, further) not in seen and len(seen) < _MOST_PLACES:
                    seen.add((user, further))
                    todo.append((user, further))
        index = (*place.shape_index,)
        return _Value(part.offset, part.size, begin, end, definer, index, frozenset(users))

    def _flows(
        self, instruction: int, index: tuple[int, ...]
    ) -> Iterator[tuple[int, tuple[int, ...] | None]]:
        """Where a value at an index of an instruction's result is next, and None for its index
        where it is only read.
        """
        for caller in self._callers.get(instruction, ()):
            asynchronous = self._all[caller].opcode == "async-start"
            yield caller, (1, *index) if asynchronous else index
        for user in self._users.get(instruction, ()):
            if user.opcode == "tuple":
                for nth, operand in enumerate(user.operand_ids):
                    if operand == instruction:
                        yield user.id, (nth, *index)
            elif user.opcode in _TAKES or user.opcode in _PASSES:
                if (passed := _passed(user, index)) is not None:
                    yield user.id, passed
            elif user.opcode in _RUNS:
                yield from self._enters(user, instruction, index)
            else:
                yield user.id, None

    def _enters(
        self, caller: Any, operand: int, index: tuple[int, ...]
    ) -> Iterator[tuple[int, tuple[int, ...] | None]]:
        yield caller.id, None
        if caller.opcode == "while":  # the result is what the loop was given, changed or not
            yield caller.id, index
        for nth, number in enumerate(caller.called_computation_ids):
            parameters = self._parameters[number]
            if caller.opcode == "conditional":  # after the condition, an operand for each branch
                positions = [0] if caller.operand_ids[nth + 1 : nth + 2] == [operand] else []
            else:
                positions = [n for n, each in enumerate(caller.operand_ids) if each == operand]
            for position in positions:
                if position in parameters:
                    yield parameters[position], index

    def source(self, instruction: int, index: Sequence[int]) -> int:
        """What makes an element of a fusion's result: where it updates a part of a larger buffer,
        as loops stack the values of their turns, what is written there. Else the instruction.
        """
        fusion = self._all.get(instruction)
        if fusion is None or fusion.opcode != "fusion":
            return instruction
        computation = self._computations.get(next(iter(fusion.called_computation_ids), 0))
        made = None if computation is None else self._all.get(computation.root_id)
        if made is not None and made.opcode == "tuple" and index:
            made = self._operand(made, index[0])
        if made is None or made.opcode != "dynamic-update-slice":
            return int(made.id if made is not None and made.metadata.op_name else instruction)
        written = self._operand(made, 1)
        while written is not None and written.opcode in _CONVERTS:
            written = self._operand(written, 0)
        if written is not None and written.opcode == "parameter":
            written = self._operand(fusion, written.parameter_number)
        return int(written.id if written is not None and written.metadata.op_name else instruction)

    def _operand(self, instruction: Any, nth: int) -> Any:
        """An operand of an instruction; None if a damaged one has no such operand."""
        operands = instruction.operand_ids
        return self._all.get(operands[nth]) if 0 <= nth < len(operands) else None


def _passed(instruction: Any, index: tuple[int, ...]) -> tuple[int, ...] | None:
    """Where a value at an index of its operand is in an instruction's result; None if it is not."""
    if instruction.opcode in _PASSES:
        return index
    element = _DONE.get(instruction.opcode, instruction.tuple_index)
    return index[1:] if index[:1] == (element,) else None


def _orders(module: Any) -> Mapping[int, Sequence[int]]:
    """By computation, its instructions in the order of the schedule; empty without a schedule."""
    try:
        schedule = message("HloScheduleProto").FromString(module.schedule)
    except DecodeError:
        return {}
    return {each.key: each.value.instruction_ids[:] for each in schedule.sequences}
