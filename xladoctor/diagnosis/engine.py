"""Runs the rules over the evidence and makes the diagnosis."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import duckdb

from xladoctor import __version__
from xladoctor.diagnosis import account, devices, facts, findings, ranking, third_party
from xladoctor.diagnosis.basis import Basis, worth_fixing
from xladoctor.diagnosis.by_host import ByHost
from xladoctor.diagnosis.counts import counts
from xladoctor.diagnosis.device_use import DeviceUse
from xladoctor.diagnosis.devices import label_times
from xladoctor.diagnosis.finding import Finding, Ignored, NotChecked
from xladoctor.diagnosis.interface import Diagnosis, RuleOutcomes, RunFacts, Steps, TimeSpent, Tool
from xladoctor.diagnosis.memory import memory
from xladoctor.diagnosis.missing_processes import missing_processes, waiting_share
from xladoctor.diagnosis.pods import pod
from xladoctor.diagnosis.reach import (
    after_loop,
    capture_failed,
    ending,
    few_recurring,
    few_steps,
    reach,
    unjudged,
)
from xladoctor.diagnosis.rule import Rule, RuleError
from xladoctor.diagnosis.savings import Savings
from xladoctor.diagnosis.schema_version import SCHEMA_VERSION
from xladoctor.diagnosis.selection import Selection
from xladoctor.diagnosis.shardings import shardings
from xladoctor.diagnosis.start_up import start_up
from xladoctor.diagnosis.suppression import Suppression
from xladoctor.diagnosis.tpu_graphs import tpu_counts, tpu_graphs
from xladoctor.diagnosis.traits import traits
from xladoctor.diagnosis.unexplained import explain
from xladoctor.diagnosis.verdict import verdict
from xladoctor.diagnosis.whatif import WhatIf
from xladoctor.evidence.busy import busy_warning, waited_share
from xladoctor.evidence.interface import Evidence
from xladoctor.evidence.row import Row
from xladoctor.frontends.vocabulary import vocabulary

_PATIENCE_S = 600.0  # time limit for a query of the pack
_BUSY = 0.5  # share of the steps; a device that is less busy cannot limit them


def diagnose(
    evidence: Evidence,
    rules: Selection | Sequence[Rule],
    total_steps: int | None = None,
    *,
    strict: bool = True,
    hosts: ByHost | None = None,
) -> Diagnosis:
    """Judge the evidence by each rule that applies to the program's frontend, with its texts.

    Args:
        evidence: the evidence, complete with causes.
        total_steps: length of a run to project the savings to.
        strict: whether a failing rule of the pack is an error; else, as others, not evaluated.
        hosts: of the joined evidence of many hosts, what was found on each by itself: only the
            rules that compare them judge the evidence, which keeps only a part of each.

    Raises:
        RuleError: a rule's query or message fails on this evidence.
    """
    selection = _selection(rules)
    judged = judge_all(evidence, selection, total_steps, strict=strict, hosts=hosts)
    run, used, graphs = facts.run(evidence), devices.device_use(evidence), tpu_graphs(evidence)
    time = explain(evidence, judged.time, judged.findings, judged.pack)
    diagnosis = Diagnosis(
        schema_version=SCHEMA_VERSION,
        tool=Tool("xladoctor", __version__),
        run=run,
        verdict=verdict(_basis(evidence, judged, run, time, used, selection.off)),
        time=time,
        steps=judged.steps,
        devices=used,
        counts=[*counts(evidence, judged.steps), *tpu_counts(graphs)],
        findings=facts.with_tried(evidence, judged.findings),
        rules=judged.outcomes,
        not_checked=judged.not_checked,
        ignored=judged.ignored,
        warnings=[*evidence.notes, *judged.notes, *evidence.later_notes()],
        total_steps=total_steps,
        labels=label_times(evidence),
        step_groups=facts.step_groups(evidence, judged.steps),
        tpu_graphs=graphs,
        memory=memory(evidence),
        shardings=shardings(evidence),
        pod=pod(evidence, hosts.left_out if hosts else ()),
        pack=judged.pack,
        traits=traits(evidence),
    )
    return diagnosis if hosts is None else _of_all(diagnosis)


def _of_all(diagnosis: Diagnosis) -> Diagnosis:
    """The diagnosis without what is of a single process: the pod's table has all of them."""
    time = replace(diagnosis.time, parts=None, explained=None, unexplained=[], start_up=None)
    alone = replace(diagnosis, steps=None, memory=None, shardings=None)
    return replace(alone, time=time, devices=[], labels=[], step_groups=[])


def _selection(rules: Selection | Sequence[Rule]) -> Selection:
    return rules if isinstance(rules, Selection) else Selection(list(rules))


@dataclass(frozen=True, slots=True)
class RuleResults:
    """The results of the rules, without the other facts about the run.

    Attributes:
        findings: findings that are not ignored, most valuable first.
        to_fix: findings above information, each with its saving after the better ones.
        limit: what limits a step once the findings that save something are fixed.
        notes: notes on ignored findings.
        pack: by id, the rules that apply to the program's frontend, with its texts.
    """

    time: TimeSpent
    steps: Steps | None
    savings: Savings
    findings: list[Finding]
    to_fix: list[Finding]
    limit: str | None
    ignored: list[Ignored]
    notes: list[str]
    outcomes: RuleOutcomes
    not_checked: list[NotChecked]
    pack: dict[str, Rule]

    @property
    def counted(self) -> tuple[int, int]:
        """How many rules could be evaluated, and how many there are."""
        return len(self.outcomes.fired) + len(self.outcomes.clear), len(self.pack)


def judge_all(
    evidence: Evidence,
    rules: Selection | Sequence[Rule],
    total_steps: int | None = None,
    *,
    strict: bool = True,
    hosts: ByHost | None = None,
) -> RuleResults:
    """The findings of all rules. Arguments are those of :func:`diagnose`, which adds the run."""
    selection = _selection(rules)
    evidence.database.close_to_the_outside()
    known = [*(rule.id for rule in selection.rules), *selection.off]
    applying, others = _by_evidence(selection.rules, evidence)
    time, steps = account.time_spent(evidence), facts.steps(evidence)
    time = replace(time, start_up=start_up(evidence))
    whatif = WhatIf(evidence.database, vocabulary(evidence.frontend).records_steps)
    savings = Savings(whatif, time, steps, total_steps)
    of_hosts = (hosts or ByHost()).without(others)
    raw, judged, not_checked = of_hosts.findings, of_hosts.judged, of_hosts.not_checked
    of_pods = [rule for rule in applying if rule.applies_to.with_table == "pod_process"]
    for rule in applying if hosts is None else of_pods:
        found, reason = _outcome(rule, evidence, time, savings, strict=strict)
        if reason:
            not_checked.append(reason)
        else:
            judged[rule.id] = bool(found)
            raw += found
    suppression = Suppression(evidence, selection.ignored_in)
    kept, ignored = suppression.split(_counted(raw, applying, selection.errors))
    ranked = ranking.ranked(kept)
    ordered, _ = savings.in_order(ranked)
    to_fix, limit = savings.in_order([each for each in ranked if each.severity != "info"])
    if 0 < len(worth := worth_fixing(to_fix)) < len(to_fix):
        limit = savings.in_order(worth)[1]
    outcomes = _outcomes(judged, not_checked, selection.off)
    return RuleResults(
        time,
        steps,
        savings,
        ordered,
        to_fix,
        limit,
        ignored + of_hosts.ignored,
        [*suppression.notes(outcomes.judged, known), *of_hosts.notes],
        outcomes,
        not_checked,
        {rule.id: rule for rule in applying},
    )


def _by_evidence(rules: Sequence[Rule], evidence: Evidence) -> tuple[list[Rule], set[str]]:
    """The rules for such evidence, each with the texts of its frontend; ids of those for other."""
    others = {rule.id for rule in rules if not rule.applies_to.to(evidence.available)}
    own = (rule.for_frontend(evidence.frontend) for rule in rules if rule.id not in others)
    return [rule for rule in own if rule], others


def _outcomes(
    judged: Mapping[str, bool], not_checked: Sequence[NotChecked], off: Sequence[str]
) -> RuleOutcomes:
    return RuleOutcomes(
        fired=[rule for rule, fired in judged.items() if fired],
        clear=[rule for rule, fired in judged.items() if not fired],
        not_evaluated=[skipped.rule for skipped in not_checked],
        off=list(off),
    )


def _counted(
    findings: Sequence[Finding], rules: Sequence[Rule], errors: Collection[str]
) -> list[Finding]:
    """The findings without those that others cover, on the same processes or on more; those of
    ``errors`` as such.
    """
    covers = {rule.id: rule.covers for rule in rules}
    return [
        replace(finding, severity="error") if finding.rule in errors else finding
        for finding in findings
        if not any(
            finding.rule in covers.get(other.rule, ())
            and {*finding.processes} <= {*other.processes}
            for other in findings
        )
    ]


def _basis(
    evidence: Evidence,
    judged: RuleResults,
    run: RunFacts,
    time: TimeSpent,
    used: Sequence[DeviceUse],
    off: Sequence[str],
) -> Basis:
    ended, without_steps = "", facts.without_steps(evidence)
    failed = capture_failed(evidence, judged.steps)
    if facts.is_whole(evidence):
        ended = ending(
            run, judged.steps, without_steps=without_steps, uncaught=facts.uncaught(evidence)
        )
    return Basis(
        time,
        judged.findings,
        judged.to_fix,
        judged.pack,
        judged.counted,
        judged.limit,
        _busy(evidence, judged.savings, used),
        " until then" if failed else reach(run, judged.steps, waited_share(evidence.database)),
        "no step could be judged"
        if ended and without_steps
        else unjudged(evidence, list(judged.pack.values()), judged.not_checked),
        facts.dispatching(evidence, time),
        len(off),
        once=judged.steps is None and "launch" in evidence.available,
        steps=judged.steps,
        without_steps=without_steps,
        reported="" if time.parts else facts.reported(evidence),
        waiting=waiting_share(evidence.database, _lead(evidence)),
        first=[
            text
            for text in (
                ended,
                facts.still_compiling(evidence) if ended and without_steps else "",
                failed,
                few_recurring(judged.steps),
                missing_processes(evidence.database),
                "" if failed else busy_warning(evidence.database),
                "" if failed else after_loop(time),
            )
            if text
        ],
    )


def _outcome(
    rule: Rule, evidence: Evidence, time: TimeSpent, savings: Savings, *, strict: bool
) -> tuple[list[Finding], NotChecked | None]:
    """The findings of a rule, or why it could not be evaluated."""
    if reason := _missing(rule, evidence.available) or _empty(rule.needs_rows, evidence):
        return [], NotChecked(rule.id, reason)
    try:
        found = findings.from_rows(rule, judge(rule, evidence), evidence, time, savings)
    except RuleError as error:
        if strict and not rule.foreign:
            raise
        return [], NotChecked(rule.id, error.what.removeprefix(f"{rule.id}: "), failed=True)
    except Exception as error:  # rows can have anything in them
        if not rule.foreign:
            raise
        return [], NotChecked(rule.id, f"its rows cannot be used: {error!r}", failed=True)
    reason = None if found else _says_nothing(rule, evidence)
    return found, NotChecked(rule.id, reason) if reason else None


def _says_nothing(rule: Rule, evidence: Evidence) -> str | None:
    """Why it is not known that a rule which found nothing has nothing to find."""
    return (
        _empty(rule.clear_needs_rows, evidence) or _cut(rule, evidence) or few_steps(rule, evidence)
    )


def _cut(rule: Rule, evidence: Evidence) -> str | None:
    """Why a rule without findings proves nothing: a table that it queries is incomplete."""
    if not evidence.cut:
        return None
    needed = (*rule.needs_rows, *rule.clear_needs_rows)
    queries = (rule.query, *(f'FROM "{name}"' for name in needed))
    looked_at = set().union(*map(evidence.database.tables_in, queries))
    return next((note for table, note in evidence.cut.items() if table in looked_at), None)


def _busy(evidence: Evidence, savings: Savings, used: Sequence[DeviceUse]) -> float | None:
    """The share of the time that the busiest device works, if it limits the current steps, both by
    the replay and in the timeline's own steps.
    """
    if savings.whatif.limited_by(_lead(evidence)) != "device":
        return None
    busiest = max((device.busy for device in used), default=0.0)
    return busiest if busiest >= _BUSY else None


def _lead(evidence: Evidence) -> int:
    return int(evidence.database.scalar("SELECT process FROM lead") or 0)


def judge(
    rule: Rule, evidence: Evidence, thresholds: Mapping[str, float] | None = None
) -> list[Row]:
    """The rows that a rule's query returns: a finding each, not yet merged.

    Args:
        thresholds: values that replace the rule's thresholds of the same name.

    Raises:
        RuleError: the query fails on this evidence, or takes too long.
    """
    database, parameters = evidence.database, rule.parameters(thresholds or {})
    if rule.foreign:
        return third_party.rows_of(rule, evidence, parameters)
    try:
        return database.within(_PATIENCE_S, lambda: database.rows(rule.query, parameters))
    except TimeoutError as error:
        raise RuleError(f"{rule.id}: its query took longer than {_PATIENCE_S:g} s") from error
    except duckdb.Error as error:
        raise RuleError(f"{rule.id}: its query failed: {error}") from error


def _missing(rule: Rule, available: Iterable[str]) -> str | None:
    """The rule's own sentence for the first need that the evidence does not meet.

    A need is a table, or several joined by ``|``, any of which is enough.
    """
    absent = [need for need in rule.needs if not set(need.split("|")) & set(available)]
    return rule.not_evaluated[absent[0]] if absent else None


def _empty(needed: Mapping[str, str], evidence: Evidence) -> str | None:
    """The sentence for the first of these tables and views that has no row."""
    for name, sentence in needed.items():
        if not evidence.database.has_rows(name):
            return sentence
    return None
