"""What a device must hold at least, whatever a compiler makes of the graph.

Arguments stay where they are unless they are donated; results need places of their own, or those
of donated arguments. Beside them, the arrays that a loop stacks, one part in each iteration, and
that are needed afterwards, all exist when it ends: no compiler makes them again without running
the loop again. All else may be fused, narrowed or computed twice, and is not counted. Arrays count
without padding, and those whose division is not known as if all devices shared them.
"""

from __future__ import annotations

import math
import re
from typing import Any

_MESHES = re.compile(r'sdy\.mesh @"?([\w.$-]+)"? = #?(?:sdy\.mesh)?<\[([^\]]*)\]')
_AXIS = re.compile(r'"?([\w.-]+)"?\s*=\s*(\d+)')
_SHARDY = re.compile(r'sharding<@"?([\w.$-]+)"?, \[(.*)\]')
_TILES = re.compile(r"devices=\[([\d,]+)\]")
_LINE = re.compile(r'"([^"]+)":(\d+):')
_ON_CHIP = 256 << 20  # of a device: what may lie in faster memories
_ITERATIONS = 4  # of fewer, a compiler may leave nothing of the loop
_MOVES = ("stablehlo.dynamic_slice",)  # beside all that have one operand
_Calls = tuple[Any, ...]  # operations, the outermost first
_DONATED = ("tf.aliasing_output", "jax.buffer_donor")


def least(module: Any, text: str, partitions: int) -> dict[str, Any]:
    """Bytes of one device that are certain: ``bytes``, of which ``arguments``, ``results`` beyond
    donated arguments, and ``carried`` by the loop at ``line``.

    Args:
        text: the module's, for its meshes.
        partitions: devices that share its arrays.
    """
    divided = _Divided(text, partitions)
    main = _main(module)
    arguments = divided.all(main.arguments, main.arg_attrs)
    given = main.attributes
    told = main.result_attrs if "res_attrs" in given else [{}] * len(main.type.results)
    results = sum(map(divided.of, main.type.results, told))
    donated = [any(key in each for key in _DONATED) for each in main.arg_attrs]
    reused = sum(size for size, may in zip(arguments, donated, strict=True) if may)
    held, more = sum(arguments), max(0, results - reused)
    if "stablehlo.while" in text and "_host" not in text:  # where some of it may lie
        stays, stacked, line = _Loops(module, divided, donated).most()
        if stays + stacked > held + more:
            parts = {"arguments": stays, "carried": stacked, "line": line}
            return {"bytes": stays + stacked, **parts}
    return {"bytes": held + more, "arguments": held, "results": more}


def _main(module: Any) -> Any:
    from jaxlib.mlir import ir

    return ir.SymbolTable(module.operation)["main"]


def _bytes(type_: Any) -> int:
    """Of an array, without padding; 0 if its size is not known, or it is none."""
    if not getattr(type_, "has_static_shape", False):
        return 0
    element = str(type_.element_type)
    bits = 8 if element == "i1" else int((re.findall(r"\d+", element) or [0])[0])
    return int(math.prod(type_.shape)) * bits * (1 + element.startswith("complex")) // 8


class _Divided:
    """The part of arrays that one device holds."""

    def __init__(self, text: str, partitions: int) -> None:
        self.partitions = partitions
        self._meshes = {
            name: {axis: int(size) for axis, size in _AXIS.findall(axes)}
            for name, axes in _MESHES.findall(text)
        }

    def all(self, values: Any, told: Any) -> list[int]:
        """Of each argument."""
        return [self.of(value.type, has) for value, has in zip(values, told, strict=True)]

    def of(self, type_: Any, has: Any) -> int:
        """Of an argument or a result, by its attributes."""
        size = _bytes(type_)
        if any("host" in str(has[key]) for key in ("mhlo.memory_kind",) if key in has):
            return 0
        if self.partitions == 1 or not size:
            return size
        parts = self._parts(has, len(type_.shape))
        if parts is None or len(parts) != len(type_.shape):
            return size // self.partitions
        shape = [*map(int, type_.shape)]
        held = math.prod(-(-each // part) for each, part in zip(shape, parts, strict=True))
        return size * held // math.prod(shape)

    def _parts(self, has: Any, rank: int) -> list[int] | None:
        """Into how many parts each dimension is divided; None if that is not certain."""
        if "sdy.sharding" in has:
            match = _SHARDY.search(str(has["sdy.sharding"]))
            if match is None or "?" in match[2] or match[1] not in self._meshes:
                return None
            axes = self._meshes[match[1]]
            dims = re.findall(r"\{([^}]*)\}", match[2])[:rank]
            return [math.prod(_size(each, axes) for each in dim.split(", ")) for dim in dims]
        said = str(has["mhlo.sharding"]) if "mhlo.sharding" in has else ""
        if said.strip('"') == "{replicated}":
            return [1] * rank
        tiles = _TILES.search(said)
        return [*map(int, tiles[1].split(","))][:rank] if tiles else None


def _size(axis: str, axes: dict[str, int]) -> int:
    """Devices along an axis of a mesh, or along a part of one: ``"x":(2)4``."""
    name, _, part = axis.partition(":")
    return int(part.rpartition(")")[2]) if part else axes.get(name.strip('"'), 1)


class _Loops:
    """The loops of a program, and what exists when each ends."""

    def __init__(self, module: Any, divided: _Divided, donated: list[bool]) -> None:
        from jaxlib.mlir.passmanager import PassManager

        whole = module.operation.clone()
        with whole.context:
            PassManager.parse("builtin.module(inline,cse)").run(whole.operation)
            functions = {
                each.attributes["sym_name"].value: each
                for each in whole.regions[0].blocks[0].operations
                if _name(each) == "func.func"
            }
        main = functions["main"]
        self._whole = whole  # of which all below are parts
        self._divided = divided
        self._block = main.regions[0].blocks[0]
        self._needs = _Needs(functions)
        self._needed = self._needs.of(self._block)
        sizes = divided.all(main.arguments, main.arg_attrs)
        self._kept = sum(size for size, may in zip(sizes, donated, strict=True) if not may)
        given = zip(self._block.arguments, sizes, donated, strict=True)
        self._donated = [(value, size) for value, size, may in given if may]

    def most(self) -> tuple[int, int, str]:
        """Of the loop with the most at its end: bytes of arguments, those it stacks, its line."""
        found = list[tuple[int, int, str]]()
        for loop in self._block.operations:
            if loop.operation.name != "stablehlo.while":
                continue
            stacked = self._stacked(loop)
            if stacked > 0:
                crossing = dict[Any, int]()
                after = self._after(loop)
                for value, size in self._donated:
                    self._cross(value, size, after, crossing, 4)
                found.append((self._kept + sum(crossing.values()), stacked, _line(loop)))
        return max(found, key=lambda each: each[0] + each[1], default=(0, 0, ""))

    def _stacked(self, loop: Any) -> int:
        """Bytes of the arrays that a loop stacks and that are needed afterwards."""
        body = loop.regions[1].blocks[0]
        end = _end(body)
        counted = dict[int, int]()
        for number, value in enumerate(end.operands):
            made, calls = self._needs.source(value, ())
            if _name(made.owner) != "stablehlo.dynamic_update_slice":
                continue
            into, part = made.owner.operands[0], made.owner.operands[1]
            if self._needs.source(into, calls)[0] != body.arguments[number]:
                continue
            whole, one = _bytes(value.type), _bytes(part.type)
            needed = loop.results[number] in self._needed
            if not needed or whole < _ITERATIONS * one or not self._needs.made(part, calls, body):
                continue
            content, width = self._needs.content(part, calls)
            # A compiler keeps float32 in bfloat16 where no operation sees the difference.
            width = min(width, 2) if str(value.type.element_type) == "f32" else width
            size = math.prod(value.type.shape) * width // self._divided.partitions
            counted[content] = min(size, counted.get(content, size))
        return sum(counted.values()) - _ON_CHIP

    def _after(self, loop: Any) -> set[Any]:
        """The results of what needs the loop's results."""
        reached = set(loop.results)
        begun = False
        for each in self._block.operations:
            if begun and any(value in reached for value in each.operands):
                reached.update(each.results)
            begun = begun or each.operation == loop.operation
        return reached.difference(loop.results)

    def _cross(
        self, value: Any, size: int, after: set[Any], crossing: dict[Any, int], depth: int
    ) -> bool:
        """Whether a donated argument, or what it becomes without loss, is needed afterwards."""
        size = min(size, _bytes(value.type))
        users = [use.owner for use in value.uses if self._is_needed(use)]
        if any(_name(user) == "func.return" or user.results[0] in after for user in users):
            crossing[value] = size
            return True
        return depth > 0 and any(
            self._cross(user.results[0], size, after, crossing, depth - 1)
            for user in users
            if len(user.results) == 1 and user.results[0].type.shape == value.type.shape
        )

    def _is_needed(self, use: Any) -> bool:
        """Whether an operation that takes a value is needed, and that value by it."""
        owner = use.owner
        results = {n for n, value in enumerate(owner.results) if value in self._needed}
        if not results:
            return not len(owner.results)
        return use.operand_number in self._needs.operands(owner, results)


def _name(owner: Any) -> str:
    """Of the operation that makes or takes a value; empty for that of an argument."""
    return getattr(getattr(owner, "operation", owner), "name", "")


def _position(value: Any) -> int:
    """Of a value among the results of its operation, or the arguments of its block."""
    owner = value.owner
    return [*(owner.results if _name(owner) else owner.arguments)].index(value)


def _end(block: Any) -> Any:
    return block.operations[len(block.operations) - 1]


class _Needs:
    """Which values of a program are needed, in functions and loops as well."""

    def __init__(self, functions: Any) -> None:
        self._functions = functions
        self._known = dict[Any, set[int]]()
        self._contents = dict[Any, tuple[int, int]]()
        self._numbers = dict[Any, int]()

    def called(self, call: Any) -> Any:
        """The block of the function that is called."""
        return self._functions[call.attributes["callee"].value].regions[0].blocks[0]

    def of(self, block: Any, positions: set[int] | None = None) -> set[Any]:
        """The values that what a block returns at some positions needs; None for all of them."""
        returned = enumerate(_end(block).operands)
        found = {value for n, value in returned if positions is None or n in positions}
        for each in reversed(list(block.operations)[:-1]):
            results = {n for n, value in enumerate(each.results) if value in found}
            if results or not len(each.results):
                found.update(each.operands[n] for n in self.operands(each, results))
        return found

    def operands(self, operation: Any, results: set[int]) -> set[int]:
        """The positions of the operands that some results of an operation need."""
        name = _name(operation)
        if name not in ("stablehlo.while", "func.call"):
            return {*range(len(operation.operands))}
        key = operation.operation, frozenset(results)
        if key not in self._known:
            if name == "func.call":
                self._known[key] = self._arguments(self.called(operation), results)
            else:
                self._known[key] = self._carried(operation, results)
        return self._known[key]

    def _arguments(self, block: Any, positions: set[int] | None) -> set[int]:
        needed = self.of(block, positions)
        return {n for n, argument in enumerate(block.arguments) if argument in needed}

    def _carried(self, loop: Any, results: set[int]) -> set[int]:
        decides, body = (region.blocks[0] for region in loop.regions)
        found = results | self._arguments(decides, None)
        while (more := found | self._arguments(body, found)) != found:
            found = more
        return found

    def source(self, value: Any, calls: _Calls) -> tuple[Any, _Calls]:
        """Where a value is from, across calls: an operation's result, or of no function an
        argument; with the calls that lead there.
        """
        while True:
            if _name(value.owner) == "func.call":
                calls = (*calls, value.owner)
                value = _end(self.called(value.owner)).operands[_position(value)]
            elif not _name(value.owner) and calls:
                value, calls = calls[-1].operands[_position(value)], calls[:-1]
            else:
                return value, calls

    def made(self, part: Any, calls: _Calls, body: Any) -> bool:
        """Whether an iteration makes a value, rather than taking it from what was there before."""
        part, calls = self.source(part, calls)
        while _name(part.owner) and (len(part.owner.operands) == 1 or _name(part.owner) in _MOVES):
            given = part.owner.operands[0]
            if len(part.owner.regions) or _name(part.owner) == "stablehlo.custom_call":
                return True
            if _bytes(given.type) < _bytes(part.type) // 4:
                return False  # copies of less
            part, calls = self.source(given, calls)
        if _name(part.owner):
            return len(part.owner.operands) > 0
        return bool(_end(body).operands[_position(part)] != part)

    def content(self, value: Any, calls: _Calls) -> tuple[int, int]:
        """A number that equal values share, and those that follow from one element by element; and
        the fewest bytes of an element on the way.
        """
        value, calls = self.source(value, calls)
        key = (value, calls)
        if key not in self._contents:
            self._contents[key] = self._content(value, calls)
        return self._contents[key]

    def _content(self, value: Any, calls: _Calls) -> tuple[int, int]:
        owner, size = value.owner, _bytes(value.type)
        width = size // max(1, math.prod(getattr(value.type, "shape", ())))
        if not _name(owner) or len(owner.regions):
            return self._numbered((value, calls)), width
        given = [each for each in owner.operands if not _is_constant(self.source(each, calls)[0])]
        one = len(given) == 1 and _name(owner) != "stablehlo.custom_call"
        if one and math.prod(given[0].type.shape) == math.prod(value.type.shape):
            number, least = self.content(given[0], calls)
            return number, min(width, least)
        parts = [self.content(each, calls)[0] for each in owner.operands]
        if "add" in _name(owner) or "multiply" in _name(owner):
            parts.sort()
        made = (_name(owner), str(owner.attributes), _position(value), *parts)
        return self._numbered(made), width

    def _numbered(self, made: Any) -> int:
        return self._numbers.setdefault(made, len(self._numbers))


def _is_constant(value: Any) -> bool:
    while _name(value.owner) == "stablehlo.broadcast_in_dim":
        value = value.owner.operands[0]
    return _name(value.owner) in ("stablehlo.constant", "stablehlo.iota")


def _line(loop: Any) -> str:
    """The user's line of a loop, as ``train.py:31``; empty if it has none."""
    lines = _LINE.findall(str(loop.location))
    own = [each for each in lines if "site-packages" not in each[0]] or lines
    return f"{own[0][0].rpartition('/')[2]}:{own[0][1]}" if own else ""
