"""The page: templates, one style sheet and one script, all within the file.

Everything from programs, traces and sources is text: escaped by the templates, made printable
before. The policy in the page allows the style and the script by their digests, and nothing else.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, TextIO

from jinja2 import BytecodeCache, Environment, FileSystemLoader, StrictUndefined
from jinja2.bccache import Bucket
from markupsafe import Markup, escape

from xladoctor.cache_folder import FileCache
from xladoctor.diagnosis.finding import Finding
from xladoctor.diagnosis.interface import Count, CountName, Diagnosis
from xladoctor.diagnosis.pictures.interface import Lane, Pictures, ProcessStep, StepSeries
from xladoctor.diagnosis.rule import Events
from xladoctor.evidence.row import Row
from xladoctor.facts.parts import PARTS, PartName
from xladoctor.foreign import clean
from xladoctor.quantities import binary_size, duration, percent
from xladoctor.report import devices, gate, memory, pods, shardings, tpu_graphs, words
from xladoctor.report.compilations import phrase, place
from xladoctor.report.excerpt import excerpt
from xladoctor.report.html.effect import effect, effects
from xladoctor.report.interface import Report, Style
from xladoctor.report.levels import judgements
from xladoctor.report.markup import divided
from xladoctor.report.next_command import next_command
from xladoctor.report.patches import described
from xladoctor.report.text import printable
from xladoctor.repository import short

_HERE = Path(__file__).parent
_MOST_STEPS, _MOST_ROWS = 20, 50  # in the table of the longest, in the one of all
_ALIGNED = re.compile(r"(?<=\S) {3,}#")
_HEADING = re.compile(r'<h2 id="([^"]*)">([^<]*)')
_MUCH = 0.1  # share of the whole; what takes more is unfolded, whatever its severity
_COLUMN = 62  # characters of code that fit into half the page
_HEATS = 8  # shades, as the style sheet has them
_EVENTS: Mapping[CountName, Events] = {
    "host_syncs_per_step": "host_syncs",
    "fallbacks_per_step": "fallbacks",
}
_SAVES = {"estimate": "saves about", "bound": "saves at most", "none": ""}


def render(reports: Sequence[Report], output: TextIO, style: Style) -> None:
    """Write a page with a part for each program."""
    shown = [printable(report, style) for report in reports]
    raw = [report.diagnosis for report in reports]
    title = ", ".join(dict.fromkeys(words.name_of(report.diagnosis.run) for report in shown))
    parts = list(zip(shown, raw, strict=True))
    drawn = any(each.pictures and each.pictures.steps for each in raw)
    write("reports.html", output, style, title=title, parts=parts, drawn=drawn)


def write(template: str, output: TextIO, style: Style, **content: Any) -> None:
    """Write a page from a template, whole in ASCII where the encoding asks for it."""
    drawn = bool(content.get("drawn"))
    css = asset("vendor/uPlot.min.css") * drawn + asset("page.css")
    license_, library = asset("vendor/uPlot.LICENSE"), asset("vendor/uPlot.iife.min.js")
    script = f"/*\n{license_}*/\n{library}\n" * drawn + asset("page.js")
    text = (
        _environment()
        .get_template(template)
        .render(
            content,
            style=style,
            css=Markup(css),  # noqa: S704  # our own file
            script=Markup(script),  # noqa: S704  # our own files
            policy=_policy(css, script),
        )
    )
    output.write(text if style.unicode else text.encode("ascii", "xmlcharrefreplace").decode())


def _policy(css: str, script: str) -> str:
    """The content security policy: the page may only load its own style and script."""
    return (
        f"default-src 'none'; style-src {_digest(css)}; script-src {_digest(script)};"
        " base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


@cache
def asset(name: str) -> str:
    """A file that the page contains."""
    return (_HERE / name).read_text(encoding="utf-8")


class _Compiled(BytecodeCache):
    """The templates as Python compiled them: that takes longer than writing a page."""

    _files = FileCache("templates", 1 << 24)

    def load_bytecode(self, bucket: Bucket) -> None:
        with suppress(Exception):  # a damaged file: the template is compiled again
            if file := self._files.get(bucket.key):
                bucket.bytecode_from_string(file.read_bytes())

    def dump_bytecode(self, bucket: Bucket) -> None:
        self._files.put(bucket.key, bucket.bytecode_to_string())
        self._files.remove_oldest()


@cache
def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(_HERE / "templates"),
        bytecode_cache=_Compiled(),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_printable,
    )
    made.filters |= {
        "duration": duration,
        "percent": percent,
        "binary_size": binary_size,
        "prose": _prose,
        "code": _code,
    }
    functions: list[Callable[..., Any]] = [judgements, next_command, described, excerpt]
    functions += [phrase, place, effect, effects, spent, explained, saves, is_much, is_long, before]
    functions += [drawing, compiled, shown_parts, heat, headings, summary, share_of]
    functions += [in_order, longest, counted_by, short]
    modules = {"words": words, "gate": gate, "devices": devices, "pods": pods}
    made.globals |= {function.__name__: function for function in functions}
    made.globals |= modules | {"tpu_graphs": tpu_graphs, "memory": memory, "shardings": shardings}
    return made


def _printable(value: Any) -> Any:
    """Each text of the page; rules that others wrote come here as they are."""
    return clean(value, lines=True) if type(value) is str else value


def _prose(text: str) -> Markup:
    """A text with its code as code."""
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if is_code else escape(part)
        for part, is_code in divided(" ".join(clean(text, lines=True).split()))
    )


def _code(text: str) -> str:
    """Code of a rule; comments that are aligned would leave holes where lines are wrapped."""
    return _ALIGNED.sub("  #", text.rstrip())


def spent(diagnosis: Diagnosis) -> list[dict[str, Any]]:
    """The parts of the whole time, in the order of reports, each with where it begins: 0 to 1."""
    parts, whole = diagnosis.time.parts, diagnosis.time.whole_s
    rows: list[dict[str, Any]] = []
    if parts is None or not whole:
        return rows
    done = 0.0
    for part in PARTS:
        if seconds := getattr(parts, f"{part}_s"):
            name = words.part_name(part, diagnosis)
            rows.append(
                {
                    "part": part,
                    "name": name,
                    "seconds": seconds,
                    "share": seconds / whole,
                    "from": done,
                }
            )
            done += seconds / whole
    return rows


def explained(diagnosis: Diagnosis) -> list[tuple[str, float]]:
    """What explains the whole time, as shares of it; the last is the unexplained rest."""
    time, whole = diagnosis.time.explained, diagnosis.time.whole_s
    if time is None or not whole:
        return []
    lines = [
        line for row in diagnosis.time.unexplained if row.part != "after" for line in row.lines
    ]
    named = {
        "device work": time.device_s,
        "start-up, end and capture": time.overhead_s,
        "findings": time.findings_s,
        "lines named below": sum(line.seconds for line in lines),
    }
    rest = max(0.0, whole - sum(named.values()))
    return [(name, seconds / whole) for name, seconds in (*named.items(), ("not explained", rest))]


def counted_by(count: Count, diagnosis: Diagnosis) -> tuple[float, str] | None:
    """How often a step at least, and the rules that counted it, where the count is not known."""
    events = _EVENTS.get(count.name)
    found = {
        finding.rule: finding.per_step
        for finding in diagnosis.findings
        if finding.per_step and (rule := diagnosis.pack.get(finding.rule)) and rule.events == events
    }
    if count.value is not None or not events or not found:
        return None
    return max(found.values()), f"counted by {', '.join(found)}"


def saves(finding: Finding) -> str:
    """What a fix saves, in a phrase; empty where that is not known."""
    saving = finding.saving
    if saving.seconds is None or not _SAVES[saving.basis]:
        return ""
    share = f" ({percent(saving.share)})" if saving.share is not None else ""
    return f"{_SAVES[saving.basis]} {duration(saving.seconds)}{share}"


def is_much(finding: Finding) -> bool:
    """Whether it is about much of the time."""
    return max(finding.saving.share or 0.0, finding.cost.share or 0.0) >= _MUCH


def is_long(*codes: str | None) -> bool:
    """Whether some line is too long for two pieces of code side by side."""
    return any(len(line) > _COLUMN for code in codes if code for line in code.splitlines())


def before(finding: Finding, diagnosis: Diagnosis) -> str | None:
    """The rule's code that triggers it, where the rule is known."""
    rule = diagnosis.pack.get(finding.rule)
    return _code(rule.code.before) if rule and rule.code else None


def drawing(steps: StepSeries) -> Row:
    """The steps as the script takes them."""
    spent = steps.parts
    parts = [[name, part.label, spent[name]] for name, part in PARTS.items() if name in spent]
    return {
        "first": steps.first,
        "counts": steps.counts,
        "parts": parts,
        "longest": steps.longest,
        "compilations": steps.compilations,
    }


def compiled(finding: Finding, pictures: Pictures | None) -> list[Row]:
    """The compilations that a finding is about."""
    rows = pictures.compilations if pictures else []
    process = finding.saving.process
    return [
        row
        for row in rows
        if row["index"] in finding.compilations and process in (None, row["process"])
    ]


def shown_parts(rows: Sequence[ProcessStep]) -> list[PartName]:
    """The parts that any process spends time on, in the order of reports."""
    return [part for part in PARTS if any(row.parts.get(part) for row in rows)]


def heat(seconds: float, most: float) -> str:
    """The class that colours a cell: none for next to nothing."""
    level = round(_HEATS * seconds / most) if most else 0
    return f"h{level}" if level else ""


def headings(body: str) -> list[tuple[str, Markup]]:
    """The sections of a part of the page, by id."""
    return [(name, Markup(title.strip())) for name, title in _HEADING.findall(body)]  # noqa: S704  # escaped already


def summary(lane: Lane, duration_ns: int) -> str:
    """A text on what a lane shows, for people who cannot see it."""
    spent: dict[str, int] = {}
    for span in lane.spans:
        spent[span.kind] = spent.get(span.kind, 0) + span.duration_ns
    kinds = sorted(spent, key=lambda kind: -spent[kind])
    names: Mapping[Any, str] = {name: part.label for name, part in PARTS.items()}
    shares = [f"{names.get(kind, kind)} {percent(spent[kind] / duration_ns)}" for kind in kinds]
    return f"{lane.name}: {', '.join(shares)}"


def share_of(part: int, whole: int) -> str:
    """A share as a coordinate of a picture that is 1000 wide."""
    return f"{1000 * part / whole:.2f}"


def in_order(steps: StepSeries) -> list[Row]:
    """All steps as rows of a table, several to a row where there are many."""
    count = len(steps.first)
    each = -(-count // _MOST_ROWS)
    return [_of_steps(steps, range(at, min(at + each, count))) for at in range(0, count, each)]


def longest(steps: StepSeries) -> list[Row]:
    """The longest steps, these first, where the table of all has several to a row."""
    rows = sorted(range(len(steps.longest)), key=lambda row: -steps.longest[row])
    return [_of_steps(steps, [row]) for row in rows[: _MOST_STEPS * (len(rows) > _MOST_ROWS)]]


def _of_steps(steps: StepSeries, rows: Sequence[int]) -> Row:
    """Rows of the chart as one of a table: times in seconds, the parts of a mean step."""
    counts = [steps.counts[row] for row in rows]
    parts = {
        part: sum(spent[row] * count for row, count in zip(rows, counts, strict=True))
        / (1e6 * sum(counts))
        for part, spent in steps.parts.items()
    }
    first, last = steps.first[rows[0]], steps.first[rows[-1]] + counts[-1] - 1
    return {
        "steps": str(first) if last == first else f"{first}–{last}",
        "mean": sum(parts.values()),
        "longest": max(steps.longest[row] for row in rows) / 1e6,
        "compilations": sum(steps.compilations[row] for row in rows),
        "parts": parts,
    }
