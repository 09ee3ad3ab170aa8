"""Hand-made runs: their evidence, and a diagnosis with the findings that a test is about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from tests.report.diagnoses import TEXT
from tests.support import Row, evidence, step
from xladoctor.comparison.compare import compare
from xladoctor.comparison.interface import Comparison, Demand
from xladoctor.diagnosis import facts
from xladoctor.diagnosis.finding import Finding, Ignored, NotChecked
from xladoctor.diagnosis.interface import (
    Count,
    CountName,
    Diagnosis,
    RuleOutcomes,
    Steps,
    TimeParts,
    TimeSpent,
)
from xladoctor.diagnosis.pack import load_rules
from xladoctor.diagnosis.traits import traits

RULES = load_rules()
COUNTS: dict[CountName, float | None] = {
    "compilations_after_warmup": 0.0,
    "host_syncs_per_step": 0.0,
    "fallbacks_per_step": 0.0,
    "barriers_per_step": 1.0,
    "peak_memory": 1e6,
}
PROCESS: Row = {
    "process": 0,
    "pid": 7,
    "host": "ada",
    "frontend": "torch_xla",
    "device_kind": "CPU",
    "devices": 1,
    "main": "/home/ada/train.py",
    "cwd": "/home/ada",
}
VERSIONS = {"torch": "2.9.0", "torch_xla": "2.9.0", "python": "3.11.7"}
ENDED = {"status": 0, "signal": None, "seconds": 9.0}


def captured(
    times: Sequence[float] = (10.0,),
    shapes: Sequence[str] = ("f32[16,64]",),
    at_first: Sequence[str] = (),
    settings: dict[str, str] | None = None,
    traced: bool = False,
    process: Row | None = None,
    versions: dict[str, str] | None = None,
    **origin: Any,
) -> Diagnosis:
    """A run of ``/home/ada/train.py`` with steps of these times, after three of warm-up.

    Args:
        times: milliseconds.
        shapes: what line 30 sends to the device in each step, as HLO writes it.
        at_first: what line 12 sends before the loop.
        settings: environment variables.
        traced: whether the timeline's window covers the steps.
        process: columns of ``process`` to replace.
        versions: those of packages that are not as usual; an empty text where it is not known.
        origin: fields of the manifest to replace.
    """
    site = {
        "process": 0,
        "thread": 1,
        "file": "/home/ada/train.py",
        "line": 30,
        "function": "train",
        "via": "",
    }
    steps = [
        step(i, duration_ns=round(ms * 1e6), traced=traced)
        for i, ms in enumerate((9.0, 9.0, 9.0, *times))
    ]
    sent = [(30, shape.strip("]").split("[")) for shape in shapes]
    sent += [(12, shape.strip("]").split("[")) for shape in at_first]
    made = evidence(
        {
            "process": [{**PROCESS, **(process or {})}],
            "step": steps,
            "version": [
                {"process": 0, "package": package, "version": version}
                for package, version in {**VERSIONS, **(versions or {})}.items()
                if version
            ],
            "transfer": [
                {
                    **site,
                    "line": line,
                    "step": 0,
                    "direction": "to_device",
                    "dtype": dtype,
                    "shape": [int(size) for size in sizes.split(",")],
                }
                for line, (dtype, sizes) in sent
            ],
            "upload": [
                {**site, "step": n, "tail": False, "count": 1, "bytes": 64, "duration_ns": 9}
                for n in range(3)
            ],
            "environment": [
                {"process": 0, "name": name, "value": value, "set_by": "environment"}
                for name, value in (settings or {}).items()
            ],
            "compilation": [],
        },
        **{
            "command": ["python", "train.py"],
            "script": "train.py",
            "cwd": "/home/ada",
            "ended": ENDED,
            "tool": {"name": "xladoctor", "version": "0.1.0"},
            **origin,
        },
    )
    rules = RuleOutcomes([], [rule.id for rule in RULES], [])
    return replace(
        TEXT,
        run=facts.run(made),
        steps=facts.steps(made),
        rules=rules,
        not_checked=[],
        traits=traits(made),
    )


@cache
def _ended(status: int) -> Diagnosis:
    return captured(ended={**ENDED, "status": status})


def told(
    findings: Sequence[Finding] = (),
    steps: int | None = 40,
    counts: dict[CountName, float | None] | None = None,
    not_checked: Sequence[NotChecked] = (),
    ignored: Sequence[Ignored] = (),
    status: int = 0,
) -> Diagnosis:
    """A run with this diagnosis; its evidence says next to nothing."""
    base = _ended(status)
    fired = sorted({finding.rule for finding in findings})
    skipped = [skipped.rule for skipped in not_checked]
    clear = [rule.id for rule in RULES if rule.id not in (*fired, *skipped)]
    values = {**COUNTS, **(counts or {})}
    return replace(
        base,
        steps=None if steps is None else Steps(steps, 3, None),
        findings=list(findings),
        rules=RuleOutcomes(fired, clear, skipped),
        not_checked=list(not_checked),
        ignored=list(ignored),
        counts=[
            Count(name, value, "no counters" if value is None else None)
            for name, value in values.items()
        ],
    )


def lasting(run: Diagnosis, loop_s: float, compile_s: float, steps: int | None = 40) -> Diagnosis:
    """The run with a loop of so many seconds, of which half a second compiles in warm-up."""
    parts = TimeParts(warmup_compile_s=0.5, compile_s=compile_s)
    steps_of_loop = None if steps is None else Steps(steps, 3, None)
    return replace(run, time=TimeSpent(None, loop_s, parts, 0.5), steps=steps_of_loop)


def compared(a: Diagnosis, b: Diagnosis, **demand: Any) -> Comparison:
    """By the rules of the pack."""
    return compare(a, b, RULES, Demand(**demand))
