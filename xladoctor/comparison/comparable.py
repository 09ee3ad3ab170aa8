"""Checks whether two runs can be compared, and how they differ."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Literal

from xladoctor.comparison.interface import (
    GROUNDS,
    PACKAGES,
    Demand,
    Difference,
    Ground,
    Remark,
    Run,
    RunSummary,
)
from xladoctor.diagnosis.step_samples import step_samples
from xladoctor.evidence.interface import Elsewhere
from xladoctor.foreign import quoted
from xladoctor.frontends.vocabulary import vocabulary
from xladoctor.quantities import first_few

Forbids = Literal["everything", "times", "nothing"]
_MOST_NAMED = 3

# What the loop sends to the device: from lines that send in several steps, unlike set-up.
_SHAPES = """
    SELECT DISTINCT t.dtype, t.shape, t.function
    FROM transfer t JOIN (
        SELECT process, file, line FROM upload
        GROUP BY ALL HAVING count(DISTINCT step) > 1
    ) u USING (process, file, line)
    WHERE t.direction = 'to_device' ORDER BY ALL
"""


def summary(run: Run) -> RunSummary:
    """The facts about a run to show."""
    python = _version(run, "python")
    return RunSummary(
        run.diagnosis.run,
        _of_processes(run, "host"),
        python,
        _tool(run),
        complete(run),
        run.diagnosis.steps,
    )


def complete(run: Run) -> bool:
    """Whether the program ended by itself, without an error, as far as is known."""
    facts, manifest = run.diagnosis.run, run.evidence.manifest
    cut_short = manifest and manifest.ended is None and manifest.part_of is None
    return not (facts.status or facts.signal or cut_short)


def broke_off(run: Run, other: Run, name: str) -> str | None:
    """How a run stopped short of the other's steps, if it did: it may have missed findings."""
    steps, expected = run.diagnosis.steps, other.diagnosis.steps
    done = steps.count if steps else 0
    if complete(run) or not expected or done >= expected.count:
        return None
    return f"{name} stopped after {done} of {expected.count} steps"


def differences(a: Run, b: Run, demand: Demand) -> list[Difference]:
    """All differences of the runs; those that forbid most come first.

    Between different kinds of evidence, what only one of them can show is not a difference.
    """
    a_grounds, b_grounds = _grounds(a), _grounds(b)
    alike = a_grounds["evidence"] == b_grounds["evidence"]
    differing = []
    for ground in GROUNDS:
        of_a, of_b = a_grounds[ground], b_grounds[ground]
        unsure = None in (of_a, of_b) and (not alike or ground == "profiler")
        if of_a == of_b or unsure:
            continue
        forbids = _forbids(ground, a_grounds, b_grounds)
        accepted = ground in demand.despite and forbids != "nothing"
        differing.append(
            Difference(ground, _only(of_a, of_b), _only(of_b, of_a), forbids, accepted)
        )
    needed = {name for run in (a, b) for name in vocabulary(run.evidence.frontend).requires}
    unknown = [
        ground
        for ground in GROUNDS
        if a_grounds[ground] is None
        and b_grounds[ground] is None
        and (ground not in PACKAGES or ground in needed)
    ]
    order = ("everything", "times", "nothing")
    differing.sort(key=lambda difference: order.index(difference.forbids))
    return [*differing, *_remarks(a, b), *_unknown(unknown)]


def _only(values: frozenset[str] | None, other: frozenset[str] | None) -> str | None:
    """The values that the other run does not have, shortened."""
    if values is None:
        return None
    own = sorted(values - (other or frozenset()))
    return first_few(own, _MOST_NAMED) or "none of its own"


def _unknown(names: list[Ground]) -> list[Difference]:
    text = ", ".join(names)
    return [Difference("unknown", text, text, "nothing")] if names else []


def _forbids(
    ground: Ground, a: dict[Ground, frozenset[str] | None], b: dict[Ground, frozenset[str] | None]
) -> Forbids:
    """What a difference forbids. The CPU is as fast as its machine; other devices are the same on
    any machine.
    """
    if ground == "script":
        return "everything" if a[ground] and b[ground] else "nothing"
    if ground == "host":
        kinds = (a["device"] or frozenset()) | (b["device"] or frozenset())
        return "nothing" if kinds and "CPU" not in kinds else "times"
    if ground == "python":
        minor = [{text.rpartition(".")[0] for text in side[ground] or ()} for side in (a, b)]
        return "nothing" if minor[0] == minor[1] else "times"
    return "times"


def _grounds(run: Run) -> dict[Ground, frozenset[str] | None]:
    """The properties that have to agree, each as a set of texts; None if unknown."""
    facts = run.diagnosis.run
    samples = step_samples(run.evidence)
    texts: dict[Ground, str | None] = {
        "script": facts.script,
        "device": _of_processes(run, "device_kind"),
        "devices": str(facts.devices) if facts.devices else None,
        "processes": str(facts.processes) if facts.processes else None,
        "host": _of_processes(run, "host"),
        "python": _version(run, "python"),
        **{package: _version(run, package) for package in PACKAGES},
        "xladoctor": _tool(run),
        "evidence": facts.kind,
        "profiler": ("on" if samples.traced else "off") if samples.ms else None,
    }
    sets = {"settings": _settings(run), "shapes": _shapes(run)}
    return {
        ground: sets[ground] if ground in sets else _single(texts[ground]) for ground in GROUNDS
    }


def _single(text: str | None) -> frozenset[str] | None:
    return None if text is None else frozenset([text])


def _tool(run: Run) -> str | None:
    """The version of xladoctor that captured the run."""
    origin = run.evidence.origin
    return None if isinstance(origin, Elsewhere) or origin.tool is None else origin.tool.version


def _of_processes(run: Run, column: str) -> str | None:
    rows = run.evidence.database.rows("SELECT * FROM process ORDER BY process")
    return _joined(row[column] for row in rows)


def _version(run: Run, package: str) -> str | None:
    rows = run.evidence.database.rows(
        "SELECT version FROM version WHERE package = $package ORDER BY process",
        {"package": package},
    )
    return _joined(row["version"] for row in rows)


def _joined(values: Iterable[Any]) -> str | None:
    """Each value once; None if none is known."""
    return ", ".join(dict.fromkeys(str(value) for value in values if value is not None)) or None


def _settings(run: Run) -> frozenset[str] | None:
    if "environment" not in run.evidence.available:
        return None
    rows = run.evidence.database.rows("SELECT DISTINCT name, value FROM environment")
    kinds = vocabulary(run.evidence.frontend).settings
    place, device = kinds["place"], kinds["device"]  # the grounds `device(s)` compare devices
    return frozenset(
        row["name"]
        if re.search(place, row["name"])
        else f"{row['name']}={' '.join((row['value'] or '').split())}"
        for row in rows
        if not re.search(device, row["name"])
    )


def _shapes(run: Run) -> frozenset[str] | None:
    if not {"transfer", "upload"} <= run.evidence.available:
        return None
    return frozenset(
        f"{row['dtype']}[{','.join(map(str, row['shape'] or ()))}] in {row['function'] or '?'}"
        for row in run.evidence.database.rows(_SHAPES)
    )


def _remarks(a: Run, b: Run) -> list[Difference]:
    """Differences that are worth knowing but forbid nothing."""
    pairs: dict[Remark, tuple[str | None, str | None]] = {
        "arguments": (_arguments(a), _arguments(b)),
        "capture": (_capture(a), _capture(b)),
        "ending": (_ending(a), _ending(b)),
        "steps": (_steps(a), _steps(b)),
    }
    ended_badly = not (complete(a) and complete(b))
    return [
        Difference(remark, of_a, of_b, "nothing")
        for remark, (of_a, of_b) in pairs.items()
        if (of_a != of_b and None not in (of_a, of_b)) or (remark == "ending" and ended_badly)
    ]


def _arguments(run: Run) -> str | None:
    """The arguments after the script in the command."""
    command = run.diagnosis.run.command
    if not command:
        return None
    manifest = run.evidence.manifest
    script = manifest.script if manifest else None
    places = [n for n, word in enumerate(command) if script and word.endswith(script)]
    return quoted(*command[places[0] + 1 if places else 1 :]) or "none"


def _capture(run: Run) -> str | None:
    manifest = run.evidence.manifest
    if manifest is None or not manifest.options:
        return None
    shown = {name: value for name, value in manifest.options.items() if name != "session"}
    return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in shown.items())


def _ending(run: Run) -> str:
    facts = run.diagnosis.run
    if facts.signal:
        return f"ended by signal {facts.signal}"
    if facts.status:
        return f"exit status {facts.status}"
    if facts.running:
        return "still running"
    return "normal" if complete(run) else "cut short"


def _steps(run: Run) -> str | None:
    return None if run.diagnosis.steps is None else str(run.diagnosis.steps.count)
