"""Where values of a module come from and go to, through what only hands them on: loops, fusions,
tuples, and changes of layout or type.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from xladoctor.ingest.hlo.walk import called, root_of

_FORMS = frozenset(("bitcast", "copy", "convert", "reshape", "transpose", "optimization-barrier"))
_DONE = frozenset(("copy-start", "copy-done", "all-gather-done", "collective-permute-done"))
_SLICES = frozenset(("dynamic-slice", "slice"))
_DEEPEST = 60


class Source(NamedTuple):
    """Where a value comes from.

    Attributes:
        instruction: what makes it; a parameter of the entry computation, if it is an argument.
        argument: number of that parameter.
        sliced: whether only a part of it is taken.
        left: loops that it comes into unchanged from outside.
    """

    instruction: Any
    argument: int | None = None
    sliced: bool = False
    left: int = 0


class Flow:
    """The values of a module.

    Args:
        module: ``HloModuleProto``.
    """

    def __init__(self, module: Any) -> None:
        self.computations: Mapping[int, Any] = {each.id: each for each in module.computations}
        self._entry = module.entry_computation_id
        self.by_id: dict[int, Any] = {}
        self.users: dict[int, list[Any]] = defaultdict(list)
        self._within: dict[int, int] = {}
        self._callers: dict[int, Any] = {}
        for computation in module.computations:
            for each in computation.instructions:
                self.by_id[each.id] = each
                self._within[each.id] = computation.id
                for operand in each.operand_ids:
                    self.users[operand].append(each)
                for number in each.called_computation_ids:
                    self._callers.setdefault(number, each)

    def source(self, value: Any) -> Source:
        """Where a value comes from."""
        sliced, left = False, 0
        for _ in range(_DEEPEST):
            opcode, operands = value.opcode, value.operand_ids
            step = None
            if opcode == "parameter":
                if self._within[value.id] == self._entry:
                    return Source(value, value.parameter_number, sliced, left)
                step = self._outside(value)
            elif opcode in _FORMS or opcode in _DONE or opcode in _SLICES:
                sliced = sliced or opcode in _SLICES
                step = self.by_id.get(operands[0]) if operands else None
            elif opcode == "get-tuple-element":
                step, entered = self._element(value)
                left += entered
            elif opcode == "fusion" and (root := self._formed(value)) is not None:
                sliced = sliced or root.opcode in _SLICES
                step = root
            if step is None:
                break
            value = step
        return Source(value, None, sliced, left)

    def _outside(self, parameter: Any) -> Any:
        """What a fusion or call gives as a parameter."""
        caller = self._callers.get(self._within[parameter.id])
        if caller is None or caller.opcode not in ("fusion", "call"):
            return None
        number = parameter.parameter_number
        return (
            self.by_id.get(caller.operand_ids[number]) if number < len(caller.operand_ids) else None
        )

    def _formed(self, fusion: Any) -> Any:
        """The root of a fusion that only changes the form of a value, or takes a part of it."""
        body = called(fusion, self.computations)
        kinds = {each.opcode for each in body.instructions} if body else {"unknown"}
        formed = kinds - _FORMS - _SLICES - {"parameter", "constant", "get-tuple-element"}
        return None if formed else root_of(body)

    def _element(self, element: Any) -> tuple[Any, bool]:
        """What a ``get-tuple-element`` takes, and whether that leaves a loop."""
        of = self.by_id.get(element.operand_ids[0]) if element.operand_ids else None
        index = element.tuple_index
        if of is None:
            return None, False
        if of.opcode == "parameter":
            loop = self._callers.get(self._within[of.id])
            if loop is None or loop.opcode != "while" or not self.is_unchanged(of, index):
                return None, False
            return self._of_tuple(self.by_id.get(loop.operand_ids[0]), index), True
        if of.opcode == "while":
            bodies = [self.computations.get(number) for number in of.called_computation_ids]
            starts = [each for body in bodies if body for each in body.instructions]
            parameters = [each for each in starts if each.opcode == "parameter"]
            if not parameters or not all(self.is_unchanged(each, index) for each in parameters):
                return None, False
            return self._of_tuple(self.by_id.get(of.operand_ids[0]), index), False
        if of.opcode == "optimization-barrier":
            of = self.by_id.get(of.operand_ids[0]) if of.operand_ids else None
        return self._of_tuple(of, index), False

    def _of_tuple(self, value: Any, index: int) -> Any:
        if value is None or value.opcode != "tuple" or index >= len(value.operand_ids):
            return None
        return self.by_id.get(value.operand_ids[index])

    def is_unchanged(self, parameter: Any, index: int) -> bool:
        """Whether a loop hands on an element of its parameter as it is."""
        computation = self.computations[self._within[parameter.id]]
        root = root_of(computation)
        if root is None or root.opcode != "tuple":  # a condition, whose result is a truth value
            return True
        if index >= len(root.operand_ids):
            return False
        handed = self.by_id.get(root.operand_ids[index])
        for _ in range(_DEEPEST):
            if handed is None or handed.opcode not in ("copy", "bitcast"):
                break
            handed = self.by_id.get(handed.operand_ids[0]) if handed.operand_ids else None
        return (
            handed is not None
            and handed.opcode == "get-tuple-element"
            and handed.tuple_index == index
            and [*handed.operand_ids] == [parameter.id]
        )

    def uses(self, value: Any) -> Iterator[Any]:
        """What takes a value, through changes of form; the root of the entry is among them."""
        seen, waiting = {value.id}, [value]
        while waiting and len(seen) < _DEEPEST:
            for user in self.users[waiting.pop().id]:
                if user.id in seen:
                    continue
                seen.add(user.id)
                yield user
                through = user.opcode in _FORMS | _DONE | {"get-tuple-element"}
                if through or (user.opcode == "fusion" and self._formed(user) is not None):
                    waiting.append(user)

    def is_result(self, value: Any) -> bool:
        """Whether a value is a result of the module."""
        entry = self.computations.get(self._entry)
        return entry is not None and entry.root_id in {
            value.id,
            *(each.id for each in self.uses(value)),
        }
