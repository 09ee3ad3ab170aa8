"""Why a call site compiled again: its graph compared with the nearest one that it compiled before.

Two sources, the better first: the entry parameters of both modules, where the timeline's window
covered the compilations; else a shape that the program sent to the device for the first time in
the very step that compiled.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from xladoctor.evidence.database import Database

_COLUMNS = ("process", "index", "kind", "basis", "parameter", "from_shape", "to_shape",
            "dimension", "value", "made_role", "made_file", "made_line",
            "made_function")  # fmt: skip

Row = dict[str, Any]


def causes(database: Database) -> dict[str, list[Any]]:
    """Columns of ``recompilation``: a row for each compilation of a site that ran before."""
    compiled = database.rows("SELECT * FROM compilation ORDER BY process, index")
    parameters = _parameters(database)
    uploads = _uploads(database)
    dynamic = {_place(row) for row in database.rows("SELECT process, file, line FROM fallback")}
    earlier: dict[Any, list[Row]] = defaultdict(list)
    found = []
    for row in compiled:
        site = (row["process"], row["file"], row["line"], row["via"], row["cause"])
        if earlier[site]:
            cause = _by_graph(row, earlier[site], parameters, dynamic) or _by_upload(row, uploads)
            found.append({"process": row["process"], "index": row["index"],
                          **(cause or {"kind": "unknown"})})  # fmt: skip
        earlier[site].append(row)
    return {column: [row.get(column) for row in found] for column in _COLUMNS}


def _parameters(database: Database) -> dict[Any, list[Row]]:
    """The entry parameters of each graph that the timeline saw compiled, in order."""
    graphs: dict[Any, list[Row]] = defaultdict(list)
    for row in database.rows(
        "SELECT * FROM hlo_parameter WHERE graph_hash IS NOT NULL ORDER BY program_id, number"
    ):
        graphs[row["process"], row["graph_hash"]].append(row)
    return graphs


def _uploads(database: Database) -> dict[Any, list[Row]]:
    """What each call site sent to the device, in the order of first sight."""
    sites: dict[Any, list[Row]] = defaultdict(list)
    for row in database.rows("SELECT * FROM transfer WHERE direction = 'to_device' ORDER BY rowid"):
        sites[row["process"], row["thread"], row["file"], row["line"]].append(row)
    return sites


def _by_graph(
    row: Row, earlier: list[Row], parameters: dict[Any, list[Row]], dynamic: set[Any]
) -> Row | None:
    """The change against the most similar earlier graph of the same site."""
    new = parameters.get((row["process"], row["graph_hash"]))
    known = [parameters.get((old["process"], old["graph_hash"])) for old in reversed(earlier)]
    candidates = [old for old in known if old]
    if new is None or not candidates:
        return None
    same_size = [old for old in candidates if len(old) == len(new)]
    if not same_size:
        old_count, new_count = (f"{len(graph)} inputs" for graph in (candidates[0], new))
        return {
            "kind": "input_count",
            "basis": "hlo",
            "from_shape": old_count,
            "to_shape": new_count,
        }
    nearest = min(same_size, key=lambda old: len(_changed(old, new)))
    changed = _changed(nearest, new)
    if not changed:
        return {"kind": "graph", "basis": "hlo"}
    located = [pair for pair in changed if pair[1]["file"]]  # the backward pass has no frames
    sent = [pair for pair in located if _place(pair[1]) not in dynamic]
    dependent = not sent and (bool(located) or bool(dynamic))
    by_host = [pair for pair in sent if pair[1]["sent"]]
    before, after = (by_host or sent or located or changed)[0]
    return _change(before, after, "hlo", "data_dependent_shape" if dependent else "input_shape")


def _changed(old: list[Row], new: list[Row]) -> list[tuple[Row, Row]]:
    return [
        (a, b)
        for a, b in zip(old, new, strict=True)
        if (a["type"], a["shape"]) != (b["type"], b["shape"])
    ]


def _place(parameter: Row) -> tuple[Any, ...]:
    return parameter["process"], parameter["file"], parameter["line"]


def _by_upload(row: Row, uploads: dict[Any, list[Row]]) -> Row | None:
    """A shape first sent in the step that compiled, at a site that had sent another before."""
    for (process, thread, _, _), sent in uploads.items():
        if (process, thread) != (row["process"], row["thread"]):
            continue
        for position, upload in enumerate(sent):
            if upload["step"] != row["step"]:
                continue
            alike = [old for old in sent[:position] if old["step"] < upload["step"]
                     and len(old["shape"]) == len(upload["shape"])
                     and old["dtype"] == upload["dtype"]]  # fmt: skip
            if alike:
                return _change(_as_parameter(alike[-1]), _as_parameter(upload), "upload",
                               "input_shape")  # fmt: skip
    return None


def _as_parameter(upload: Row) -> Row:
    return {**upload, "type": upload["dtype"], "number": None, "sent": True}


def _change(before: Row, after: Row, basis: str, kind: str) -> Row:
    old, new = before["shape"], after["shape"]
    differing = [d for d, (a, b) in enumerate(zip(old, new, strict=False)) if a != b]
    dimension = differing[0] if differing and len(old) == len(new) else None
    return {
        "kind": "input_type" if before["type"] != after["type"] else kind,
        "basis": basis, "parameter": after["number"],
        "from_shape": shape_text(before["type"], old), "to_shape": shape_text(after["type"], new),
        "dimension": dimension, "value": None if dimension is None else new[dimension],
        "made_role": "made" if after["sent"] else "used",
        "made_file": after["file"], "made_line": after["line"],
        "made_function": after["function"],
    }  # fmt: skip


def shape_text(kind: str, dimensions: list[int]) -> str:
    """A shape as HLO text writes it: ``f32[16,64]``."""
    return f"{kind}[{','.join(map(str, dimensions))}]"
