"""The one command that helps most now."""

from __future__ import annotations

from xladoctor.diagnosis.interface import Diagnosis
from xladoctor.diagnosis.pod import Pod
from xladoctor.foreign import quoted
from xladoctor.frontends.vocabulary import DEFAULT, vocabulary
from xladoctor.report.words import known_as

_OURS = ("run", "remote")
_COMPILING = ("warmup_compile", "compile")
_MUCH = 0.3


def next_command(diagnosis: Diagnosis) -> tuple[str, str] | None:
    """What for, and the command: for evidence from elsewhere, what gives that which it lacks; for
    what xladoctor recorded itself, more on the first finding, or on compilations if these took long
    without a finding that explains them. None if there is nothing to do.
    """
    run = diagnosis.run
    if run.kind == "pod":
        return _next_of(diagnosis.pod)
    if run.kind in (*_OURS, "graphs"):
        return _next_of_ours(diagnosis) if diagnosis.findings else None
    has_timeline = run.kind == "timeline" or bool(diagnosis.devices)
    if has_timeline and diagnosis.steps is None and _has_server(run.frontend):
        return (
            "for a timeline with whole steps, of a program that runs",
            "xladoctor capture HOST:PORT --duration 10s",
        )
    findings = diagnosis.findings
    lacking = {
        "lines": not findings or any(not finding.locations for finding in findings),
        "causes": not has_timeline,
        "times": not has_timeline or any(finding.cost.seconds is None for finding in findings),
    }
    if parts := [part for part, lacks in lacking.items() if lacks]:
        *most, last = parts
        said = f"{', '.join(most)} and {last}" if most else last
        return f"for {said}", "xladoctor run your_script.py"
    named = run.path if run.kind == "files" else quoted(run.path)
    return "to see what a fix gained", f"xladoctor compare {named} AFTER"


def _next_of_ours(diagnosis: Diagnosis) -> tuple[str, str]:
    run = known_as(diagnosis.run.path)
    first = diagnosis.findings[0]
    if first.suggestion:
        return "to try the patch on a copy", f"xladoctor fix --verify {run}"
    if diagnosis.run.kind in _OURS and _is_mostly_compiling(diagnosis):
        return "for what was compiled", f"xladoctor compilations {run}"
    return "for an example of the fix", f"xladoctor explain {first.rule}"


def _is_mostly_compiling(diagnosis: Diagnosis) -> bool:
    """Whether compiling that no finding explains is much of the time, and more than the first
    finding costs.
    """
    time, cost_s = diagnosis.time, diagnosis.findings[0].cost.seconds
    seconds = sum(part.seconds for part in time.unexplained if part.part in _COMPILING)
    return seconds >= _MUCH * time.whole_s and seconds > (cost_s or 0.0)


def _next_of(pod: Pod | None) -> tuple[str, str] | None:
    """All that the evidence of a pod shows of the process that is least like the others."""
    if pod is None:
        return None
    unlike = next((group for group in pod.groups if group.differs), pod.groups[0])
    chosen = next(each for each in pod.processes if each.name == unlike.processes[0])
    if chosen.path is None:
        return None
    return f"for all of {chosen.name}", f"xladoctor analyze {quoted(chosen.path)}"


def _has_server(frontend: str | None) -> bool:
    """Whether programs of a frontend can serve profiles while they run."""
    return "server" in vocabulary(frontend or DEFAULT).words
