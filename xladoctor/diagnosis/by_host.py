"""Joins the diagnoses of a job's hosts: a finding that many of them have is one finding."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

from xladoctor.diagnosis.finding import Finding, Ignored, NotChecked
from xladoctor.diagnosis.interface import Diagnosis


@dataclass(frozen=True, slots=True)
class HostDiagnosis:
    """The diagnosis of a host by itself.

    Attributes:
        first: what to add to its numbers of processes.
        shown: path of its evidence, which its notes name.
    """

    diagnosis: Diagnosis
    first: int
    shown: str


@dataclass(frozen=True, slots=True)
class ByHost:
    """What rules found that look at one host at a time.

    Attributes:
        judged: rules, and whether they found something on any host.
        left_out: hosts whose evidence could not be read, each with the reason.
    """

    findings: list[Finding] = field(default_factory=list)
    ignored: list[Ignored] = field(default_factory=list)
    judged: dict[str, bool] = field(default_factory=dict)
    not_checked: list[NotChecked] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)

    def without(self, rules: Collection[str]) -> ByHost:
        """A copy without what these rules found: hosts together may explain that better."""
        return replace(
            self,
            findings=[each for each in self.findings if each.rule not in rules],
            judged={rule: fired for rule, fired in self.judged.items() if rule not in rules},
            not_checked=[each for each in self.not_checked if each.rule not in rules],
        )


def by_host(hosts: Sequence[HostDiagnosis], left_out: Sequence[str] = ()) -> ByHost:
    """Join what was found on each host by itself; ``left_out``: as in :class:`ByHost`."""
    groups: dict[tuple[str, str], list[Finding]] = defaultdict(list)
    ignored: dict[tuple[str, str], Ignored] = {}
    for host in hosts:
        for finding in host.diagnosis.findings:
            groups[finding.rule, finding.fingerprint].append(_numbered(finding, host.first))
        for each in host.diagnosis.ignored:
            ignored.setdefault((each.rule, each.fingerprint), each)
    fired = {rule for host in hosts for rule in host.diagnosis.rules.fired}
    not_checked = _not_checked(hosts, fired)
    skipped = {each.rule for each in not_checked}
    known = (
        rule
        for host in hosts
        for rule in (*host.diagnosis.rules.fired, *host.diagnosis.rules.clear)
    )
    return ByHost(
        [_merged(group) for group in groups.values()],
        list(ignored.values()),
        {rule: rule in fired for rule in sorted({*known} - skipped)},
        not_checked,
        _notes(hosts),
        list(left_out),
    )


def _numbered(finding: Finding, first: int) -> Finding:
    """A finding of a host, with the numbers that its processes have among all."""
    saving = finding.saving
    process = None if saving.process is None else first + saving.process
    return replace(
        finding,
        processes=[str(first + int(process)) for process in finding.processes],
        saving=replace(saving, process=process),
    )


def _merged(findings: Sequence[Finding]) -> Finding:
    """The costliest of the same finding on many hosts, with the processes of all."""
    worst = max(findings, key=lambda finding: (finding.cost.seconds or 0.0, finding.count))
    processes = sorted({name for finding in findings for name in finding.processes}, key=int)
    return replace(worst, processes=processes)


def _not_checked(hosts: Sequence[HostDiagnosis], fired: set[str]) -> list[NotChecked]:
    """Rules that found nothing, and could not be evaluated on every host."""
    skipped: dict[str, list[NotChecked]] = defaultdict(list)
    for host in hosts:
        for each in host.diagnosis.not_checked:
            if each.rule not in fired:
                skipped[each.rule].append(each)
    return [
        NotChecked(
            rule,
            _reason(group, len(hosts)),
            any(each.failed for each in group),
        )
        for rule, group in sorted(skipped.items())
    ]


def _notes(hosts: Sequence[HostDiagnosis]) -> list[str]:
    """What is to be noted on hosts, the same of several once, with the first one's path."""
    noted: dict[str, list[str]] = defaultdict(list)
    for host in hosts:
        for note in host.diagnosis.warnings:
            noted[note.replace(host.shown, "")].append(note)
    return [notes[0] + _more(len(notes) - 1) for notes in noted.values()]


def _more(hosts: int) -> str:
    return f" (and {hosts} more host{'s' * (hosts > 1)})" if hosts else ""


def _reason(group: Sequence[NotChecked], hosts: int) -> str:
    """The commonest reason, and on how many hosts there is one if not on all."""
    ((reason, _),) = Counter(each.reason for each in group).most_common(1)
    return reason if len(group) == hosts else f"on {len(group)} of {hosts} hosts: {reason}"
