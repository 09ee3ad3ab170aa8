"""The compilations of a run, one by one, each with its cause; then their call sites."""

from __future__ import annotations

from functools import partial
from typing import TextIO

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from xladoctor.evidence.row import Row
from xladoctor.quantities import counted
from xladoctor.report.interface import Style
from xladoctor.report.text import FittedText, inset, plain, shortened, styled, write
from xladoctor.repository import short

_NARROW = 64  # columns; below them a cause stands under its compilation
_KINDS = {
    "data_dependent_shape": "data-dependent shape",
    "constant": "number",
    "input_count": "number of inputs",
    "growing": "growing graph",
}
_PLACEMENT = {"thread": "two threads compiled it at once", "donated": "donated inputs"}
_LONGEST = 40  # letters of a value


def render(rows: list[Row], shown: int, sites: list[Row], output: TextIO, style: Style) -> None:
    """Write the first ``shown`` of the compilations, then all call sites; both as in the JSON."""
    several = len({row["process"] for row in rows}) > 1
    write(
        [
            _heading(rows, sites),
            Text(),
            *_list(rows[:shown], several, style),
            Text(),
            *_sites(sites, several, style),
            *_hint(rows),
        ],
        output,
        style,
    )


def seconds(value: float | None) -> str:
    """Seconds to the millisecond, ``?`` where not known."""
    return "?" if value is None else f"{value:.3f}"


def place(row: Row, room: int, style: Style) -> str:
    """A line as ``train.py:41``, with the user's line where it is a library's.

    A path that is longer than ``room`` loses its first folders.
    """
    if not row["file"]:
        return "an unknown line"
    text = shortened(f"{short(row['file'])}:{row['line']}", room - bool(row["user_file"]), style)
    if row["user_file"]:
        caller = f"{row['user_file']}:{row['user_line']}"
        text += f", called from {shortened(caller, room - len('called from '), style)}"
    return text


def _heading(rows: list[Row], sites: list[Row]) -> Text:
    text = f"{counted(len(rows), 'compilation')} at {counted(len(sites), 'call site')}"
    names = ("seconds", "seconds_after_warmup")
    known, late = (sum(site[name] or 0.0 for site in sites) for name in names)
    if any(site["seconds"] is not None for site in sites):
        text += f": {seconds(known)} s, {seconds(late)} s of it after warm-up"
    return Text(text, style="bold")


def _list(rows: list[Row], several: bool, style: Style) -> list[RenderableType]:
    names = [*["process"] * several, "no", "step", "seconds", "", "graph", "vs"]
    texts = [FittedText(partial(_cause, row, style=style)) for row in rows]
    parts = _listed(names, "cause", [_cells(row, several) for row in rows], texts, style)
    if any(row["warmup"] for row in rows):
        parts.append(Text("w: warm-up, the first three runs of a call site", style="dim"))
    return parts


def _cells(row: Row, several: bool) -> list[str]:
    against = (row["cause"] or {}).get("against")
    return [
        *[str(row["process"])] * several,
        str(row["index"]),
        "?" if row["step"] is None else str(row["step"]),
        seconds(row["seconds"]),
        "w" * row["warmup"],
        (row["graph_hash"] or "?")[:8],
        "" if against is None else str(against),
    ]


def _cause(row: Row, room: int, style: Style) -> Text:
    """The phrase and its line, on one line where there is room."""
    if row["cause"] is None:
        return styled(f"first at {place(row, room - len('first at '), style)}", style)
    what, where = phrase(row["cause"]), _where(row["cause"], room, style)
    text = styled(what, style)
    if where and len(what) + len(where) + len(" ()") <= room:
        text.append(plain(f" ({where})", style), style="dim")
    elif where:
        text.append("\n").append(plain(where, style), style="dim")
    return text


def _listed(
    names: list[str], last: str, cells: list[list[str]], texts: list[FittedText], style: Style
) -> list[RenderableType]:
    """Columns of numbers, then one of texts; a text goes below its numbers where it is narrow."""
    rows = list(zip(cells, texts, strict=True))
    if style.width < _NARROW:
        pairs = ((_labelled(names, row), inset(text, 4)) for row, text in rows)
        return [part for pair in pairs for part in pair]
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for name in names:
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column(last, overflow="fold")
    for row, text in rows:
        table.add_row(*row, text)
    return [table]


def _labelled(names: list[str], cells: list[str]) -> Text:
    """A row on a line of its own, each value behind its name."""
    parts = [
        Text.assemble((name, "dim"), " " * bool(name), cell)
        for name, cell in zip(names, cells, strict=True)
        if cell
    ]
    return Text(" ").join(parts)


def _sites(sites: list[Row], several: bool, style: Style) -> list[RenderableType]:
    names = [*["process"] * several, "compiled", "graphs", "seconds", "after warm-up"]
    cells = [
        [
            *[str(site["process"])] * several,
            str(site["compilations"]),
            str(site["graphs"]),
            seconds(site["seconds"]),
            seconds(site["seconds_after_warmup"]),
        ]
        for site in sites
    ]
    texts = [FittedText(partial(_site, site, style=style)) for site in sites]
    return _listed(names, "call site", cells, texts, style)


def _site(site: Row, room: int, style: Style) -> Text:
    via = f" ({site['via']})" if site["via"] else ""
    text = styled(place(site, room - len(via), style), style)
    text.append(plain(via, style), style="dim")
    for kind, count in site["kinds"].items():
        name = _KINDS.get(kind, kind.replace("_", " "))
        text.append("\n").append(plain(f"{count} × {name}", style), style="dim")
    return text


def _hint(rows: list[Row]) -> list[RenderableType]:
    """How to see two graphs side by side: the last that was compared with another."""
    there = {(row["process"], row["index"]): row for row in rows if row["in_timeline"]}
    graphs = {key: row["graph_hash"] for key, row in there.items()}
    for (process, index), graph in reversed(graphs.items()):
        against = (there[process, index]["cause"] or {}).get("against")
        if graphs.get((process, against), graph) != graph:
            return [Text(), Text(f"two graphs side by side: --diff {against} {index}", style="dim")]
    return []


# Causes in words


def phrase(cause: Row) -> str:
    """Why a call site compiled again, in a few words, without the line."""
    if cause["basis"] == "key" and cause["kind"] == "constant":
        return f"static argument {cause['was'] or 'none'} → {cause['now'] or 'none'}"
    was, now = (_cut(cause[side]) for side in ("was", "now"))
    op, same = cause["op"], "connected differently" if was and now else "same after optimization"
    change = f" {was} → {now}" if was and now else ""
    texts = {
        "input_shape": f"shape of {op}{change}" if op else f"input shape{change}",
        "data_dependent_shape": f"data-dependent shape{change}",
        "input_type": f"input type{change}",
        "constant": _number(cause, change),
        "operations": f"operations: {_operation(cause, change)}",
        "input_count": _numbers(cause["was"], cause["now"]),
        "leftover": f"left over from below the barrier{f': {op}' if op else ''}",
        "growing": f"grows: {op}" if op else "grows",
        "placement": f"placement: {_PLACEMENT.get(op, op)}{change}",
        "evicted": f"evicted: same graph as {cause['against']}",
        "function": "the function is another object",
        "member": "an object of the module is another one",
        "weak_type": f"a Python number {'now' if cause['now'] == 'True' else 'no more'}",
        "configuration": f"configuration{change}",
        "unknown": f"unknown: {same if cause['basis'] == 'hlo' else 'not in the timeline'}",
    }
    return texts.get(cause["kind"], str(cause["kind"]))


def _cut(text: str | None) -> str:
    return f"{text[:_LONGEST]}…" if text and len(text) > _LONGEST else text or ""


def _number(cause: Row, change: str) -> str:
    of = f" of {cause['op']}" if cause["op"] else ""
    if "input" in (cause["was"], cause["now"]):
        return f"number{of}, {cause['was']} → {cause['now']}"
    return f"number{change}{of}" if change else f"number{of}, simplified by XLA"


def _operation(cause: Row, change: str) -> str:
    op = cause["op"] or "an unnamed operation"
    if change:
        return f"{op},{change}"
    if cause["was"] or cause["now"]:
        return f"{op} is {'new' if cause['now'] else 'gone'}"
    return f"{op} with other sizes"


def _numbers(was: str | None, now: str | None) -> str:
    """``9 inputs → 10 inputs``, of inputs and outputs what differs."""
    if not was or not now:
        return "number of inputs or outputs"
    pairs = list(zip(was.split(", "), now.split(", "), strict=False))
    return ", ".join(f"{a} → {b}" for a, b in pairs if a != b) or was


def _where(cause: Row, room: int, style: Style) -> str:
    """The line that makes the difference, and the input."""
    inputs = cause["kind"] in ("input_shape", "data_dependent_shape", "input_type")
    used = "used at " if inputs and cause["role"] == "used" else ""
    number = "" if cause["parameter"] is None else f"parameter {cause['parameter']}"
    number = cause["argument"] or number
    left = room - len(used) - len(number) - 2 * bool(number)
    line = used + place(cause, left, style) if cause["file"] else ""
    return ", ".join(part for part in (line, number) if part)
