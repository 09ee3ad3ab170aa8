"""Why a call site compiled again: its graph compared with the most similar one before it.

The sources, the better first: both modules, where the timeline's window covered the compilations;
a shape that the program sent to the device for the first time in the very step that compiled; the
numbers of inputs and outputs in the analysis log. What none of them shows is unknown.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from xladoctor.causes import cause
from xladoctor.causes.changes import (
    Change,
    InputChanges,
    differing,
    inputs,
    moved,
    operations,
    with_origins,
)
from xladoctor.causes.graphs import Graph, Graphs, Parameter, Place
from xladoctor.causes.nearest import Nearest
from xladoctor.causes.patterns import add_patterns
from xladoctor.evidence.database import Database
from xladoctor.evidence.interface import Evidence, Period
from xladoctor.ingest.interface import Columns

Row = dict[str, Any]
_COLUMNS = ("process", "index", "against", "kind", "basis", "parameter", "was", "now", "dimension",
            "value", "op", "role", *Place._fields, "pattern", "seen",
            "possible")  # fmt: skip
_CHANGE_COLUMNS = ("process", "index", "nth", "nature", *Place._fields, "op", "was",
                   "now", "was_count", "now_count")  # fmt: skip
_MOST_CHANGES = 40  # operations that are kept of one compilation
_MOSTLY = 0.8  # of the steps with a new shape, that compile
_MOST_UNKNOWN = 20  # of which the first difference is looked for, instruction by instruction
_ALONGSIDE_NS = 1_000_000_000  # two threads that meet a graph this close together compile it each


def derive(evidence: Evidence, within: Period | None = None) -> Evidence:
    """The evidence with the causes of its compilations: complete, as rules and queries see it.

    ``recompilation`` gets a row for each compilation after the first of its call site.

    Args:
        within: the part of the run that will be judged, if not all of it.
    """
    database = evidence.database
    if within:
        database.insert("judged_part", {"begin_ns": [within.begin_ns], "end_ns": [within.end_ns]})
    compared = _Comparison(database)
    for table, columns, rows in (("recompilation", _COLUMNS, compared.rows),
                                 ("graph_change", _CHANGE_COLUMNS, compared.changes)):  # fmt: skip
        database.insert(table, _columns(columns, rows))
    database.create_views("derived")
    derived = {"recompilation", "graph_change"} if "compilation" in evidence.available else set()
    return replace(evidence, available=evidence.available | derived)


def _columns(names: tuple[str, ...], rows: list[Row]) -> Columns:
    return {name: [row.get(name) for row in rows] for name in names}


@dataclass(slots=True)
class _Site:
    """What a call site compiled so far."""

    compiled: list[Row] = field(default_factory=list)
    numbers: set[str | None] = field(default_factory=set)


class _Comparison:
    """The compilations of the evidence, each with what came before it at its call site."""

    def __init__(self, database: Database) -> None:
        self._graphs = Graphs(database)
        self._nearest = Nearest(self._graphs)
        self._uploads = _uploads(database)
        self._dynamic = _dynamic(database)
        self._sent_in = _sent_in(database)
        self._first_sent = {
            (row["process"], row["dtype"], tuple(row["shape"])): row["step"]
            for row in database.rows("SELECT * FROM transfer ORDER BY step DESC")
        }
        self._kinds: dict[Any, list[set[Any]]] = defaultdict(list)
        self._unknown = 0
        self.rows: list[Row] = []
        self.changes: list[Row] = []
        sites: dict[Any, _Site] = defaultdict(_Site)
        by_hash: dict[Any, Row] = {}
        pairs: list[tuple[Row, Row]] = []
        compiled = database.rows("SELECT * FROM compilation ORDER BY process, index")
        self._compiling = {(row["process"], row["step"]) for row in compiled}
        for row in compiled:
            site = sites[_site_of(row)]
            graph = self._graph(row)
            if graph:
                self._kinds[_site_of(row)].append({one.kind for one in graph.parameters})
            hashed = row["process"], row["graph_hash"]
            again = by_hash.get(hashed) if row["graph_hash"] else None
            by_hash[hashed] = row
            if again is not None:
                self._add(row, _compiled_before(row, again))
            elif site.compiled:
                old = self._nearest.of(row, site.compiled)
                if old is not None:
                    pairs.append((old, row))
                else:
                    found = _by_upload(row, self._uploads, self._compiling)
                    self._add(row, found or _by_log(row, site) or {"kind": "unknown"})
            site.compiled.append(row)
            site.numbers.add(cause.number_of(row))
        self._describe(pairs)
        for old, row in pairs:
            self._add(row, {"against": old["index"], **self._by_graph(row, old)})
        self._name_users()
        self.rows.sort(key=lambda row: (row["process"], row["index"]))
        add_patterns(
            self.rows, [site.compiled for site in sites.values()], self._size, _periods(database)
        )
        self._place_growth()

    def _add(self, row: Row, found: Row) -> None:
        self.rows.append({"process": row["process"], "index": row["index"], **found})

    def _size(self, row: Row) -> int | None:
        graph = self._graph(row)
        return graph.size if graph else None

    def _name_users(self) -> None:
        """Name the operation that a changing number goes into, where the number says none."""
        nameless = [
            row
            for row in self.rows
            if row["kind"] == "constant" and row.get("file") and not row.get("op")
        ]
        if not nameless:
            return
        users = self._graphs.users_of_numbers()
        for row in nameless:
            row["op"] = users.get((row["process"], row["program"], row["file"], row["line"]))

    def _place_growth(self) -> None:
        """A graph that grows has the line of the first operation that there is more of."""
        first: dict[Any, Row] = {}
        for change in self.changes:
            if change["file"] and change["now_count"] > change["was_count"]:
                first.setdefault((change["process"], change["index"]), change)
        for row in self.rows:
            more = first.get((row["process"], row["index"]))
            if row["kind"] == "growing" and more:
                row.update({name: more[name] for name in (*Place._fields, "op")}, role="used")

    def _describe(self, pairs: list[tuple[Row, Row]]) -> None:
        """Fetch at once what the tokens say in which any pair differs."""
        self._differing = {}
        wanted: set[int] = set()
        for old, new in pairs:
            a, b = self._graph(old), self._graph(new)
            if a and b:
                found = differing(a.tokens, b.tokens)
                self._differing[new["process"], new["index"]] = found
                wanted.update(found.keys.tolist())
        self._described = self._graphs.describe(wanted)

    def _graph(self, row: Row) -> Graph | None:
        return self._graphs.get(row["process"], row["graph_hash"])

    def _by_graph(self, row: Row, old: Row) -> Row:
        before, after = self._graph(old), self._graph(row)
        assert before is not None  # noqa: S101 - Nearest chose
        assert after is not None  # noqa: S101 - both so
        changed = inputs(before, after, self._together(row))
        tokens = self._differing[row["process"], row["index"]]
        changes = operations(before, after, tokens, self._described)
        self._keep(row, changes)
        if moved(tokens, self._described):
            changes = []
        found = cause.by_placement(before, after, "sharding") or self._input(row, changed)
        if found is None:
            changes = self._with_origins(changes, before, after)
            found = (
                cause.by_operations(before, after, changed, changes)
                or cause.by_counts(row, old, changed, changes)
                or cause.by_the_rest(before, after, changes)
            )
        if found["kind"] == "unknown" and self._unknown < _MOST_UNKNOWN:
            self._unknown += 1
            found |= self._graphs.first_difference(before, after)
        return {"basis": "hlo", "program": after.program, **found}

    def _was_there(self, row: Row, parameter: Parameter) -> bool:
        """Whether it was sent to the device more than a step before: a weight, not a batch."""
        if row["step"] is None:
            return False
        if not parameter.sent:
            sent = self._first_sent.get((row["process"], parameter.type, parameter.shape))
            return sent is not None and sent < row["step"] - 1
        sent_in = self._sent_in.get((row["process"], *parameter.place[:2]))
        if not sent_in or {thread for thread, _ in sent_in} != {row["thread"]}:
            return False
        return not {row["step"], row["step"] - 1} & {step for _, step in sent_in}

    def _with_origins(self, changes: list[Change], before: Graph, after: Graph) -> list[Change]:
        return with_origins(changes, lambda spots: self._graphs.made_of(before, after, spots))

    def _together(self, row: Row) -> Callable[[Any, Any], bool]:
        """Whether a graph of the same call site has inputs of both kinds."""
        graphs = self._kinds[_site_of(row)]
        return lambda a, b: any(a in kinds and b in kinds for kinds in graphs)

    def _keep(self, row: Row, changes: list[Change]) -> None:
        for nth, change in enumerate(changes[:_MOST_CHANGES]):
            values = change._asdict()
            texts = {side: "\n".join(values.pop(side)[:8]) or None for side in ("was", "now")}
            for name in ("order", "spot", "origin", "makes"):
                del values[name]
            values |= values.pop("place")._asdict()
            self.changes.append({"process": row["process"], "index": row["index"], "nth": nth,
                                 **values, **texts})  # fmt: skip

    def _input(self, row: Row, changed: InputChanges) -> Row | None:
        """An input of another shape or type: one that the host sent first, else one with a line."""
        if not changed.changed:
            return None
        pairs = [pair for pair in changed.changed if not self._was_there(row, pair[1])]
        for old, new in changed.changed:
            if (old, new) not in pairs:  # another tensor, not the same in another size
                changed.removed.append(old)
                changed.added.append(new)
        changed.changed[:] = pairs
        if not pairs:
            return None
        dynamic = self._dynamic[row["process"]]
        located = [pair for pair in changed.changed if pair[1].place.file]
        sent = [pair for pair in located if pair[1].place[:2] not in dynamic]
        by_host = [pair for pair in sent if pair[1].sent]
        before, after = (by_host or sent or located or changed.changed)[0]
        dependent = not sent and (bool(located) or len(dynamic) == 1)
        found = cause.input_changed(
            before, after, "data_dependent_shape" if dependent else "input_shape"
        )
        if dependent and not located:  # the only operator that it can come from
            found |= dict(zip(Place._fields, next(iter(dynamic)), strict=False))
        return found


def _periods(database: Database) -> dict[Any, int]:
    rows = database.rows("SELECT * FROM step_period")
    return {(row["process"], row["thread"]): row["barriers"] for row in rows}


def _sent_in(database: Database) -> dict[Any, set[tuple[int, int]]]:
    """By process and line, the threads and steps in which something was sent to the device."""
    sent: dict[Any, set[tuple[int, int]]] = defaultdict(set)
    for row in database.rows("SELECT process, file, line, thread, step FROM upload"):
        sent[row["process"], row["file"], row["line"]].add((row["thread"], row["step"]))
    return sent


def _dynamic(database: Database) -> dict[int, set[Any]]:
    """By process, the lines of operators whose result is as large as the data say."""
    lines: dict[int, set[Any]] = defaultdict(set)
    for row in database.rows("SELECT * FROM fallback WHERE sizes_by_data(op)"):
        lines[row["process"]].add((row["file"], row["line"]))
    return lines


def _site_of(row: Row) -> tuple[Any, ...]:
    return row["process"], row["file"], row["line"], row["via"], row["cause"]


def _by_log(row: Row, site: _Site) -> Row | None:
    """From the analysis log alone: other numbers than any graph before had."""
    numbers = cause.number_of(row)
    if numbers is None or None in site.numbers or numbers in site.numbers:
        return None
    old = site.compiled[-1]
    return {
        "kind": "input_count",
        "basis": "log",
        "against": old["index"],
        **cause.numbers(old, row),
    }


def _compiled_before(row: Row, old: Row) -> Row:
    """The very graph was compiled before: thrown away meanwhile, or by two threads at once."""
    base = {"against": old["index"], "basis": "hash"}
    if row["step"] is not None and row["step"] == old["step"] and _alongside(row, old):
        return {**base, "kind": "placement", "op": "thread"}
    return {**base, "kind": "evicted"}


def _alongside(row: Row, old: Row) -> bool:
    """Whether another thread compiled it, or it was compiled right after or meanwhile."""
    if None not in (row["thread"], old["thread"]) and row["thread"] != old["thread"]:
        return True
    if row["end_ns"] is None or old["end_ns"] is None:
        return False
    return bool(row["end_ns"] - old["end_ns"] <= (row["duration_ns"] or 0) + _ALONGSIDE_NS)


def _uploads(database: Database) -> dict[Any, list[Row]]:
    """What each call site sent to the device, in the order of first sight."""
    sites: dict[Any, list[Row]] = defaultdict(list)
    for row in database.rows("SELECT * FROM transfer WHERE direction = 'to_device' ORDER BY rowid"):
        sites[row["process"], row["thread"], row["file"], row["line"]].append(row)
    return sites


def _by_upload(row: Row, uploads: dict[Any, list[Row]], compiling: set[Any]) -> Row | None:
    """A shape first sent in the step that compiled, at a site that had sent another before.

    Only where the new shapes of that site go along with compiling: what is sent, but is no part of
    the graph, brings new shapes in steps that compile nothing.
    """
    for (process, thread, _, _), sent in uploads.items():
        if (process, thread) != (row["process"], row["thread"]):
            continue
        fresh = {upload["step"] for upload in sent} - {sent[0]["step"]}
        if len([step for step in fresh if (process, step) in compiling]) < _MOSTLY * len(fresh):
            continue
        for position, upload in enumerate(sent):
            if upload["step"] != row["step"]:
                continue
            alike = [old for old in sent[:position] if old["step"] < upload["step"]
                     and len(old["shape"]) == len(upload["shape"])
                     and old["dtype"] == upload["dtype"]]  # fmt: skip
            if alike:
                found = cause.input_changed(_sent(alike[-1]), _sent(upload), "input_shape")
                return {**found, "parameter": None, "basis": "upload"}
    return None


def _sent(upload: Row) -> Parameter:
    place = Place(*(upload[name] for name in Place._fields))
    return Parameter(0, upload["dtype"], tuple(upload["shape"]), None, place, sent=True)
