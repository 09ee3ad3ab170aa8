"""Draws some steps of the timeline, thread by thread, with what findings claim."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from xladoctor.diagnosis.finding import Claim, Finding
from xladoctor.diagnosis.pictures.interface import Lane, Span, StepPicture
from xladoctor.evidence.interface import Evidence
from xladoctor.evidence.row import Row
from xladoctor.quantities import percent
from xladoctor.warmup import WARMUP

_FINEST = 300  # stretches shorter than this part of a step are drawn together
_MOST_DEVICES, _MOST_THREADS, _MOST_DEPTHS, _MOST_FINDINGS = 4, 6, 3, 4
_LONGEST = 160  # characters of a name
_MOST_EVENTS = 1_000_000  # of larger timelines, other threads are not decoded and drawn
_WORTH_NAMING = 0.005  # share of a step above which a gap is named
_STEPS = """
    SELECT t.step, t.steady, t.begin_ns, t.duration_ns, t.compile_ns, l.steps AS of_all,
           coalesce(n.iteration, t.step) AS number,
           if(n.period > 1, (n.index - n.each + 1) % n.period + 1, NULL) AS barrier, n.period
    FROM timeline_step t
    LEFT JOIN lead l USING (process)
    LEFT JOIN numbered_step n ON n.process = l.process AND n.thread IS NOT DISTINCT FROM l.thread
         AND if(t.joined, n.index = t.step, n.begin_ns = t.begin_ns)
    WHERE t.process = $process AND t.duration_ns > 0 ORDER BY t.begin_ns
"""
_PROCESS = """
    SELECT process FROM timeline_step
    GROUP BY process ORDER BY process = (SELECT process FROM lead) DESC NULLS LAST,
             sum(duration_ns) DESC, process LIMIT 1
"""
_WITHIN = "process = $process AND {begin} < $end AND {begin} + duration_ns > $begin"


def step_pictures(evidence: Evidence, findings: Sequence[Finding]) -> list[StepPicture]:
    """A typical step, the slowest and the first that compiled; none without a timeline."""
    process = evidence.database.scalar(_PROCESS)
    if process is None:
        return []
    steps = evidence.database.rows(_STEPS, {"process": process})
    chosen: dict[int, tuple[Row, list[str]]] = {}
    for title, step in _chosen(steps):
        chosen.setdefault(step["step"], (step, []))[1].append(title)
    return [
        _Step(evidence, process, step).picture(titles, findings) for step, titles in chosen.values()
    ]


def _chosen(steps: list[Row]) -> Iterator[tuple[str, Row]]:
    if not steps:
        return
    usual = [s for s in steps if s["steady"]] or steps[WARMUP:] or steps
    usual.sort(key=lambda s: s["duration_ns"])
    some = (steps[0]["of_all"] or 0) > len({s["number"] for s in steps})
    within = " in the timeline" if some else ""
    yield f"a typical step{within}", usual[len(usual) // 2]
    yield f"the slowest step{within}", max(steps, key=lambda s: s["duration_ns"])
    if compiling := [s for s in steps if s["compile_ns"]]:
        yield f"the first step{within} that compiled", compiling[0]


class _Step:
    """A step of a process, and what the evidence has of it."""

    def __init__(self, evidence: Evidence, process: int, step: Row) -> None:
        self._evidence, self._database = evidence, evidence.database
        self._process, self._step = process, step
        self._begin, self._length = step["begin_ns"], step["duration_ns"]
        self._finest = self._length / _FINEST

    def picture(self, titles: list[str], findings: Sequence[Finding]) -> StepPicture:
        segments = self._rows(
            "SELECT activity, region, file, line, begin_ns, duration_ns FROM host_segment"
            " WHERE {within} ORDER BY segment"
        )
        lanes = [
            *self._labels(),
            Lane("loop's thread", self._drawn(segments, _activity, self._where)),
            *self._claims(segments, findings),
            *self._devices(),
        ]
        barrier = self._step["barrier"]
        events = self._database.scalar("SELECT sum(events) FROM timeline")
        left_out = None
        if events and events > _MOST_EVENTS:
            left_out = f"Other threads are not drawn: the timeline has {events:,} events."
        else:
            lanes += self._threads()
        return StepPicture(
            titles,
            self._step["number"],
            self._length,
            [lane for lane in lanes if lane.spans],
            left_out,
            f"barrier {barrier} of {self._step['period']}" if barrier else None,
        )

    def _rows(self, query: str, begin: str = "begin_ns") -> list[Row]:
        """The rows within the step, with instants relative to its beginning and cut at its ends."""
        given = {"process": self._process, "begin": self._begin, "end": self._begin + self._length}
        rows = self._database.rows(query.format(within=_WITHIN.format(begin=begin)), given)
        for row in rows:
            at = max(0, row[begin] - self._begin)
            end = min(self._length, row[begin] - self._begin + row["duration_ns"])
            row["at"], row["duration_ns"] = at, end - at
        return rows

    def _where(self, row: Row) -> str:
        what = row["region"] or row["activity"]
        at = f" at {self._evidence.shown(row['file'])}:{row['line']}" if row["file"] else ""
        return f"{what}{at}"

    def _drawn(
        self, rows: Iterable[Row], kind: Callable[[Row], str], text: Callable[[Row], str]
    ) -> list[Span]:
        """A span for each row; consecutive short ones are merged, as the longest kind."""
        spans: list[Span] = []
        short: list[Span] = []
        for row in rows:
            span = Span(row["at"], row["duration_ns"], kind(row), text(row)[:_LONGEST])
            if span.duration_ns >= self._finest:
                spans += [*_together(short), span]
                short = []
                continue
            if short and self._apart(short, span):
                spans += _together(short)
                short = []
            short.append(span)
        return [*spans, *_together(short)]

    def _apart(self, short: Sequence[Span], span: Span) -> bool:
        """Whether a span is too far from the short ones before it to be drawn with them."""
        gap = span.at_ns - short[-1].at_ns - short[-1].duration_ns
        length = span.at_ns + span.duration_ns - short[0].at_ns
        return bool(gap > self._finest or length > 4 * self._finest)

    def _labels(self) -> Iterator[Lane]:
        rows = self._rows(
            "SELECT name, path, begin_ns, duration_ns FROM region WHERE {within} ORDER BY region"
        )
        for depth in range(_MOST_DEPTHS):
            there = [row for row in rows if row["path"].count(" > ") == depth]
            spans = self._drawn(there, lambda _: "label", lambda row: str(row["path"]))
            yield Lane("labels" if not depth else "…within", spans)

    def _claims(self, segments: Sequence[Row], findings: Sequence[Finding]) -> Iterator[Lane]:
        for number, finding in enumerate(findings[:_MOST_FINDINGS], 1):
            claims = [c for c in finding.saving.assumes if finding.saving.process == self._process]
            rows = [row for row in segments if any(self._covers(c, row) for c in claims)]
            spans = self._drawn(rows, lambda _: "claim", self._where)
            yield Lane(f"finding {number}: {finding.rule}", spans, finding.fingerprint)

    def _covers(self, claim: Claim, segment: Row) -> bool:
        """Whether a claim is about a stretch; a claim about all Python belongs to no stretch."""
        if claim.what == "compile":
            return bool(segment["activity"] == "compile" and self._compiled(claim.compilations))
        if claim.what != (segment["region"] or segment["activity"]):
            return False
        return claim.file is None or (claim.file, claim.line) == (segment["file"], segment["line"])

    def _compiled(self, compilations: Sequence[int]) -> bool:
        """Whether one of these compilations, or any if none is named, was made in the step."""
        return not compilations or bool(
            self._database.scalar(
                "SELECT count(*) FROM compilation WHERE process = $process AND step = $step"
                " AND list_contains($compilations, index)",
                {
                    "process": self._process,
                    "step": self._step["step"],
                    "compilations": list(compilations),
                },
            )
        )

    def _devices(self) -> Iterator[Lane]:
        """For each device, when it ran something: when it had no gap."""
        gaps = self._rows(
            "SELECT device, begin_ns, duration_ns, reason FROM idle_gap"
            " WHERE {within} ORDER BY device, begin_ns"
        )
        devices = self._database.rows(
            "SELECT device, name, s.busy_ns FROM device JOIN device_step s USING (process, device)"
            " WHERE process = $process AND step = $step ORDER BY device LIMIT $most",
            {"process": self._process, "step": self._step["step"], "most": _MOST_DEVICES},
        )
        for device in devices:
            own = [gap for gap in gaps if gap["device"] == device["device"]]
            busy = self._drawn(list(self._between(own)), lambda _: "busy", lambda _: "ran")
            idle = [
                Span(gap["at"], gap["duration_ns"], "gap", f"idle: {gap['reason']}")
                for gap in own
                if gap["duration_ns"] >= _WORTH_NAMING * self._length
            ]
            name = f"{device['name']}, busy {percent(device['busy_ns'] / self._length)}"
            yield Lane(name, sorted(busy + idle, key=lambda span: span.at_ns))

    def _between(self, gaps: Sequence[Row]) -> Iterator[Row]:
        """The stretches of the step that none of the gaps covers."""
        ends = [0, *(gap["at"] + gap["duration_ns"] for gap in gaps)]
        begins = [*(gap["at"] for gap in gaps), self._length]
        for end, begin in zip(ends, begins, strict=True):
            if begin > end:
                yield {"at": end, "duration_ns": begin - end}

    def _threads(self) -> Iterator[Lane]:
        """The outermost events of other threads than the loop's, for the busiest threads."""
        rows = self._rows(
            "SELECT * FROM (SELECT process, line, name, start_ns, duration_ns FROM event"
            " WHERE {within} AND depth = 0 AND duration_ns > 0)"
            " JOIN (SELECT l.process, l.line, l.name AS thread FROM line l JOIN plane p"
            " USING (process, plane) WHERE p.kind = 'host' AND l.main IS NOT TRUE)"
            " USING (process, line) ORDER BY start_ns",
            "start_ns",
        )
        lines: dict[int, list[Row]] = {}
        for row in rows:
            lines.setdefault(row["line"], []).append(row)
        longest = sorted(lines.values(), key=lambda own: -sum(row["duration_ns"] for row in own))
        names = self._thread_names()
        for own in longest[:_MOST_THREADS]:
            spans = self._drawn(own, lambda _: "thread", lambda row: str(row["name"]))
            yield Lane(f"thread {names[own[0]['line']]}", spans)

    def _thread_names(self) -> dict[int, str]:
        rows = self._database.rows(
            "SELECT line, l.name FROM line l JOIN plane p USING (process, plane)"
            " WHERE process = $process AND p.kind = 'host' AND l.main IS NOT TRUE ORDER BY line",
            {"process": self._process},
        )
        return thread_names({row["line"]: row["name"] for row in rows})


def thread_names(names: Mapping[int, str | None]) -> dict[int, str]:
    """Readable names for threads: ``XLAEigen 2`` for the second ``tf_XLAEigen/-87103657036``.

    The profiler prefixes the names that XLA gives its threads, and appends a random number.

    Args:
        names: the profiler's names, by line, in the order in which threads are numbered.
    """
    short = {
        line: re.sub(r"^tf_(?=.)|/-?\d+$", "", name) if name else str(line)
        for line, name in names.items()
    }
    alike = Counter(short.values())
    seen: Counter[str] = Counter()
    for line, name in short.items():
        seen[name] += 1
        if alike[name] > 1:
            short[line] = f"{name} {seen[name]}"
    return short


def _activity(segment: Row) -> str:
    """The part of the time that a stretch belongs to."""
    activity = str(segment["activity"])
    if activity == "wait":
        return "read" if segment["region"] == "read" else "barrier"
    return activity


def _together(short: Sequence[Span]) -> Iterator[Span]:
    """Short spans merged into one, of the kind that takes most of their time."""
    if not short:
        return
    spent: dict[str, int] = {}
    for span in short:
        spent[span.kind] = spent.get(span.kind, 0) + span.duration_ns
    at, end = short[0].at_ns, short[-1].at_ns + short[-1].duration_ns
    more = f" and {len(short) - 1} more" if len(short) > 1 else ""
    yield Span(at, end - at, max(spent, key=lambda kind: spent[kind]), f"{short[0].text}{more}")
