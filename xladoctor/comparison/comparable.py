"""Checks whether two runs can be compared, and how they differ."""

from __future__ import annotations

from typing import Literal

from xladoctor.comparison.interface import (
    GROUNDS,
    PACKAGES,
    Demand,
    Difference,
    Ground,
    Remark,
    RunSummary,
)
from xladoctor.diagnosis.interface import Diagnosis
from xladoctor.foreign import quoted
from xladoctor.frontends.vocabulary import vocabulary
from xladoctor.quantities import first_few

Forbids = Literal["everything", "times", "nothing"]
#: What runs of two frameworks differ in anyway.
_FOLLOWS = {*PACKAGES, "settings", "shapes", "profiler"}
_MOST_NAMED = 3


def summary(run: Diagnosis) -> RunSummary:
    """The facts about a run to show."""
    return RunSummary(
        run.run,
        run.traits.host,
        run.traits.versions.get("python"),
        run.traits.captured_by,
        complete(run),
        run.steps,
    )


def complete(run: Diagnosis) -> bool:
    """Whether the program ended by itself, without an error, as far as is known."""
    facts = run.run
    return not (facts.status or facts.signal or run.traits.cut_short)


def broke_off(run: Diagnosis, other: Diagnosis, name: str) -> str | None:
    """How a run stopped short of the other's steps, if it did: it may have missed findings."""
    steps, expected = run.steps, other.steps
    done = steps.count if steps else 0
    if complete(run) or not expected or done >= expected.count:
        return None
    return f"{name} stopped after {done} of {expected.count} steps"


def of_one_framework(a: Diagnosis, b: Diagnosis) -> bool:
    """Whether both runs are of programs of the same framework, whose counts mean the same."""
    return a.traits.frontend == b.traits.frontend


def differences(a: Diagnosis, b: Diagnosis, demand: Demand) -> list[Difference]:
    """All differences of the runs; those that forbid most come first.

    Between different kinds of evidence, what only one of them can show is not a difference.
    """
    a_grounds, b_grounds = _grounds(a), _grounds(b)
    grounds = [each for each in GROUNDS if of_one_framework(a, b) or each not in _FOLLOWS]
    alike = a_grounds["evidence"] == b_grounds["evidence"]
    differing = []
    for ground in grounds:
        of_a, of_b = a_grounds[ground], b_grounds[ground]
        unsure = None in (of_a, of_b) and (not alike or ground == "profiler")
        if of_a == of_b or unsure:
            continue
        forbids = _forbids(ground, a_grounds, b_grounds)
        accepted = ground in demand.despite and forbids != "nothing"
        differing.append(
            Difference(ground, _only(of_a, of_b), _only(of_b, of_a), forbids, accepted)
        )
    needed = {name for run in (a, b) for name in vocabulary(run.traits.frontend).requires}
    unknown = [
        ground
        for ground in grounds
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


def _grounds(run: Diagnosis) -> dict[Ground, frozenset[str] | None]:
    """The properties that have to agree, each as a set of texts; None if unknown."""
    facts, traits = run.run, run.traits
    samples, versions = traits.samples, traits.versions
    texts: dict[Ground, str | None] = {
        "script": facts.script,
        "framework": vocabulary(traits.frontend).title,
        "device": traits.device_kind,
        "devices": str(facts.devices) if facts.devices else None,
        "processes": str(facts.processes) if facts.processes else None,
        "host": traits.host,
        **{package: versions.get(package) for package in ("python", *PACKAGES)},
        "xladoctor": traits.captured_by,
        "evidence": facts.kind,
        "profiler": ("on" if samples.traced else "off") if samples.ms else None,
    }
    sets = {"settings": traits.settings, "shapes": traits.shapes}
    return {
        ground: sets[ground] if ground in sets else _single(texts[ground]) for ground in GROUNDS
    }


def _single(text: str | None) -> frozenset[str] | None:
    return None if text is None else frozenset([text])


def _remarks(a: Diagnosis, b: Diagnosis) -> list[Difference]:
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


def _arguments(run: Diagnosis) -> str | None:
    """The arguments after the script in the command."""
    command = run.run.command
    if not command:
        return None
    script = run.traits.main
    places = [n for n, word in enumerate(command) if script and word.endswith(script)]
    return quoted(*command[places[0] + 1 if places else 1 :]) or "none"


def _capture(run: Diagnosis) -> str | None:
    options = run.traits.options
    return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in options.items()) or None


def _ending(run: Diagnosis) -> str:
    facts = run.run
    if facts.signal:
        return f"ended by signal {facts.signal}"
    if facts.status:
        return f"exit status {facts.status}"
    if facts.running:
        return "still running"
    return "normal" if complete(run) else "cut short"


def _steps(run: Diagnosis) -> str | None:
    return None if run.steps is None else str(run.steps.count)
