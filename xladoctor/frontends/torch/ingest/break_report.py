"""Reads Dynamo's printed reports of graph breaks, between a program's other output.

``print(torch._dynamo.explain(f)(x))`` prints counts, and each break as ``Break Reason 1:`` with its
reason and the traced frames, outermost first. Torch 2.0 prints a numbered list with frames as in a
traceback. The report's ``break_reasons`` and ``TORCH_LOGS=dynamo`` print each break as a
``GraphCompileReason(…)``. Wording: ``torch/_dynamo/backends/debugging.py``, ``output_graph.py``,
``eval_frame.py``.
"""

from __future__ import annotations

import re
from ast import literal_eval
from dataclasses import dataclass, field

from xladoctor.facts.graphs import UNNAMED
from xladoctor.frontends.torch.ingest.text_records import FOLDERS, FRONTEND, Break
from xladoctor.ingest.compiler_log import CompilerLog
from xladoctor.ingest.frames import TRACED, Frame
from xladoctor.ingest.gathered import Gathered
from xladoctor.ingest.interface import ProcessRows
from xladoctor.recording.bootstrap._xladoctor.pytorch import breaks

_BEGINS = re.compile(r"\s*Break Reason \d+:\s*$|(?P<numbered>\d{1,5}\. )(?P<reason>\S.*)")
_TITLE = re.compile(r"Break reasons:\s*$")  # in torch 2.0
_REASON = re.compile(r"\s*Reason: (.*)")
_SECTION = re.compile(r"\s*(?:User Stack:|Ops per Graph:|Out Guards:|Compile Times:)")
_FRAME = re.compile(
    r"<FrameSummary file (?P<file>[^<>]+?), line (?P<line>\d{1,9}) in "
    r"(?P<name>[^<>]*(?:<[^<>]*>)?)>"
)
_LISTED = "GraphCompileReason("
_COMPILED_FOR = re.compile(
    r"GraphCompileReason\(reason=(?P<reason>'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"), user_stack=\["
    r"(?P<stack>[^\]]*)\], graph_break=True"
)
_MOST_LINES = 200  # lines of a reason


@dataclass(slots=True)
class _Open:
    """A break that is being read; ``complete``: whether its reason is complete."""

    reason: list[str] = field(default_factory=list)
    stack: list[Frame] = field(default_factory=list)
    complete: bool = False


class BreakReport(CompilerLog):
    """Collects the graph breaks that one process printed."""

    NAME = "PyTorch's report of graph breaks"
    LACKING = "no graph break with its line in PyTorch's report of them"
    MARKS = ("Break Reason ", "Break reasons:", _LISTED, "Graph Break Count: ")

    def __init__(self) -> None:
        self._open: _Open | None = None
        self._numbered = False  # a numbered list, as in torch 2.0
        self._breaks: dict[tuple[str | None, int | None, str], Break] = {}
        self._whole = False  # the report says that there are no breaks

    @property
    def inside(self) -> bool:
        """Whether further lines may belong to the report."""
        return self._open is not None or self._numbered

    @property
    def has_records(self) -> bool:
        """Whether the report has a break, or says that there is none."""
        self._finish()
        return bool(self._breaks) or self._whole

    def take(self, line: str) -> bool:
        """Take a line; False if it is not part of the report."""
        line = line.rstrip("\r\n")
        if _LISTED in line:
            return self._compiled_for(line)
        if "Graph Break Count: " in line:
            self._whole = self._whole or line.rpartition(": ")[2].strip() == "0"
            return True
        begins = _BEGINS.match(line)
        if begins and (self._numbered or not begins["numbered"]):
            self._finish()
            self._open = _Open([begins["reason"]] if begins["numbered"] else [])
            return True
        if _TITLE.search(line):
            self._finish()
            self._numbered = line.strip() == "Break reasons:"
            return True
        return self._further(line)

    def _further(self, line: str) -> bool:
        found = self._open
        if found is None:
            self._numbered = self._numbered and not line.strip()
            return self._numbered
        if frame := _FRAME.search(line) or TRACED.match(line):
            found.stack.append(_frame(frame))
        elif _SECTION.match(line) or (found.stack and not line.startswith(" ")):
            found.complete = True
            if not line.lstrip().startswith("User Stack:"):
                self._finish()
                return False
        elif not found.reason and (reason := _REASON.match(line)):
            found.reason.append(reason[1])
        elif not found.complete and not found.stack and len(found.reason) < _MOST_LINES:
            found.reason.append(line)
        return True

    def _compiled_for(self, line: str) -> bool:
        self._finish()
        for found in _COMPILED_FOR.finditer(line):
            stack = [_frame(frame) for frame in _FRAME.finditer(found["stack"])]
            self._add(str(literal_eval(found["reason"])), stack)
        return True

    def _finish(self) -> None:
        found, self._open = self._open, None
        if found and found.stack:
            self._add("\n".join(found.reason), found.stack)

    def _add(self, text: str, stack: list[Frame]) -> None:
        if not stack:
            return
        site = FOLDERS.locate(reversed(stack))
        why, hint = breaks.reason(text)
        intended = breaks.asked_for(text) and FOLDERS.is_machinery(stack[-1].file)
        self._breaks.setdefault(
            (site.file, site.line, why),
            Break("", stack[0].function, site, why, hint, intended),
        )

    def add(self, made: Gathered, rows: ProcessRows) -> str | None:
        """Fill ``graph_break`` for a process."""
        self._finish()
        rows.table("graph_break")
        for found in self._breaks.values():
            if not found.intended:
                rows.add("graph_break", **found.row(found.function or UNNAMED))
        return FRONTEND


def _frame(match: re.Match[str]) -> Frame:
    return Frame(match["file"], int(match["line"]), breaks.function_name(match["name"].strip()))
