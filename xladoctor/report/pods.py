"""A job's processes on one page: who is alike, who is not, and a map of all of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rich.console import Group, RenderableType
from rich.text import Text

from xladoctor.diagnosis.pod import Pod, PodGroup, name_of_slice
from xladoctor.quantities import duration, first_few
from xladoctor.report.interface import Style
from xladoctor.report.text import FOLDED, NUMBERS, Hanging, grid, headed, plain, styled

#: Share of a step; parts that no group spends more on are not shown.
_SHOWN = 0.02
_MOST_GROUPS = 8
_FEW = 3  # processes of which no map is drawn
#: A cell of the map by its share of a step: from the first of these on, the next is drawn.
_SHADES = (0.02, 0.1, 0.25, 0.5)
_BLOCKS, _ASCII = " ░▒▓█", " .:+#"
_LABEL = 11


def parts_of(pod: Pod) -> list[str]:
    """The parts that are worth a column."""
    return [
        part
        for part in pod.parts
        if any(group.parts[part] >= _SHOWN * pod.step_ms for group in pod.groups)
    ]


def groups_of(pod: Pod) -> list[PodGroup]:
    """The groups that have a line of their own, the largest."""
    return pod.groups[:_MOST_GROUPS]


def name_of(group: PodGroup) -> str:
    """What a group is called: its slice or its processes, or how many they are."""
    names = group.processes
    if group.differs and group.slice is not None:
        return name_of_slice(group.slice, len(names))
    if not group.differs and len(names) > 1:
        return f"{len(names)} alike"
    return first_few(names)


def facts(pod: Pod) -> list[str]:
    """Their number, the step, and how well their clocks agree."""
    steps = max(process.steps for process in pod.processes)
    count = len(pod.processes)
    many = f"{count} processes" if count == pod.of else f"{count} of {pod.of} processes"
    said = [many, f"{steps} steps of {pod.step_ms:.1f} ms on average"]
    if pod.error_ms is not None:
        said.append(f"clocks within {duration(pod.error_ms / 1e3)}")
    if pod.matched_by_time:
        said.append("steps have no common numbers: matched by the time at which they ended")
    if pod.left_out:
        said.append(f"{len(pod.left_out)} left out")
    return said


class Map(NamedTuple):
    """Shares of a step, 0 to 1: a row for each part, a column for one or more processes.

    Attributes:
        differs: by row, which columns have a process that differs from most in that part.
        each: how many processes a column stands for.
    """

    parts: list[str]
    shares: list[list[float]]
    differs: list[list[bool]]
    each: int
    first: str
    last: str


def heat_map(pod: Pod, width: int) -> Map | None:
    """The map of all processes, at most so many columns wide; None for few processes.

    Of several processes in a column, the one that is furthest from most is shown.
    """
    processes, parts = pod.processes, parts_of(pod)
    if len(processes) <= _FEW or not pod.step_ms:
        return None
    each = -(-len(processes) // max(1, width))
    columns = [processes[at : at + each] for at in range(0, len(processes), each)]
    usual = pod.groups[0].parts
    shares, differs = [], []
    for part in parts:
        shown = [
            max(column, key=lambda process: abs(process.parts[part] - usual[part]))
            for column in columns
        ]
        shares.append([process.parts[part] / pod.step_ms for process in shown])
        differs.append(
            [
                any(part in pod.groups[process.group].differs for process in column)
                for column in columns
            ]
        )
    return Map(parts, shares, differs, each, processes[0].name, processes[-1].name)


def sections(pod: Pod | None, style: Style) -> list[RenderableType]:
    """The section of a report on a terminal, if there is one."""
    if pod is None:
        return []
    head = headed("pod", facts(pod), style)
    parts: list[RenderableType] = [head, styled(pod.summary, style), Text(), _table(pod, style)]
    if (drawn := heat_map(pod, style.width - _LABEL - 4)) is not None:
        parts += [Text(), *_drawn(drawn, style)]
    parts += [Hanging(styled(f"left out: {text}", style)) for text in pod.left_out]
    return [Group(*parts)]


def _table(pod: Pod, style: Style) -> RenderableType:
    parts = parts_of(pod)
    shown = [[Text(text, style="dim") for text in ("ms a step", *parts)]]
    for name, texts, differs in rows(pod):
        looks = ["bold yellow" if part in differs else "" for part in parts]
        shown.append([styled(name, style, "bold" if differs else ""), *map(Text, texts, looks)])
    if rest := pod.groups[_MOST_GROUPS:]:
        count = sum(len(group.processes) for group in rest)
        shown.append([Text(f"{count} in {len(rest)} more groups", style="dim")])
    return grid(shown, FOLDED, *[NUMBERS] * len(parts))


def _drawn(drawn: Map, style: Style) -> Iterator[RenderableType]:
    shades = _BLOCKS if style.unicode else _ASCII
    for part, shares, differs in zip(drawn.parts, drawn.shares, drawn.differs, strict=True):
        row = Text(f"{part:<{_LABEL}}", style="dim")
        for share, stands_out in zip(shares, differs, strict=True):
            shade = shades[sum(share >= least for least in _SHADES)]
            row.append(shade, style="not dim bold yellow" if stands_out else "not dim")
        yield row
    each = f", {drawn.each} a column" if drawn.each > 1 else ""
    percents = ", ".join(
        f"{shade} {least:.0%}" for shade, least in zip(shades[1:], _SHADES, strict=True)
    )
    key = f"{drawn.first} to {drawn.last}{each}; from {percents} of a step"
    yield Text(plain(f"{'':{_LABEL}}{key}", style), style="dim", no_wrap=False)


def rows(pod: Pod) -> Sequence[tuple[str, list[str], list[str]]]:
    """A row for each group: its name, its milliseconds by part, and the parts that differ."""
    parts = parts_of(pod)
    return [
        (name_of(group), [f"{group.parts[part]:.1f}" for part in parts], group.differs)
        for group in groups_of(pod)
    ]
