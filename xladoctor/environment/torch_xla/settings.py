"""Settings that hurt: those that a rule knows, and those that no captured run is needed to judge.

Debugging settings are judged by the rules that judge them in a captured run, so there is only one
list of them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from xladoctor.environment.interface import Check, ok, warning

_FEW_GRAPHS = 64  # training and evaluation with a few buckets each; torch_xla's default is 2,048


@dataclass(frozen=True, slots=True)
class Setting:
    """Environment variables that hurt, whatever the program.

    Attributes:
        names: the variables.
        hurts: whether this value does.
        why: what it does.
        advice: what to do.
    """

    names: tuple[str, ...]
    hurts: Callable[[str], bool]
    why: str
    advice: str


def switched_on(value: str) -> bool:
    """Whether a variable with this value switches something on."""
    return value.strip().lower() not in ("", "0", "false", "no", "off")


def _keeps_few(value: str) -> bool:
    """Negative numbers are taken as very large ones; what is no number is taken as 0."""
    return not re.fullmatch(r"\s*[+-]?\d+\s*", value) or 0 <= int(value) < _FEW_GRAPHS


OTHERS = (
    Setting(
        ("XLA_USE_BF16", "XLA_DOWNCAST_BF16"),
        switched_on,
        "silently turns every float into bfloat16, and is deprecated",
        "unset it and convert the model: model.to(torch.bfloat16) or torch.autocast",
    ),
    Setting(
        ("XLA_COMPILATION_CACHE_SIZE",),
        _keeps_few,
        "only that many compiled graphs are kept; any others are compiled again",
        "unset it (the default is 2048)",
    ),
    Setting(
        ("XLA_FLAGS",),
        lambda value: "--xla_dump_to" in value,
        "has --xla_dump_to: each compilation writes its graphs to files",
        "remove it",
    ),
    Setting(
        ("XLA_METRICS_FILE",),
        switched_on,
        "the whole metrics report is written at each barrier",
        "unset it: `xladoctor run` keeps the metrics every few seconds",
    ),
    Setting(
        ("XLA_FNTRACKER_FILE",),
        switched_on,
        "writes the stack of each operator to a file, which takes milliseconds each",
        "unset it: `xladoctor run` finds the lines of operators without a lowering",
    ),
    Setting(
        ("XRT_TPU_CONFIG", "XRT_DEVICE_MAP", "XRT_WORKERS"),
        switched_on,
        "belongs to the old runtime; torch_xla no longer reads it",
        "unset it, and choose the device with PJRT_DEVICE",
    ),
    Setting(("XLA_DUMP_HLO_GRAPH",), switched_on, "torch_xla no longer reads it", "unset it"),
)


def settings(
    environment: Mapping[str, str] | None = None, others: Sequence[Setting] = OTHERS
) -> list[Check]:
    """A warning for each setting that hurts, or one check that none does."""
    given = os.environ if environment is None else environment
    hurting = _debugging(given) + [
        warning("settings", f"{_assignment(name, given[name])}: {setting.why}", setting.advice)
        for setting in others
        for name in setting.names
        if name in given and setting.hurts(given[name])
    ]
    return hurting or [ok("settings", "none that slows programs down")]


def _assignment(name: str, value: str) -> str:
    """As in a shell; of a row of flags, only the name, as the rest may be anything."""
    return name if name == "XLA_FLAGS" else f"{name}={value}"


def _debugging(environment: Mapping[str, str]) -> list[Check]:
    """What the rule finds in the environment variables as they stand."""
    from xladoctor.causes import derive
    from xladoctor.diagnosis.engine import diagnose
    from xladoctor.diagnosis.pack import load_rules
    from xladoctor.evidence.load import build
    from xladoctor.ingest.interface import Ingested

    variables = Ingested()
    variables.table("environment")
    for name, value in environment.items():
        variables.add(
            "environment",
            process=0,
            name=name,
            value=value,
            set_by="environment",
            file=None,
            line=None,
            function=None,
        )
    rules = [rule for rule in load_rules() if rule.needs == ["environment"]]
    evidence = derive(build(variables, {"kind": "text", "path": "-"}))
    findings = diagnose(evidence, rules).findings
    return [
        warning("settings", finding.message.rstrip("."), " ".join(finding.fix.split()))
        for finding in findings
    ]
