"""The step log (``steps.jsonl``) and the call sites (``call_sites.json``) of a captured process.

Written by ``recording/bootstrap/_xladoctor/recorder.py``. A log cut off by the end of its process
loses its last line, nothing else.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any, TypeVar

import msgspec
import numpy as np

from xladoctor.facts.table import facts_in, fields, table_name
from xladoctor.ingest.fact_decoder import decoded
from xladoctor.ingest.frames import NOWHERE, CallSite
from xladoctor.ingest.gathered import Gathered
from xladoctor.ingest.interface import Columns, Ingested
from xladoctor.ingest.inventory import tables_of
from xladoctor.ingest.run_records import (
    CallSitesFile,
    Cut,
    DamagedRecord,
    Fallback,
    Ignore,
    Launches,
    Part,
    Step,
    StepLine,
    Tail,
    read_record,
    step_line_decoder,
)
from xladoctor.recording.bootstrap._xladoctor import facts
from xladoctor.recording.bootstrap._xladoctor.facts import Break, Compile, Fact, Limit, Phases
from xladoctor.warmup import LEAST_OF_STEP

_HLO_TYPES = {
    "bool": "pred",
    "uint8": "u8",
    "int8": "s8",
    "int16": "s16",
    "int32": "s32",
    "int64": "s64",
    "float16": "f16",
    "bfloat16": "bf16",
    "float32": "f32",
    "float64": "f64",
    "complex64": "c64",
    "complex128": "c128",
}
_MEMORY = ("argument", "output", "temp", "alias")
_MAX_PERIOD = 16
_PERIODIC = 0.9
_ONE_UPDATE = 1.1
#: Facts that are a row as they are.
_ROWS = {
    decoded(fact): (table_name(fact), [(each.name, each.kind.role) for each in fields(fact)])
    for fact in facts_in(facts)
    if fact.about.source
}
_OUTLIER = decoded(facts.Outlier)
_OF_STEP = (decoded(facts.Compile), decoded(facts.Transfer), _OUTLIER)
_NOTHING = ("nothing", "", "", "")  # differs, so the graph was thrown away meanwhile


Numbers = np.ndarray[Any, Any]
_Part = TypeVar("_Part", bound=Part)


@dataclass(frozen=True, slots=True)
class CallSites:
    """The interned call sites of a process.

    Attributes:
        loops: around each site, from inside out: file, first and last line, function.
        passing: as :attr:`Folders.passing` has it; of two calls on a line, both have to.
        ignores: comments in their files that ask to ignore findings.
        launches: how often each site launched graphs, if the framework reports launches.
        launched: the rows of table ``launch``.
        parts: how many compiled parts of functions its calls ran, as :class:`CallSitesFile` has it.
        origins: per site, reads whose producing launch is known, and how many came a step late.
        operations: as :class:`CallSitesFile` has it.
        light: sites whose launches ended steps that later turned out to be set-up.
    """

    sites: tuple[CallSite, ...] = ()
    sources: tuple[str, ...] = ()
    fallbacks: tuple[Fallback, ...] = ()
    loops: tuple[tuple[tuple[str, int, int, str], ...], ...] = ()
    passing: Mapping[tuple[str, int], bool] = field(default_factory=dict)
    ignores: tuple[Ignore, ...] = ()
    launches: Mapping[int | None, int] = field(default_factory=dict)
    launched: tuple[Launches, ...] = ()
    light: frozenset[int | None] = frozenset()
    parts: Mapping[int | None, int] | None = None
    origins: tuple[tuple[int | None, int, int], ...] = ()
    operations: frozenset[int | None] | None = None

    def __getitem__(self, index: int | None) -> CallSite:
        return self.sites[index] if index is not None and index < len(self.sites) else NOWHERE


@dataclass(slots=True)
class Logged:
    """What was read of a step log.

    Attributes:
        end_ns: when the last of its parts of a thread's time ended; 0 without any.
        longest: the most barriers that a line has.
        ended: whether the main thread's last line is its tail; None without a line of it.
        counters: what the framework's counters grew by in all.
        compile_times: columns of the compilations, which lack their graphs; empty without any.
    """

    end_ns: int = 0
    longest: int = 0
    ended: bool | None = None
    counters: dict[str, int] = field(default_factory=dict)
    compile_times: Columns = field(default_factory=dict)

    def note(self, line: Part) -> None:
        """Take a line into account."""
        self.end_ns = max(self.end_ns, line.end_ns)
        self.longest = max(self.longest, line.steps)
        if line.main:
            self.ended = isinstance(line, Tail)


def read_call_sites(text: str) -> CallSites:
    """Parse ``call_sites.json``. Raises DamagedRecord for any other file."""
    data = read_record(text, CallSitesFile)
    sites = tuple(
        CallSite(
            site.file,
            site.line,
            site.function,
            site.user_file,
            site.user_line,
            site.user_function,
            site.via,
        )
        for site in data.sites
    )
    passing: dict[tuple[str, int], bool] = {}
    for file, line, passes in data.passing:
        passing[file, line] = passes and passing.get((file, line), True)
    return CallSites(
        sites,
        tuple(site.source for site in data.sites),
        data.fallbacks,
        tuple(site.loops for site in data.sites),
        passing,
        data.ignores,
        {site: count for site, count, _, _ in data.launches},
        data.launches,
        _not_of_loops(data.launches) | frozenset(data.beside),
        None if data.parts is None else dict(data.parts),
        data.origins,
        None if data.operations is None else frozenset(data.operations),
    )


def read_step_log(
    lines: Iterable[str], sites: CallSites, process: int, ingested: Ingested, path: str
) -> Logged:
    """Fill ``step`` and the tables of what happened in the steps.

    Lines that cannot be read are lost; a last one that was cut off by the end of the process leaves
    the tables as whole as they can be.
    """
    reader = _StepLogReader(sites, process)
    decode = step_line_decoder()
    for number, line in enumerate(lines, 1):
        try:
            reader.take(decode(line))
        except DamagedRecord as error:
            if line.endswith("\n"):
                ingested.lose(
                    f"{path}, line {number}: not a line of a step log ({error}); skipped",
                    *tables_of(path),
                )
            else:
                ingested.lose(f"{path}, line {number}: cut off; skipped")
    reader.finish().move(ingested)
    return reader.logged


class _StepLogReader:
    def __init__(self, sites: CallSites, process: int) -> None:
        self._sites = sites
        self._process = process
        self._rows = Gathered()
        self._times = Gathered()  # of the compilations
        self._compilations = 0
        self._shapes: dict[tuple[int, ...], list[int]] = {}
        self._ordinals: dict[tuple[int | None, int | None], int] = {}
        self._barriers: dict[int | None, list[tuple[int, int, bool]]] = {}
        self._breaks: list[Break] = []
        self._unbroken: set[tuple[int | None, str]] = set()  # sites and functions
        self.logged = Logged()
        self._cuts: dict[int | None, Cut] = {}  # of each thread's step, those so far
        self._folded: dict[int | None, int] = defaultdict(int)  # steps of a thread that were none
        self._was_none: dict[int | None, bool] = defaultdict(bool)  # its last one
        self._handlers: dict[type, Callable[[Any], None]] = {
            Step: self._step,
            Tail: self._step,
            Cut: self._cut,
            decoded(facts.Compile): self._compile,
            decoded(facts.Phases): self._phases,
            decoded(facts.Break): self._breaks.append,
            decoded(facts.Limit): self._limit,
            decoded(facts.Unbroken): lambda line: self._unbroken.add((line.site, line.function)),
        }

    def take(self, line: StepLine) -> None:
        if isinstance(line, Part):
            self.logged.note(line)
        if self._sites.light:
            if isinstance(line, _OUTLIER) and self._was_none[line.thread]:
                return
            line = self._renumbered(line)
        self._handlers.get(type(line), self._row)(line)

    def _row(self, line: Fact) -> None:
        """Add a fact that is a row already, except for its call sites."""
        table, columns = _ROWS[type(line)]
        row: dict[str, Any] = {"process": self._process}
        for name, role in columns:
            value = getattr(line, name)
            if role == "function":
                defined = self._sites[value]
                row[f"{name}_file"] = defined.file
                row[f"{name}_line"] = defined.line
                row[f"{name}_function"] = defined.function
                continue
            if role == "element type":
                value = _HLO_TYPES.get(value, value)
            elif isinstance(value, tuple):
                value = self._shapes.setdefault(value, list(value))
            row[name] = value
        self._rows.add(table, **row)

    def _renumbered(self, line: StepLine) -> StepLine:
        """Make steps that negligible launches ended a part of the next step, by its number."""
        if isinstance(line, Part):
            none = isinstance(line, Step) and line.site in self._sites.light
            self._was_none[line.thread] = none
            known = line
            line = msgspec.structs.replace(line, index=line.index - self._folded[line.thread])
            if none:
                self._folded[line.thread] += known.steps
                return Cut(**{**msgspec.structs.asdict(line), "steps": 0})
            return line
        if isinstance(line, _OF_STEP):
            replace: Callable[..., StepLine] = msgspec.structs.replace
            return replace(line, step=line.step - self._folded[line.thread])
        return line

    def _cut(self, line: Cut) -> None:
        self._part(line)
        cuts = self._cuts.get(line.thread)
        self._cuts[line.thread] = _sum(cuts, line) if cuts else line

    def _part(self, line: Part) -> None:
        """A row of ``cut``: from one launch of the thread to the next, whatever caused it."""
        self._rows.add(
            "cut",
            process=self._process,
            thread=line.thread,
            step=line.index,
            ended_by="read"
            if isinstance(line, Cut)
            else "barrier"
            if isinstance(line, Step)
            else "end",
            main=line.main,
            begin_ns=line.end_ns - line.duration_ns,
            end_ns=line.end_ns,
            duration_ns=line.duration_ns,
            launches=line.launches + line.executions,
            compilations=line.compilations,
            optimizer_steps=_updates(line),
            optimizers=len(line.optimizers),
            **_parts(line),
            site=line.site,
        )

    def _step(self, line: Step | Tail) -> None:
        tail, site, thread = isinstance(line, Tail), line.site, line.thread
        cuts = self._cuts.pop(thread, None)
        if cuts is not None:
            self._part(line)
            line = _sum(cuts, line)
        ordinal = self._ordinals.get((thread, site), 0)
        if not tail:
            self._ordinals[thread, site] = ordinal + line.steps
            fed = not self._sites.launched and bool(line.input[0] or line.uploads)
            barrier = (-1 if site is None else site, _updates(line), fed)
            self._barriers.setdefault(thread, []).append(barrier)
        self._rows.add(
            "step",
            process=self._process,
            thread=thread,
            main=line.main,
            tail=tail,
            index=line.index,
            barriers=line.steps,
            ordinal=ordinal,
            begin_ns=line.end_ns - line.duration_ns,
            end_ns=line.end_ns,
            duration_ns=line.duration_ns,
            **_parts(line),
            capture_ns=line.capture_ns,
            executions=line.executions,
            launches=line.launches,
            compilations=line.compilations,
            optimizer_steps=_updates(line),
            log_offset=line.log,
            traced=line.traced,
            probed=line.probed,
            site=site,
        )
        self._reads(line, tail)
        self._uploads(line, tail)
        self._saves(line, tail)
        if line.input[0]:
            self._rows.add(
                "data_wait",
                process=self._process,
                thread=thread,
                step=line.index,
                count=line.input[0],
                duration_ns=line.input[1],
            )
        if not (line.counters or line.fallbacks):
            return
        counters = self.logged.counters
        for name, delta in (*line.counters.items(), *line.fallbacks.items()):
            counters[name] = counters.get(name, 0) + delta
        for name, delta in line.fallbacks.items():
            self._rows.add(
                "fallback_count",
                process=self._process,
                step=line.index,
                tail=tail,
                name=name,
                value=delta,
            )

    def _reads(self, line: Part, tail: bool) -> None:
        for site, kind, closure, count, nanoseconds, compiling in line.reads:
            self._rows.add(
                "host_sync",
                process=self._process,
                thread=line.thread,
                step=line.index,
                tail=tail,
                kind=kind,
                closure=bool(closure),
                count=count,
                duration_ns=max(0, nanoseconds - compiling),
                compile_ns=compiling,
                site=site,
            )

    def _uploads(self, line: Part, tail: bool) -> None:
        for site, count, size, nanoseconds in line.uploads:
            self._rows.add(
                "upload",
                process=self._process,
                thread=line.thread,
                step=line.index,
                tail=tail,
                count=count,
                bytes=size,
                duration_ns=nanoseconds,
                site=site,
            )

    def _saves(self, line: Part, tail: bool) -> None:
        for site, count, nanoseconds in line.saves:
            self._rows.add(
                "state_save",
                process=self._process,
                thread=line.thread,
                step=line.index,
                tail=tail,
                count=count,
                duration_ns=nanoseconds,
                site=site,
            )

    def _compile(self, line: Compile) -> None:
        self._times.add(
            "compilation",
            process=self._process,
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
            site=line.site,
        )
        self._add_phases(self._compilations, line.phases)
        if line.function is not None:  # its key is known
            self._rows.table("key_change")
        if line.against is not None:
            changes = line.changes or (_NOTHING,)
            for nth, ((what, argument, was, now), made) in enumerate(
                zip_longest(changes, line.made[: len(changes)])
            ):
                site = line.used if made is None else made
                role = None if site is None else "used" if made is None else "made"
                self._rows.add(
                    "key_change",
                    process=self._process,
                    index=self._compilations,
                    nth=nth,
                    against=line.against - 1,
                    what=what,
                    argument=argument,
                    was=_as_hlo(was),
                    now=_as_hlo(now),
                    hint=line.hint or None,
                    role=role,
                    site=site,
                )
        if line.repeated is not None:
            site, op, copies, operations, part = line.repeated
            self._rows.add(
                "repeated_line",
                process=self._process,
                index=self._compilations,
                op=op,
                copies=copies,
                operations=operations,
                part=min(1.0, part),
                site=site,
            )
        self._compilations += 1

    def _phases(self, line: Phases) -> None:
        number = None if line.number is None else line.number - 1
        if number is not None and 0 <= number < self._compilations:
            spent = self._times.table("compilation")["duration_ns"]
            spent[number] += sum(line.phases.values())
        else:
            number = None
        self._add_phases(number, line.phases)

    def _add_phases(self, compilation: int | None, phases: Mapping[str, int]) -> None:
        for phase, nanoseconds in phases.items():
            self._rows.add(
                "compile_phase",
                process=self._process,
                compilation=compilation,
                phase=phase,
                duration_ns=nanoseconds,
            )

    def _break(self, line: Break) -> None:
        calls = self._sites.launches.get(line.site)
        parts = (self._sites.parts or {}).get(line.site)
        count = None if calls is None else max(0, calls - line.ordinal)
        unbroken = (line.site, line.function) in self._unbroken
        if count and parts is not None and unbroken and not line.whole:  # split: one part more
            count = min(count, max(0, parts - (calls or 0)))
        self._rows.add(
            "graph_break",
            process=self._process,
            compiled=line.function,
            reason=line.reason,
            hint=line.hint or None,
            whole=line.whole,
            count=count,
            per_call=None if not calls or parts is None else max(0.0, parts / calls - 1),
            frame=None,
            site=line.place,
        )

    def _limit(self, line: Limit) -> None:
        what, argument, was, now = line.changes[0] if line.changes else (None,) * 4
        defined, used = self._sites[line.defined], self._sites[line.used]
        self._rows.add(
            "compile_limit",
            process=self._process,
            compiled=line.function,
            defined_file=defined.file,
            defined_line=defined.line,
            name=line.name,
            size=line.size,
            ordinal=line.ordinal,
            launches=self._sites.launches.get(line.site),
            what=what,
            argument=argument,
            was=was and _as_hlo(was),
            now=now and _as_hlo(now),
            dynamic=line.dynamic,
            aborts=line.aborts,
            hint=line.hint or None,
            used_file=used.file,
            used_line=used.line,
            used_function=used.function,
            site=line.site,
        )

    def finish(self) -> Gathered:
        """Return the tables, after the last line."""
        stopped, self._cuts = self._cuts, {}
        for cuts in stopped.values():
            self._step(Tail(**msgspec.structs.asdict(cuts)))
        for line in self._breaks:
            self._break(line)
        split = () if self._sites.parts is None else ("graph_break", "compile_limit")
        for table in ("upload", "state_save", "outlier", "cut", *split):
            self._rows.table(table)
        for thread, barriers in self._barriers.items():
            sequences = np.asarray(barriers).T
            self._rows.add(
                "step_period",
                process=self._process,
                thread=thread,
                barriers=barriers_a_step(*sequences),
            )
        for rows in (self._rows, self._times):
            rows.replace("site", lambda index: self._sites[index].columns())
        self.logged.compile_times = self._times.table("compilation")
        return self._rows


def extend_tail(
    process: int, began_ns: int, ended_ns: int, compile_ns: int, ingested: Ingested
) -> None:
    """Add the last compilation of a program that was stopped to its main thread's tail and cuts.

    Args:
        began_ns: when the last line of the log ended.
        ended_ns: when the program did.
        compile_ns: how long the compilation took until then.
    """
    steps = ingested.tables["step"]
    own = [
        row
        for row, (owner, main, tail) in enumerate(
            zip(*(steps.get(name, ()) for name in ("process", "main", "tail")), strict=True)
        )
        if owner == process and main and tail
    ]
    thread = steps["thread"][own[-1]] if own else None
    reader = _StepLogReader(CallSites(), process)
    reader.take(
        Cut(
            thread=thread,
            main=True,
            index=0,
            end_ns=ended_ns,
            duration_ns=ended_ns - began_ns,
            compile_ns=compile_ns,
        )
    )
    rows = reader.finish()
    rows.move(ingested, "cut")
    if own:
        steps["end_ns"][own[-1]] = ended_ns
        steps["duration_ns"][own[-1]] += ended_ns - began_ns
        steps["compile_ns"][own[-1]] += compile_ns
        return
    rows.move(ingested, "step")


def _not_of_loops(launches: Iterable[Launches]) -> frozenset[int | None]:
    """Find sites that ended steps before the main loop was found, and whose work is negligible."""
    loops = [(count * work, work, site) for site, count, work, steps in launches if steps]
    most, main, _ = max(loops, key=lambda loop: loop[0], default=(0.0, 0.0, None))
    return frozenset(
        site
        for total, work, site in loops
        if work < LEAST_OF_STEP * main and total < LEAST_OF_STEP * most
    )


def _memory(memory: Mapping[str, int] | None) -> int | None:
    """Bytes of the device that a graph takes with its arguments and results."""
    if memory is None:
        return None
    argument, output, temp, alias = (memory.get(name, 0) for name in _MEMORY)
    return argument + output + temp - alias


def _as_hlo(text: str) -> str:
    """The type of an argument as HLO text writes it: ``float32[8,64]`` is ``f32[8,64]``."""
    dtype, bracket, sizes = text.partition("[")
    return f"{_HLO_TYPES[dtype]}[{sizes}" if bracket and dtype in _HLO_TYPES else text


def _parts(line: Part) -> dict[str, int]:
    """Sum up nanoseconds by part of the step, for the columns of ``step`` and ``cut``."""
    reads, uploads, saves = line.reads, line.uploads, line.saves
    return {
        "compile_ns": line.compile_ns,
        "barrier_ns": line.barrier_ns,
        "read_ns": sum([max(0, row[4] - row[5]) for row in reads]) if reads else 0,
        "input_ns": line.input[1],
        "upload_ns": sum([row[3] for row in uploads]) if uploads else 0,
        "save_ns": sum([row[2] for row in saves]) if saves else 0,
    }


def _updates(line: Part) -> int:
    """Count the updates of the optimizer that stepped most often."""
    return max([count for _, count in line.optimizers]) if line.optimizers else 0


#: What identifies a row of these lists; the other values add up.
_KEYS = {"reads": 3, "uploads": 1, "saves": 1, "optimizers": 1}
_SUMS = (
    "duration_ns",
    "steps",
    "barrier_ns",
    "compile_ns",
    "capture_ns",
    "executions",
    "compilations",
    "launches",
)


def _sum(cuts: Cut, line: _Part) -> _Part:
    """Add up the cuts of a step and the line after them; the sum ends where that line ends."""
    total: dict[str, Any] = {name: getattr(cuts, name) + getattr(line, name) for name in _SUMS}
    for name, keys in _KEYS.items():
        rows: dict[tuple[Any, ...], list[int]] = {}
        for row in (*getattr(cuts, name), *getattr(line, name)):
            values = rows.setdefault(tuple(row[:keys]), [0] * (len(row) - keys))
            values[:] = [known + new for known, new in zip(values, row[keys:], strict=True)]
        total[name] = tuple((*key, *values) for key, values in rows.items())
    total["input"] = tuple(map(sum, zip(cuts.input, line.input, strict=True)))
    for name in ("counters", "fallbacks"):
        counts = dict(getattr(cuts, name))
        for key, value in getattr(line, name).items():
            counts[key] = counts.get(key, 0) + value
        total[name] = counts
    return msgspec.structs.replace(
        line,
        **total,
        log=line.log or cuts.log,
        traced=line.traced or cuts.traced,
        probed=line.probed or cuts.probed,
    )


def barriers_a_step(sites: Numbers, updates: Numbers, fed: Numbers) -> int:
    """How many barriers make up one iteration.

    Args:
        sites: call site of each barrier, in order.
        updates: optimizer steps before each barrier.
        fed: whether new input came before it. If only every 36th barrier at a line follows new
            input, those 36 form one iteration: the barrier is in an inner loop. All False for
            frameworks without barriers, whose launches end steps of the innermost loop already.

    Returns the smallest period that nine in ten barriers keep; 1 if there is none. Two barriers per
    iteration, or eight micro-batches and one update, repeat exactly; an end-of-epoch barrier among
    hundreds does not change the period of the others. A period with several updates is an epoch.
    """
    turn = _distance(fed)
    if turn > 1 and updates.mean() * turn <= _ONE_UPDATE and _keeps(turn, sites, updates):
        return turn
    for sequences in ((sites, updates), (sites,)):  # an update may be left out now and then
        for period in range(1, min(_MAX_PERIOD, len(sites) // 3) + 1):
            if _keeps(period, *sequences):
                return period if period == 1 or updates.mean() * period <= _ONE_UPDATE else 1
    return 1


def _keeps(period: int, *sequences: Numbers) -> bool:
    """Whether nine in ten barriers equal the one a period earlier, over at least three periods."""
    alike = np.all([s[period:] == s[:-period] for s in sequences], axis=0)
    return 3 * period <= len(sequences[0]) and bool(np.mean(alike) >= _PERIODIC)


def _distance(fed: Numbers) -> int:
    """Barriers between inputs, if nine in ten are equally far apart; else 0."""
    distances = np.bincount(np.diff(np.flatnonzero(fed)), minlength=1)
    most = int(distances.argmax())
    return most if distances[most] >= _PERIODIC * max(1, distances.sum()) else 0
