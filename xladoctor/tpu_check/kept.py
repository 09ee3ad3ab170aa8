"""The graphs that a run kept as they were before optimization, the steady step first."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

from xladoctor.evidence.database import Database
from xladoctor.evidence.load import load
from xladoctor.ingest.compressed import Unpacked
from xladoctor.ingest.regular import defect, lies_in
from xladoctor.regular_files import MESSAGE
from xladoctor.tpu_check.element_types import to_mlir
from xladoctor.tpu_check.forms import recognise
from xladoctor.tpu_check.graphs import MOST, NEEDED, Found, Graph, GraphsError
from xladoctor.warmup import WARMUP

_KEPT = """
SELECT process, kept_as, name, compilation, step, bytes, constants, replicas, partitions,
    coalesce(user_file, file) AS file, coalesce(user_line, line) AS line,
    coalesce((SELECT sum(s.barriers) FROM step AS s WHERE s.process = k.process AND NOT s.tail
        AND s.file = k.file AND s.line = k.line AND s.index >= k.step), 0)::BIGINT AS steps
FROM kept_graph AS k ORDER BY process, position
"""
#: With what its loop is known by: a call site, and a function where functions are compiled.
_COMPILED = """
SELECT process, index, ordinal, coalesce(launches, ordinal + 1) AS launches,
    (thread, file, line, user_file, user_line, via, CASE WHEN cause LIKE 'jit(%' THEN cause END)
        ::VARCHAR AS loop
FROM compilation ORDER BY process, index
"""
#: Of compiled graphs, the types of parameters that results may overwrite.
_DONATED = """
SELECT c.process, c.index, list(p.type ORDER BY p.number) AS types,
    list(p.shape ORDER BY p.number) AS shapes
FROM compilation AS c
    JOIN hlo_module AS m ON m.process = c.process AND m.graph_hash = c.graph_hash
    JOIN hlo_parameter AS p ON p.process = m.process AND p.program_id = m.program_id
        AND list_contains(m.donated, p.number)
GROUP BY ALL
"""
#: Which packages decide about the compiler; torch_xla pins libtpu, as JAX does.
_VERSIONS = """
SELECT process, package, version FROM version
WHERE package IN ('jax', 'jaxlib', 'libtpu', 'libtpu (pinned)', 'torch_xla') ORDER BY ALL
"""
_WHY = "SELECT DISTINCT no_graphs, graphs_left_out FROM process"


Role = Literal["recurs", "late", "once", "warm-up"]


class _Ran(NamedTuple):
    """What became of a compiled graph.

    Attributes:
        role: in its loop: ``late`` if another graph recurred before it was compiled, ``warm-up`` if
            one did afterwards.
        launches: how often it ran until its loop compiled another one; what ran later may be
            either.
    """

    role: Role
    launches: int


@dataclass(frozen=True, slots=True)
class _Kept:
    """A graph in the index of a run.

    Attributes:
        row: of the index.
        donated: types of the parameters that it may overwrite, of a graph of several functions.
    """

    row: dict[str, Any]
    ran: _Ran
    donated: tuple[str, ...] = ()

    @property
    def work(self) -> int:
        """A measure of how much it matters in the program."""
        return self.ran.launches * int(self.row["bytes"])

    @property
    def name(self) -> str:
        """What people know it by: the function, else the line."""
        return self.row["name"] or self.place or "graph"

    @property
    def place(self) -> str:
        """The line that launches it; empty if that is not known."""
        file, line = self.row["file"], self.row["line"]
        return f"{Path(file).name}:{line}" if file else ""

    def role(self, *, steady: bool) -> str:
        """Its part in the program."""
        part = {
            "recurs": "the steady step" if steady else "",
            "late": f"compiled late, in step {self.row['step']}",
        }.get(self.ran.role, "")
        place = self.place if self.place != self.name else ""
        return ", ".join(filter(None, [place, part]))


def kept_graphs(run: Path, most: int = MOST, *, by_size: bool = False) -> Found:
    """The graphs that a run kept: those that recur, the most work first, then late compilations.

    What a loop compiled while it warmed up is left out. If none recurs, the largest are first. Of
    several processes, one speaks for all.

    Args:
        run: a run directory.
        most: how many to compile at most.
        by_size: whether the largest of those that recur come first, as where the program ended
            after a few steps.

    Raises:
        GraphsError: it kept none, or none of them can be read.
        IngestError: it is damaged.
    """
    evidence = load(str(run))
    database = evidence.database
    kept = _kept(database)
    if not kept:
        raise GraphsError(f"{run}: has no graph before optimization: {_why_none(database)}", NEEDED)
    notes: list[str] = []
    recur = [each for each in kept if each.ran.role == "recurs"]
    if recur:
        recur.sort(key=lambda each: -(each.row["bytes"] if by_size else each.work))
        late = [each for each in kept if each.ran.role == "late"]
        kept = [*recur, *sorted(late, key=lambda each: -each.row["bytes"])]
    else:
        notes.append("no graph runs in a loop; the largest comes first")
        kept.sort(key=lambda each: -each.row["bytes"])
    graphs, versions = list[Graph](), defaultdict[int, dict[str, str]](dict)
    for process, package, version in map(dict.values, database.rows(_VERSIONS)):
        versions[process][package] = version
    for each in kept:
        graph = _read(run, each, notes, steady=not graphs and bool(recur))
        if graph is not None:
            known = versions[each.row["process"]]
            graphs.append(replace(graph, frontend=evidence.frontend, versions=known))
    if not graphs:
        raise GraphsError([f"{run}: no graph before optimization can be read", *notes], NEEDED)
    return Found(tuple(graphs[:most]), tuple(graphs[most:]), tuple(notes))


def _kept(database: Database) -> list[_Kept]:
    """The graphs of the process in which they did the most work."""
    ran, donated = _ran(database), _donated(database)
    of_process = defaultdict[int, list[_Kept]](list)
    for row in database.rows(_KEPT):
        process, steps = row["process"], row["steps"]
        number = process, row["compilation"]
        recurs: Role = "recurs" if steps >= WARMUP else "once"
        known = ran.get(number, _Ran(recurs, max(1, steps)))
        of_process[process].append(_Kept(row, known, donated.get(number, ())))
    return max(of_process.values(), key=lambda kept: sum(each.work for each in kept), default=[])


def _ran(database: Database) -> dict[tuple[int, int], _Ran]:
    """What became of each compilation, by process and number."""
    loops = defaultdict[tuple[int, str], list[dict[str, Any]]](list)
    for row in database.rows(_COMPILED):
        loops[row["process"], row["loop"]].append(row)
    found = dict[tuple[int, int], _Ran]()
    for (process, _), compiled in loops.items():
        ends = [*(row["ordinal"] or 0 for row in compiled[1:]), compiled[-1]["launches"] or 1]
        counts = [
            max(1, end - (row["ordinal"] or 0)) for row, end in zip(compiled, ends, strict=True)
        ]
        first = next((n for n, count in enumerate(counts) if count >= WARMUP), None)
        for number, (row, count) in enumerate(zip(compiled, counts, strict=True)):
            role: Role = "once"
            if first is not None:
                role = "recurs" if number == first else "late" if number > first else "warm-up"
            found[process, row["index"]] = _Ran(role, count)
    return found


def _donated(database: Database) -> dict[tuple[int, int], tuple[str, ...]]:
    """The types of the parameters that each compiled graph may overwrite, as MLIR writes them."""
    found = dict[tuple[int, int], tuple[str, ...]]()
    for row in database.rows(_DONATED):
        types = zip(row["types"], row["shapes"], strict=True)
        found[row["process"], row["index"]] = tuple(_tensor(*each) for each in types)
    return found


def _tensor(element: str, shape: list[int]) -> str:
    """``tensor<8x64xf32>`` of ``f32[8,64]``."""
    return f"tensor<{'x'.join([*map(str, shape), to_mlir(element)])}>"


def _why_none(database: Database) -> str:
    rows = database.rows(_WHY)
    reasons = [str(row["no_graphs"]) for row in rows if row["no_graphs"]]
    if any(row["graphs_left_out"] for row in rows):
        reasons.append("those that were compiled are larger than --graph-bytes")
    return "; ".join(reasons) or "the program compiled none while it was recorded"


def _read(run: Path, kept: _Kept, notes: list[str], *, steady: bool) -> Graph | None:
    """A graph's content; None, with a note, if it cannot be read."""
    row = kept.row
    file = run / row["kept_as"]
    damage: str | None = None
    content = b""
    try:
        if lies_in(file, run):
            with Unpacked(file, MESSAGE) as source:
                content = source.readall()
                damage = source.damage
        else:
            damage = "is gone, or not a plain file"
    except (OSError, EOFError, ValueError) as error:
        damage = f"cannot be read: {defect(error)}"
    graph = recognise(content) if damage is None else None
    if graph is None or graph.form != "stablehlo" or len(content) != row["bytes"]:
        notes.append(f"{file}: {damage or 'is no longer a graph'}")
        return None
    if row["constants"]:
        size = row["constants"] / 1e6
        notes.append(f"{file}: constants of {size:.3g} MB were not kept, and take no memory here")
    launches = kept.ran.launches if kept.ran.role == "recurs" else None
    replicas, partitions = row["replicas"], row["partitions"]
    return Graph(
        kept.name,
        content,
        graph.form,
        file,
        replicas,
        partitions,
        launches,
        donated=kept.donated,
        role=kept.role(steady=steady),
    )
