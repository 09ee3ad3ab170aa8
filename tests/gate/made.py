"""Hand-made diagnoses and terms for the gate."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import Any, get_args

from tests.support import PACK
from xladoctor.configuration.interface import Configuration
from xladoctor.diagnosis.finding import Finding
from xladoctor.diagnosis.interface import (
    Count,
    CountName,
    Diagnosis,
    RuleOutcomes,
    RunFacts,
    Steps,
    TimeParts,
    TimeSpent,
    Tool,
    Verdict,
)
from xladoctor.gate.acknowledged import Acknowledged
from xladoctor.gate.baseline import BaselineEntry, Script
from xladoctor.gate.judge import Terms

TODAY = date(2026, 5, 4)
BY_TIME = frozenset({"XD501", "XD903"})
RULES = ("XD101", "XD201", "XD501", "XD701", "XD903")
COUNTS: tuple[CountName, ...] = get_args(CountName)
RUN = RunFacts("run", "a-run", status=0, script="src/train.py", cwd="/home/ada", root="/home/ada")
HEALTHY = Diagnosis(
    schema_version=1,
    tool=Tool("xladoctor", "0.1.0"),
    run=RUN,
    verdict=Verdict("device", "Fine."),
    time=TimeSpent(
        12.0,
        10.0,
        TimeParts(startup_s=2.0, warmup_compile_s=1.0, barrier_s=8.0, tracing_s=1.0),
        1.0,
    ),
    steps=Steps(40, 3, 5.0),
    devices=[],
    counts=[Count(name, 0.0) for name in COUNTS],
    findings=[],
    rules=RuleOutcomes([], list(RULES), []),
    not_checked=[],
    ignored=[],
    warnings=[],
    pack=PACK,
)


def diagnosis(*findings: Finding, run: dict[str, Any] | None = None, **changes: Any) -> Diagnosis:
    """A run of 40 steps that is in order but for ``findings``."""
    fired = sorted({finding.rule for finding in findings})
    rules = RuleOutcomes(fired, [rule for rule in RULES if rule not in fired], [])
    given: dict[str, Any] = {
        "findings": list(findings),
        "rules": rules,
        "run": replace(RUN, **(run or {})),
    }
    return replace(HEALTHY, **(given | changes))


def counted(**values: float | Count | None) -> list[Count]:
    """All counts: 0 unless given, None for unknown."""

    def count(name: CountName) -> Count:
        value = values.get(name, 0.0)
        if isinstance(value, Count):
            return value
        return Count(name, value, f"no {name}" if value is None else None)

    return [count(name) for name in COUNTS]


def configuration(gate: dict[str, Any] | None = None, **keys: Any) -> Configuration:
    """A configuration, as from a file."""
    return Configuration.model_validate({**keys, "gate": gate or {}})


def terms(
    settings: Configuration | None = None,
    *known: BaselineEntry,
    steps: int | None = 40,
    **changes: Any,
) -> Terms:
    """What src/train.py is judged by; with a baseline if something is known."""
    return replace(
        Terms(
            script="src/train.py",
            settings=settings or configuration(),
            by_time=BY_TIME,
            baseline=Script(steps=steps, findings=list(known)) if known else None,
            baseline_path=".xladoctor/baseline.json",
            acknowledged=Acknowledged(),
            today=TODAY,
        ),
        **changes,
    )


def known(fingerprint: str = "XD201-0", **fields: Any) -> BaselineEntry:
    """The entry of the finding that ``tests.support.finding`` makes."""
    return BaselineEntry.model_validate(
        {
            "fingerprint": fingerprint,
            "rule": "XD201",
            "severity": "warning",
            "file": "train.py",
            "function": "train",
            "code": "loss.item()",
            "count": 40,
            "per_step": 1.0,
            **fields,
        }
    )


def accepted(**content: Any) -> Acknowledged:
    """The file of what is accepted by hand."""
    return Acknowledged.model_validate(content)
