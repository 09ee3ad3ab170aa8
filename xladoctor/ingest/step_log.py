"""The step log (``steps.jsonl``) of a captured process.

Written by ``recording/bootstrap/_xladoctor/recorder.py``. A log cut off by the end of its process
loses its last line, nothing else.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np

from xladoctor.facts.calls import DataWait, HostSync, StateSave, Upload
from xladoctor.facts.recorded import RECORDED
from xladoctor.facts.steps import CutStep, Step, Tail
from xladoctor.facts.table import table_name
from xladoctor.ingest.call_sites import CallSites
from xladoctor.ingest.compilations import Timed
from xladoctor.ingest.compile_lines import CompileLines
from xladoctor.ingest.cut_sum import CutSum
from xladoctor.ingest.fact_decoder import decoded
from xladoctor.ingest.fact_rows import row
from xladoctor.ingest.full_copies import full_copy
from xladoctor.ingest.gathered import Gathered
from xladoctor.ingest.interface import Notes
from xladoctor.ingest.inventory import tables_of
from xladoctor.ingest.run_records import DamagedRecord, step_line_decoder
from xladoctor.ingest.step_period import barriers_a_step
from xladoctor.recording.bootstrap._xladoctor import facts
from xladoctor.recording.bootstrap._xladoctor.facts import Fact
from xladoctor.recording.bootstrap._xladoctor.sharding_facts import FullCopy

STEP, TAIL, CUT = decoded(Step), decoded(Tail), decoded(CutStep)
_ENDED_BY = {STEP: "barrier", TAIL: "end", CUT: "read"}
#: Facts whose records are rows as they are, and what a step's line has a list of.
_FACTS: tuple[type[Fact], ...] = (
    *RECORDED,
    HostSync,
    Upload,
    StateSave,
    DataWait,
)
_TABLES = {decoded(fact): (table_name(fact), fact) for fact in _FACTS if fact.about.source}
_OUTLIER, _COPIED = decoded(facts.Outlier), decoded(FullCopy)
_OF_STEP = (
    decoded(facts.Compile),
    decoded(facts.Transfer),
    decoded(facts.KeptGraph),
    _OUTLIER,
)
#: Tables that every log has; others only if the capture wrote rows of them.
_ALWAYS = (
    "step",
    "cut",
    "step_period",
    "data_wait",
    "upload",
    "state_save",
    "transfer",
    "optimizer",
    "idle_optimizer",
    "empty_pass",
    "fallback_count",
    "outlier",
    "kept_graph",
)

#: Of lines, which are msgspec's structs.
_replaced: Callable[..., Any] = msgspec.structs.replace
_fields_of: Callable[[Any], dict[str, Any]] = msgspec.structs.asdict


@dataclass(slots=True)
class Logged:
    """What was read of a step log.

    Attributes:
        end_ns: when the last of its parts of a thread's time ended; 0 without any.
        longest: the most barriers that a line has.
        ended: whether the main thread's last line is its tail; None without a line of it.
        counters: what the framework's counters grew by in all.
    """

    end_ns: int = 0
    longest: int = 0
    ended: bool | None = None
    counters: dict[str, int] = field(default_factory=dict)

    def note(self, line: Step) -> None:
        """Take a line into account."""
        self.end_ns = max(self.end_ns, line.end_ns)
        self.longest = max(self.longest, line.barriers)
        if line.main:
            self.ended = isinstance(line, TAIL)


def facts_of(lines: Iterable[str], path: str, noted: Notes) -> Iterator[Fact]:
    """Decode all lines.

    Lines that cannot be read are lost, with a note; a last one that was cut off by the end of the
    process leaves the tables as whole as they can be.
    """
    decode = step_line_decoder()
    for number, line in enumerate(lines, 1):
        try:
            yield decode(line)
        except DamagedRecord as error:
            if line.endswith("\n"):
                noted.lose(
                    f"{path}, line {number}: not a line of a step log ({error}); skipped",
                    *tables_of(path),
                )
            else:
                noted.lose(f"{path}, line {number}: cut off; skipped")


class StepLog:
    """The lines of a step log, as they become rows of tables."""

    def __init__(self, sites: CallSites, lines: Iterable[Fact]) -> None:
        self.logged = Logged()
        self._sites = sites
        self._rows = Gathered()
        self._compiling = CompileLines(sites, self._rows)
        self._ordinals: dict[tuple[int | None, int | None], int] = {}
        self._barriers: dict[int | None, list[tuple[int, int, bool, bool]]] = {}
        self._cuts = defaultdict[int | None, CutSum](CutSum)  # of each thread's step
        self._folded: dict[int | None, int] = defaultdict(int)  # steps of a thread that were none
        self._was_none: dict[int | None, bool] = defaultdict(bool)  # its last one
        self._handlers: dict[type[Fact], Callable[[Any], None]] = {
            STEP: self._step,
            TAIL: self._step,
            CUT: self._cut,
            **self._compiling.handlers,
            _COPIED: self._copied,
        }
        for line in lines:
            self._take(line)

    def _take(self, line: Fact) -> None:
        if isinstance(line, STEP):
            self.logged.note(line)
        if self._sites.light:
            if isinstance(line, _OUTLIER) and self._was_none[line.thread]:
                return
            line = self._renumbered(line)
        add: Callable[[Any], None] = self._add
        self._handlers.get(type(line), add)(line)

    @property
    def compiled(self) -> list[Timed]:
        """The compilations, which lack their graphs."""
        return self._compiling.times

    def compiled_until(self, began_ns: int, ended_ns: int, compile_ns: int) -> None:
        """The main thread was compiling when the program was stopped, after the last line.

        Args:
            began_ns: when the last line ended.
            ended_ns: when the program did.
            compile_ns: how long compiling took until then.
        """
        if self.logged.ended:
            return
        last = next((cuts.last for cuts in self._cuts.values() if cuts.last.main), None)
        self._cut(
            CUT(
                thread=last.thread if last else None,
                main=True,
                index=last.index if last else 0,
                end_ns=ended_ns,
                duration_ns=ended_ns - began_ns,
                compile_ns=compile_ns,
            )
        )

    def tables(self) -> Gathered:
        """All tables, after the last line."""
        stopped = list(self._cuts.values())
        self._cuts.clear()
        for cuts in stopped:
            self._step(TAIL(**_fields_of(cuts.whole(cuts.last))))
        self._compiling.finish()
        for table in _ALWAYS:
            self._rows.table(table)
        for thread, barriers in self._barriers.items():
            sequences = np.asarray(barriers).T
            self._rows.add(
                "step_period",
                thread=thread,
                barriers=barriers_a_step(*sequences),
            )
        self._rows.replace("site", lambda index: self._sites[index].columns())
        return self._rows

    def _add(self, record: Fact, **columns: Any) -> None:
        """Add a fact, and these columns, as a row."""
        table, fact = _TABLES[type(record)]
        self._rows.add_row(table, columns | row(record, fact, self._sites))

    def _copied(self, line: FullCopy) -> None:
        said = full_copy(line.text)
        if said is not None:
            self._add(line, **said)

    def _renumbered(self, line: Fact) -> Fact:
        """Make steps that negligible launches ended a part of the next step, by its number."""
        if isinstance(line, STEP):
            none = type(line) is STEP and line.site in self._sites.light
            self._was_none[line.thread] = none
            number = line.index - self._folded[line.thread]
            if none:
                self._folded[line.thread] += line.barriers
                return CUT(**{**_fields_of(line), "index": number, "barriers": 0})
            renumbered: Step = _replaced(line, index=number)
            return renumbered
        if isinstance(line, _OF_STEP):
            fact: Fact = _replaced(line, step=line.step - self._folded[line.thread])
            return fact
        return line

    def _cut(self, line: CutStep) -> None:
        self._add_cut(line)
        self._cuts[line.thread].add(line)

    def _add_cut(self, line: Step) -> None:
        """A row of ``cut``: from one launch of the thread to the next, whatever caused it."""
        self._rows.add(
            "cut",
            thread=line.thread,
            step=line.index,
            ended_by=_ENDED_BY[type(line)],
            main=line.main,
            begin_ns=line.end_ns - line.duration_ns,
            end_ns=line.end_ns,
            duration_ns=line.duration_ns,
            compile_ns=line.compile_ns,
            barrier_ns=line.barrier_ns,
            launches=line.launches + line.executions,
            compilations=line.compilations,
            optimizer_steps=_updates(line),
            optimizers=len(line.optimizers),
            **_parts(line),
            site=line.site,
        )

    def _step(self, line: Step) -> None:
        tail, site, thread = isinstance(line, TAIL), line.site, line.thread
        cuts = self._cuts.pop(thread, None)
        if cuts is not None:
            self._add_cut(line)
            cuts.add(line)
            line = cuts.whole(line)
        ordinal = self._ordinals.get((thread, site), 0)
        if not tail:
            self._ordinals[thread, site] = ordinal + line.barriers
            fed = not self._sites.launched and bool(_waits(line) or line.uploads)
            idle = not (self._sites.launched or line.executions)
            barrier = (-1 if site is None else site, _updates(line), fed, idle)
            self._barriers.setdefault(thread, []).append(barrier)
        columns = row(line, Step)
        columns |= {
            "tail": tail,
            "ordinal": ordinal,
            "begin_ns": line.end_ns - line.duration_ns,
            "optimizer_steps": _updates(line),
            **_parts(line),
        }
        self._rows.add_row("step", columns)
        when = {"thread": thread, "step": line.index}
        for call in (*line.reads, *line.uploads, *line.saves):
            self._add(call, **when, tail=tail)
        for wait in _waits(line):
            self._add(wait, **when)
        if line.counters or line.fallbacks:
            self._count(line, tail)

    def _count(self, line: Step, tail: bool) -> None:
        counters = self.logged.counters
        for name, delta in (*line.counters.items(), *line.fallbacks.items()):
            counters[name] = counters.get(name, 0) + delta
        for name, delta in line.fallbacks.items():
            self._rows.add(
                "fallback_count",
                step=line.index,
                tail=tail,
                name=name,
                value=delta,
            )


def _waits(line: Step) -> tuple[DataWait, ...]:
    """The wait for input in a step, if there was one."""
    return (line.input,) if line.input is not None and line.input.count else ()


def _parts(line: Step) -> dict[str, int]:
    """The parts of a step's time that are sums over its calls, by column."""
    return {
        "read_ns": sum([max(0, read.duration_ns - read.compile_ns) for read in line.reads]),
        "input_ns": line.input.duration_ns if line.input is not None else 0,
        "upload_ns": sum([upload.duration_ns for upload in line.uploads]),
        "save_ns": sum([save.duration_ns for save in line.saves]),
    }


def _updates(line: Step) -> int:
    """Count the updates of the optimizer that stepped most often."""
    return max([count for _, count in line.optimizers]) if line.optimizers else 0
