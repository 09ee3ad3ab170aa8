"""Which line of the program an operation is of, and how the framework calls it."""

from __future__ import annotations

from typing import Any, NamedTuple

from xladoctor.ingest.frames import NOWHERE, CallSite
from xladoctor.ingest.hlo.flow import Flow
from xladoctor.ingest.hlo.stacks import Stacks

_MLIR = "-"  # in place of a file: the line is one of the graph's text
_FURTHEST = 4  # operations from one that has a line


class Site(NamedTuple):
    """A line, or nowhere, and the framework's name of the operation with scopes."""

    line: CallSite
    op_name: str

    def columns(self) -> dict[str, Any]:
        """The columns of facts."""
        columns: dict[str, Any] = self.line.columns()
        del columns["via"]
        return {**columns, "op_name": self.op_name}


class Sites:
    """The sites of all operations. One that the compiler added has that of what it is for: of an
    operand, or else of an operation that uses it.
    """

    def __init__(self, flow: Flow, stacks: Stacks) -> None:
        self._flow = flow
        self._stacks = stacks

    def of(self, instruction: Any) -> Site:
        """The site of an instruction."""
        own = self._own(instruction)
        if own.line is not NOWHERE or own.op_name:
            return own
        return (
            self._towards(instruction, back=True) or self._towards(instruction, back=False) or own
        )

    def _own(self, instruction: Any) -> Site:
        line = CallSite(*self._stacks.origin(instruction.metadata).site)
        nowhere = line.line is None or line.file == _MLIR
        return Site(NOWHERE if nowhere else line, instruction.metadata.op_name)

    def _towards(self, instruction: Any, *, back: bool) -> Site | None:
        """The nearest site among what an instruction takes, or what takes it."""
        for _ in range(_FURTHEST):
            if back:
                found = next(map(self._flow.by_id.get, instruction.operand_ids), None)
            else:
                found = next(iter(self._flow.users.get(instruction.id, ())), None)
            if found is None or found.opcode == "parameter":
                return None
            site = self._own(found)
            if site.line is not NOWHERE:
                return site
            instruction = found
        return None
