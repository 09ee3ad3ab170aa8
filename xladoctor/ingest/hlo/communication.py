"""The operations of a partitioned module in which devices communicate, and why each is there.

The partitioner (``xla/service/spmd/spmd_partitioner.cc``) adds them where an operation needs a
value otherwise than it is divided. It gives them the metadata of that operation; since releases
that mark them as ``is_spmd_generated``, those of the operation that makes the value. How it is
divided before and after follows from the operation itself: a gather makes whole what was divided,
a sum adds what is divided along a dimension that is summed over.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

from xladoctor.ingest.hlo.flow import Flow, Source
from xladoctor.ingest.hlo.groups import Mesh, group_of
from xladoctor.ingest.hlo.layout import Array, arrays
from xladoctor.ingest.hlo.sites import Site, Sites
from xladoctor.ingest.hlo.stacks import Stacks
from xladoctor.ingest.hlo.walk import Run, called, root_of, walk

COLLECTIVE = re.compile(
    r"(all-reduce|all-gather|reduce-scatter|all-to-all|ragged-all-to-all|collective-permute"
    r"|collective-broadcast)(-start|-done)?"
)
_MOST = 1_000_000  # instructions
_SUMS = ("all-reduce", "reduce-scatter")
_GENERATED = b"is_spmd_generated"
#: Last parts of names with scopes: what the program calls to communicate, or to divide a value
#: otherwise; and operations that need what neighbours have.
_WRITTEN = re.compile(
    r"p(sum|max|min|mean)\w*|all_gather\w*|reduce_scatter|psum_scatter|(ragged_)?all_to_all"
    r"|ppermute|pbroadcast|pgather|xla_?_?cross_replica_sum|all_reduce\w*|collective_permute"
)
_ASKED = re.compile(r"sharding_constraint|reshard|Sharding|(xla__)?(custom|mark)_sharding\w*")
_NEIGHBOURS = re.compile(
    r"pad|slice|dynamic_slice|concatenate|roll|reduce_window\w*|conv_general_dilated|rev|cumsum"
    r"|shift_\w+|gather|scatter\w*|split|select_and_\w+"
)
_BACKWARD = "transpose("
#: What an addition to a total may contain, with a constant factor as in a mean.
_LINEAR = frozenset(
    ("add", "parameter", "bitcast", "copy", "convert", "transpose", "reshape", "constant")
) | {"broadcast", "multiply", "divide"}


class Communication(NamedTuple):
    """An operation in which devices communicate, all of the same kind together.

    Attributes:
        kind: as in HLO, without ``-start``.
        reason: written, asked, gradients, sums, argument, result, neighbours, or reshard.
        type, shape: of the result on a device; ``bytes``: that a device receives in one of them,
            as rings do it: all parts of the result but its own, of sums twice as much.
        group: devices that communicate; ``axes``: of the mesh, along which they lie.
        in_loop: whether it is in a loop; ``outside``: whether it could stand behind or before it.
        argument: number of the argument that is gathered.
        before, after: how it divides the value, as far as that can be seen.
        site: of the operation that needs it; ``made``: of the one that makes the value.
    """

    kind: str
    reason: str
    type: str
    shape: tuple[int, ...]
    bytes: int
    group: int | None
    axes: str
    asynchronous: bool
    in_loop: bool
    outside: str
    argument: int | None
    before: str
    after: str
    site: Site
    made: Site


class Counted(NamedTuple):
    """Communications of a kind. ``times``: in a run of the module; ``instruction``: one of them."""

    alike: Communication
    times: int
    instruction: str

    def columns(self) -> dict[str, Any]:
        """The columns of ``communication``."""
        columns = self.alike._asdict()
        site, made = columns.pop("site"), columns.pop("made")
        made_of = {
            "made_file": made.line.file,
            "made_line": made.line.line,
            "made_op": made.op_name,
        }
        line = {**site.line.columns(), "op_name": site.op_name}
        return {"instruction": self.instruction, "times": self.times, **columns, **made_of, **line}


def communications(
    module: Any, stacks: Stacks, mesh: Mesh, arguments: Iterable[Sequence[int]] = ()
) -> list[Counted]:
    """All communications of a module, in the order of its schedule.

    Args:
        module: ``HloModuleProto`` after partitioning; ``mesh``: its axes, as far as known.
        arguments: dimensions of those that it gives new values, whole and on a device; without
            any, those of all count.
    """
    entry = next((c for c in module.computations if c.id == module.entry_computation_id), None)
    if entry is None or not _communicates(module):
        return []
    flow = Flow(module)
    runs = [*islice(walk(entry, flow.computations), _MOST)]
    reader = Exchanges(module, flow, Sites(flow, stacks), mesh, arguments)
    times: Counter[Communication] = Counter()
    names: dict[Communication, str] = {}
    for run in runs:
        for each in reader.read(run):
            times[each] += run.times
            names.setdefault(each, run.instruction.name)
    return [Counted(each, count, names[each]) for each, count in times.items()]


def _communicates(module: Any) -> bool:
    return any(
        COLLECTIVE.fullmatch(each.opcode) or each.opcode == "async-start"
        for computation in module.computations
        for each in computation.instructions
    )


class _Exchange(NamedTuple):
    """An instruction that communicates arrays; ``elements``: what stands for each result."""

    instruction: Any
    kind: str
    results: list[Array]
    elements: dict[int, Any]
    group: int | None
    axes: str
    asynchronous: bool


class Exchanges:
    """The communications of a module, one by one.

    Args:
        module: ``HloModuleProto``, whose values are in ``flow``, and its lines in ``sites``.
        mesh, arguments: as for :func:`communications`.
    """

    def __init__(
        self,
        module: Any,
        flow: Flow,
        sites: Sites,
        mesh: Mesh,
        arguments: Iterable[Sequence[int]] = (),
    ) -> None:
        self._flow, self._sites, self._mesh = flow, sites, mesh
        self._channels: set[int] = set()
        entry = flow.computations[module.entry_computation_id]
        parameters = [each for each in entry.instructions if each.opcode == "parameter"]
        known = [*arguments] or [shape for each in parameters for shape in _shapes(each)]
        loops = any(each.opcode == "while" for each in flow.by_id.values())
        parts = [shape[1:] for shape in known if loops and len(shape) > 2]  # of stacked layers
        self._paths = {each.metadata.op_name for each in parameters} - {""}
        self._state = {tuple(sorted(shape)) for shape in (*known, *parts)}

    def begun(self, instruction: Any) -> Any:
        """What an operation that ends in ``-done`` waits for; else the operation itself."""
        first = next(iter(instruction.operand_ids), -1)
        start = self._flow.by_id.get(first) if instruction.opcode.endswith("-done") else None
        return instruction if start is None else start

    def reasons_of(self, instruction: Any, count: int) -> list[str]:
        """Why an operation is there, by each of the arrays that it communicates."""
        operands = [self._flow.by_id.get(number) for number in instruction.operand_ids]
        match = COLLECTIVE.fullmatch(instruction.opcode)
        elements = self._elements(instruction)
        reasons = []
        for number in range(count):
            operand = next(iter(operands[number : number + 1] or operands[:1]), None)
            if operand is None or match is None:
                reasons.append("")
                continue
            element, source = elements.get(number, instruction), self._flow.source(operand)
            reasons.append(self._reason(match[1], instruction, operand, element, source))
        return reasons

    def read(self, run: Run) -> Iterator[Communication]:
        """The communications of an instruction: one for each array that it sums or gathers."""
        instruction, asynchronous = run.instruction, False
        if instruction.opcode == "async-start":
            inner = called(instruction, self._flow.computations)
            instruction, asynchronous = (root_of(inner) if inner else None), True
        match = COLLECTIVE.fullmatch(instruction.opcode) if instruction else None
        if match is None or match[2] == "-done":
            return
        if run.fused:  # several fusions have parts of the same one
            if instruction.channel_id in self._channels:
                return
            self._channels.add(instruction.channel_id)
        results = [*arrays(instruction.shape)]
        group, axes = group_of(instruction, self._mesh)
        asynchronous = asynchronous or bool(match[2])
        operands = [self._flow.by_id.get(number) for number in instruction.operand_ids]
        if "all-to-all" in match[1]:  # which has the parts of one array
            operands = operands[:1]
        exchange = _Exchange(
            instruction, match[1], results, self._elements(instruction), group, axes, asynchronous
        )
        for number, operand in enumerate(operands):
            if operand is not None and results:
                yield self._of(run, exchange, number, operand)

    def _of(self, run: Run, exchange: _Exchange, number: int, operand: Any) -> Communication:
        instruction, kind, results, elements, group, axes, asynchronous = exchange
        begins = kind == "all-gather" and asynchronous  # whose results begin with the operands
        result = results[-1] if begins or number >= len(results) else results[number]
        given = next(arrays(operand.shape), result)
        size = sum(each.bytes for each in results) if "all-to-all" in kind else result.bytes
        source = self._flow.source(operand)
        element = elements.get(number, instruction)
        made, site = self._lines(instruction, operand, element)
        reason = self._reason(kind, instruction, operand, element, source)
        over = f"over {axes}" if axes else f"in {group} parts" if group else "in parts"
        before, after = _divisions(kind, instruction, result.shape, over)
        return Communication(
            kind=kind,
            reason=reason,
            type=result.type,
            shape=result.shape,
            bytes=_received(kind, size, given.bytes, group),
            group=group,
            axes=axes,
            asynchronous=asynchronous,
            in_loop=run.in_loop,
            outside=self._outside(run, kind, source, element),
            argument=source.argument,
            before=before,
            after=after,
            site=site,
            made=made,
        )

    def _elements(self, instruction: Any) -> dict[int, Any]:
        """What stands for each result of several."""
        users = self._flow.users[instruction.id]
        return {each.tuple_index: each for each in users if each.opcode == "get-tuple-element"}

    def _lines(self, instruction: Any, operand: Any, element: Any) -> tuple[Site, Site]:
        """The sites of what makes the value, and of what needs it."""
        own = self._sites.of(instruction)
        if element is not instruction and element.metadata.op_name:
            own = self._sites.of(element)
        if _is_generated(instruction):
            later = (self._sites.of(each) for each in self._flow.uses(element))
            return own, next((e for e in later if e.line.line and e != own), own)
        if _last(own.op_name, _WRITTEN):
            return own, own
        source = self._flow.source(operand).instruction
        for _ in range(8):  # back through what the partitioner put around it
            made = self._sites.of(source)
            if made != own or not source.operand_ids:
                return made, own
            before = self._flow.by_id.get(source.operand_ids[0])
            if before is None:
                break
            source = self._flow.source(before).instruction
        return own, own

    def _reason(
        self, kind: str, instruction: Any, operand: Any, element: Any, source: Source
    ) -> str:
        names = [element.metadata.op_name, instruction.metadata.op_name, operand.metadata.op_name]
        name = next(filter(None, names), "")
        if not _is_generated(instruction) and _last(name, _WRITTEN):
            return "written"
        if kind in _SUMS:
            shape = next((array.shape for array in arrays(operand.shape)), ())
            backward = _BACKWARD in name or "/" not in name  # names without scopes do not say
            alike = tuple(sorted(shape)) in self._state or self._flow.is_result(element)
            return "gradients" if backward and alike and shape else "sums"
        if kind == "all-gather" and (source.argument is not None or name in self._paths):
            return "argument"
        if _last(name, _ASKED):
            return "asked"
        if self._flow.is_result(element):
            return "result"
        return "neighbours" if _last(name, _NEIGHBOURS) else "reshard"

    def _outside(self, run: Run, kind: str, source: Source, element: Any) -> str:
        """Where a communication in a loop could stand instead: before or behind it; else empty."""
        if not run.in_loop:
            return ""
        if kind == "all-gather" and source.left and not source.sliced:
            return "before"
        if kind in _SUMS and self._is_added_up(element):
            return "behind"
        return ""

    def _is_added_up(self, value: Any) -> bool:
        """Whether a value is only added to one that the loop carries."""
        users = [*self._flow.uses(value)]
        sums = [each for each in users if self._only_adds(each)]
        return len(sums) == 1 and users[-1:] == sums and self._is_carried(sums[0])

    def _only_adds(self, instruction: Any) -> bool:
        if instruction.opcode == "add":
            return True
        body = (
            called(instruction, self._flow.computations) if instruction.opcode == "fusion" else None
        )
        kinds = Counter(each.opcode for each in body.instructions) if body else Counter()
        return kinds["add"] == 1 and kinds["parameter"] == 2 and kinds.keys() <= _LINEAR

    def _is_carried(self, total: Any) -> bool:
        """Whether a sum takes the place of one of its operands in the loop's state."""
        for user in self._flow.uses(total):
            if user.opcode != "tuple":
                continue
            places = [n for n, number in enumerate(user.operand_ids) if number == total.id]
            taken = [self._flow.by_id.get(number) for number in total.operand_ids]
            return any(
                each is not None
                and each.opcode == "get-tuple-element"
                and each.tuple_index in places
                for each in taken
            )
        return False


def _shapes(parameter: Any) -> list[tuple[int, ...]]:
    return [array.shape for array in arrays(parameter.shape)]


def _last(name: str, pattern: re.Pattern[str]) -> bool:
    """Whether the operation that a name with scopes ends in is one of these."""
    last = re.split(r"[\[.]", name.rsplit("/", 1)[-1], maxsplit=1)[0]
    return pattern.fullmatch(last) is not None


def _is_generated(instruction: Any) -> bool:
    return _GENERATED in instruction.frontend_attributes


def _received(kind: str, result: int, given: int, group: int | None) -> int:
    """Bytes that a device receives, of a ring of devices; without their number, all of them.

    Source: the "bus bandwidth" of NCCL's tests, ``doc/PERFORMANCE.md``.
    """
    others = (group - 1) / group if group else 1.0
    if kind == "all-reduce":
        return round(2 * result * others)
    if kind == "reduce-scatter":
        return round(given * others)
    return result if kind.startswith("collective") else round(result * others)


def _divisions(kind: str, instruction: Any, shape: Sequence[int], over: str) -> tuple[str, str]:
    """How a value is divided before and after."""
    numbers = [*instruction.dimensions]
    if kind == "all-gather" and numbers:
        return f"dimension {numbers[0]} {over}", f"dimension {numbers[0]} whole"
    if kind == "reduce-scatter" and numbers:
        return "parts of a sum", f"dimension {numbers[0]} {over}"
    if kind == "all-reduce":
        return "parts of a sum", "the sum on each device"
    if kind == "all-to-all":
        return f"one dimension {over}", f"another dimension {over}"
    return "", ""
