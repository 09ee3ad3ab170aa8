"""The lines of a step log about compiling: compilations, their phases, graph breaks, limits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import zip_longest
from typing import Any

from xladoctor.ingest.call_sites import CallSites
from xladoctor.ingest.compilations import Timed
from xladoctor.ingest.fact_decoder import decoded
from xladoctor.ingest.fact_rows import as_hlo
from xladoctor.ingest.gathered import Gathered
from xladoctor.recording.bootstrap._xladoctor.facts import (
    Break,
    Compile,
    Fact,
    Limit,
    Phases,
    Split,
    Unbroken,
)

_MEMORY = ("argument", "output", "temp", "alias")
_NOTHING = ("nothing", "", "", "")  # differs, so the graph was thrown away meanwhile


class CompileLines:
    """Takes the lines of a process about compiling.

    Attributes:
        times: the compilations, which lack their graphs.
        handlers: what takes a line, by its decoded type.
    """

    def __init__(self, sites: CallSites, rows: Gathered) -> None:
        self.times: list[Timed] = []
        self._splits: list[Split] = []
        self._breaks: list[Break] = []
        self.handlers: dict[type[Fact], Callable[[Any], None]] = {
            decoded(Compile): self._compile,
            decoded(Phases): self._phases,
            decoded(Break): self._breaks.append,
            decoded(Unbroken): self._take_unbroken,
            decoded(Limit): self._limit,
            decoded(Split): self._splits.append,
        }
        self._sites = sites
        self._rows = rows
        self._unbroken: set[tuple[int | None, str]] = set()  # sites and functions

    def finish(self) -> None:
        """Add what is certain only after the last line."""
        for line in self._breaks:
            self._break(line)
        for split in self._splits:
            calls = self._sites.launches.get(split.site)
            row = {"operator": split.operator, "calls": calls, "site": split.place}
            self._rows.add_row("split_collective", row)
        if self._sites.parts is not None:
            self._rows.table("graph_break")
            self._rows.table("split_collective")
            self._rows.table("compile_limit")

    def _compile(self, line: Compile) -> None:
        number = len(self.times)
        self.times.append(
            Timed(
                thread=line.thread,
                step=line.step,
                during=line.during,
                end_ns=line.end_ns,
                duration_ns=line.duration_ns,
                ordinal=line.ordinal,
                launches=self._sites.launches.get(line.site),
                compiled=line.function,
                memory_bytes=_memory(line.memory),
                callbacks=line.callbacks if line.function else None,
                cached=line.cached,
                site=self._sites[line.site],
            )
        )
        self._add_phases(number, line.phases)
        if line.function is not None:  # its key is known
            self._rows.table("key_change")
        if line.against is not None:
            self._changes(number, line, line.against)
        if line.repeated is not None:
            site, op, copies, operations, part = line.repeated
            repeated = {"op": op, "copies": copies, "operations": operations}
            self._rows.add(
                "repeated_line", index=number, **repeated, part=min(1.0, part), site=site
            )
        self._traced(number, line)
        self._captured(number, line)
        self._arrays(number, line)
        self._redivided(number, line)

    def _traced(self, number: int, line: Compile) -> None:
        if line.traced is None:
            return
        all_equations, complete, tracing, lowering, lines = line.traced
        for site, equations, op, copies, constants in lines:
            self._rows.add(
                "traced_line",
                index=number,
                equations=equations,
                op=op,
                copies=copies,
                constant_bytes=constants,
                of_equations=all_equations,
                complete=complete,
                tracing_ns=tracing,
                lowering_ns=lowering,
                site=site,
            )

    def _captured(self, number: int, line: Compile) -> None:
        if line.captured is not None:
            self._rows.table("captured_constant")
        for site, argument, shape, size in line.captured or ():
            self._rows.add(
                "captured_constant",
                index=number,
                argument=argument or None,
                shape=as_hlo(shape),
                bytes=size,
                site=site,
            )

    def _arrays(self, number: int, line: Compile) -> None:
        if line.arrays is not None:
            self._rows.table("call_array")
        for role, nth, path, shape, size, donated in line.arrays or ():
            array = {"role": role, "number": nth, "argument": path or None, "shape": as_hlo(shape)}
            self._rows.add(
                "call_array", index=number, **array, bytes=size, donated=donated, site=line.defined
            )

    def _redivided(self, number: int, line: Compile) -> None:
        if line.redivided is not None:
            self._rows.table("redivided")
        for first, then, last, used, shape, size in line.redivided or ():
            before, after = self._sites[first[0]], self._sites[last[0] if last else used]
            self._rows.add(
                "redivided",
                index=number,
                shape=as_hlo(shape),
                bytes=size,
                was=first[1],
                now=then[1],
                then=last[1] if last else None,
                before_file=before.file,
                before_line=before.line,
                after_file=after.file,
                after_line=after.line,
                site=then[0],
            )

    def _changes(self, number: int, line: Compile, against: int) -> None:
        changes = line.changes or (_NOTHING,)
        for nth, ((what, argument, was, now), made) in enumerate(
            zip_longest(changes, line.made[: len(changes)])
        ):
            site = line.used if made is None else made
            role = None if site is None else "used" if made is None else "made"
            self._rows.add(
                "key_change",
                index=number,
                nth=nth,
                against=against - 1,
                what=what,
                argument=argument,
                was=as_hlo(was),
                now=as_hlo(now),
                hint=line.hint or None,
                role=role,
                site=site,
            )

    def _phases(self, line: Phases) -> None:
        number = None
        if line.number is not None and 0 < line.number <= len(self.times):
            number = line.number - 1
            timed = self.times[number]
            spent = (timed.duration_ns or 0) + sum(line.phases.values())
            self.times[number] = timed._replace(duration_ns=spent)
        self._add_phases(number, line.phases)

    def _add_phases(self, compilation: int | None, phases: Mapping[str, int]) -> None:
        for phase, nanoseconds in phases.items():
            row = {"compilation": compilation, "phase": phase, "duration_ns": nanoseconds}
            self._rows.add_row("compile_phase", row)

    def _take_unbroken(self, line: Unbroken) -> None:
        self._unbroken.add((line.site, line.function))

    def _break(self, line: Break) -> None:
        calls = self._sites.launches.get(line.site)
        parts = (self._sites.parts or {}).get(line.site)
        count = None if calls is None else max(0, calls - line.ordinal)
        unbroken = (line.site, line.function) in self._unbroken
        if count and parts is not None and unbroken and not line.whole:  # split: one part more
            count = min(count, max(0, parts - (calls or 0)))
        if count is not None:
            elsewhere, more = self._split_elsewhere(line)
            count, calls, parts = count + elsewhere, (calls or 0) + elsewhere, (parts or 0) + more
        self._rows.add(
            "graph_break",
            compiled=line.function,
            reason=line.reason,
            hint=line.hint or None,
            whole=line.whole,
            count=count,
            per_call=None if not calls or parts is None else max(0.0, parts / calls - 1),
            frame=None,
            site=line.place,
        )

    def _split_elsewhere(self, line: Break) -> tuple[int, int]:
        """Calls of the function at other sites than the one that it was compiled for, and the parts
        that they ran, if they were split too.
        """
        sites, calls, parts = self._sites, 0, 0
        own = sites.functions.get(line.site, frozenset())
        for site, functions in sites.functions.items():
            ran, called = (sites.parts or {}).get(site, 0), sites.launches.get(site, 0)
            if site != line.site and not own.isdisjoint(functions) and ran > called:
                calls += min(called, ran - called)
                parts += ran
        return calls, parts

    def _limit(self, line: Limit) -> None:
        what, argument, was, now = line.changes[0] if line.changes else (None,) * 4
        defined, used = self._sites[line.defined], self._sites[line.used]
        self._rows.add(
            "compile_limit",
            compiled=line.function,
            defined_file=defined.file,
            defined_line=defined.line,
            name=line.name,
            size=line.size,
            ordinal=line.ordinal,
            launches=self._sites.launches.get(line.site),
            what=what,
            argument=argument,
            was=was and as_hlo(was),
            now=now and as_hlo(now),
            dynamic=line.dynamic,
            aborts=line.aborts,
            hint=line.hint or None,
            used_file=used.file,
            used_line=used.line,
            used_function=used.function,
            site=line.site,
        )


def _memory(memory: Mapping[str, int] | None) -> int | None:
    """Bytes of the device that a graph takes with its arguments and results."""
    if memory is None:
        return None
    argument, output, temp, alias = (memory.get(name, 0) for name in _MEMORY)
    return argument + output + temp - alias
