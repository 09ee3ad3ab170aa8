"""The application: takes a path through all stages to a diagnosis.

load (``ingest``, ``evidence``) → derive (``causes``) → diagnose (``diagnosis``) → keep, in the run
directory. Commands, the in-process capture and expectations call it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from xladoctor import timings
from xladoctor.foreign import clean, quoted
from xladoctor.repository import from_here
from xladoctor.storage.address import is_url

if TYPE_CHECKING:
    from xladoctor.configuration.interface import Configured
    from xladoctor.diagnosis.examination import Examination, Extras
    from xladoctor.diagnosis.interface import Diagnosis
    from xladoctor.diagnosis.rule import Rule
    from xladoctor.diagnosis.selection import Selection
    from xladoctor.evidence.interface import Evidence, Origin, Period
    from xladoctor.facts.records import TpuCheckFile
    from xladoctor.fixes.interface import Plan
    from xladoctor.ingest.interface import Ingested, Progress
    from xladoctor.kept_diagnoses import KeptDiagnosis
    from xladoctor.pods.where import Where
    from xladoctor.recording.interface import RunDirectory, RunOutcome


def selection(configured: Configured) -> Selection:
    """The rules as configured. Raises ConfigurationError and RuleError."""
    from xladoctor.configuration.selection import select

    timings.done("start")
    known, notes = _all_rules(configured)
    where = str(configured.source or "configuration")
    selected = select(known, configured.settings, where, configured.options)
    timings.done("rules")
    return replace(selected, notes=notes)


def load_evidence(
    path: str | Sequence[str],
    session: str | None = None,
    progress: Progress | None = None,
) -> Evidence:
    """Load the evidence at a path, with the causes of its compilations; of many hosts what is kept
    of each (:mod:`xladoctor.pods`).

    Args:
        path: a run directory or file, or a URL of one, ``-`` for standard input; or several files
            and directories with evidence of one program.
        session: which of several timelines to read.
        progress: receives how much of a large file has been read.

    Raises:
        IngestError: there is nothing, or nothing that can be read.
        StorageError: a URL cannot be read.
    """
    from xladoctor.pods.members import find_large_pod

    if pod := find_large_pod(path, session):
        from xladoctor.configuration.interface import Configured
        from xladoctor.pods.joined import join_pod

        return join_pod(pod, selection(Configured(folder=Path.cwd())), progress=progress).noted
    return _load_alone(path, session, progress)


def _load_alone(
    path: str | Sequence[str],
    session: str | None = None,
    progress: Progress | None = None,
    lost: tuple[str, ...] = (),
) -> Evidence:
    """The same in this process, of a run directory without those of other hosts in it."""
    from xladoctor.causes.derive import derive
    from xladoctor.evidence.busy import busy_notes
    from xladoctor.evidence.load import load

    evidence, lost = load(path, session, progress), tuple(map(clean, lost))
    evidence = replace(evidence, notes=(*evidence.notes, *lost), lost=(*evidence.lost, *lost))
    evidence = derive(evidence)
    evidence = replace(evidence, notes=(*evidence.notes, *busy_notes(evidence.database)))
    timings.done("causes")
    return evidence


def evidence_of(
    ingested: Ingested,
    path: str,
    origin: Origin,
    within: Period | None = None,
    frontend: str | None = None,
) -> Evidence:
    """The evidence from a reader's result, with the causes of its compilations.

    Args:
        path, origin: as in :class:`Evidence`.
        within: the part of the run that is judged, if not all of it.
        frontend: that of the program, if no process names one.
    """
    from xladoctor.causes.derive import derive
    from xladoctor.evidence.load import build

    return derive(build(ingested, path, origin, frontend), within)


def diagnose(
    evidence: Evidence,
    selection: Selection,
    total_steps: int | None = None,
    *,
    pictures: bool = False,
    of_graphs: bool = False,
) -> Diagnosis:
    """Judge evidence by the selected rules; a rule that fails counts as not evaluated.

    Args:
        of_graphs: whether the rules are those about what a TPU's compiler decided.
        total_steps: length of a run to project savings to.
        pictures: whether an output format draws; otherwise only excerpts are made.
    """
    from xladoctor.diagnosis import engine
    from xladoctor.diagnosis.pictures import make
    from xladoctor.diagnosis.pictures.interface import Pictures

    if evidence.origin.kind == "graphs" and not of_graphs:
        return _diagnose_graphs(evidence, selection, pictures=pictures)
    diagnosis = engine.diagnose(evidence, selection, total_steps, strict=False)
    timings.done("judging")
    if pictures:
        drawn = make.pictures(evidence, diagnosis)
    else:
        drawn = Pictures(excerpts=make.excerpts(evidence, diagnosis))
    return replace(diagnosis, warnings=[*diagnosis.warnings, *selection.notes], pictures=drawn)


def rules(configured: Configured) -> list[Rule]:
    """All rules that are configured or installed. Raises RuleError."""
    return _all_rules(configured)[0]


def _all_rules(configured: Configured) -> tuple[list[Rule], list[str]]:
    from xladoctor.diagnosis.pack import all_rules

    return all_rules(configured.folder / name for name in configured.settings.rules)


def examine(
    path: str | Sequence[str],
    selection: Selection,
    total_steps: int | None = None,
    *,
    session: str | None = None,
    progress: Progress | None = None,
    extras: Extras | None = None,
    where: Where | None = None,
) -> Examination:
    """Load a path, and diagnose it; arguments and errors as above.

    Args:
        extras: what formats show besides; nothing by default.
        where: where many hosts are reduced; by default in processes of this machine.

    Raises:
        ClusterError: the cluster cannot be used.
    """
    from xladoctor.kept_diagnoses import KeptDiagnosis
    from xladoctor.pods.members import find_large_pod

    if pod := find_large_pod(path, session, where):
        from xladoctor.pods.joined import examine_pod

        return examine_pod(pod, selection, total_steps, where, progress)
    load = cache(partial(_load_alone, path, session, progress))
    kept = KeptDiagnosis(path, selection, total_steps, session)
    return _examined(kept, load, selection, total_steps, extras)


def examine_joined(
    path: str,
    selection: Selection,
    *,
    session: str | None = None,
    progress: Progress | None = None,
    pictures: bool = False,
) -> Examination:
    """As :func:`examine`; of many hosts, what is kept of each is judged as if it were of one."""
    from xladoctor.diagnosis.examination import Extras
    from xladoctor.kept_diagnoses import KeptDiagnosis

    load = cache(partial(load_evidence, path, session, progress))
    kept = KeptDiagnosis(path, selection, None, session)
    return _examined(kept, load, selection, None, Extras(pictures=pictures))


def _examined(
    kept: KeptDiagnosis,
    load: Callable[[], Evidence],
    selection: Selection,
    total_steps: int | None,
    extras: Extras | None = None,
) -> Examination:
    """The diagnosis that is kept, else a new one."""
    from xladoctor.diagnosis.examination import Examination, Extras

    extras = extras or Extras()
    diagnosis = was = kept.read(patches=extras.patches)
    if diagnosis is None:
        diagnosis = diagnose(load(), selection, total_steps)
        if extras.patches:
            from xladoctor.fixes.suggest import with_patches

            diagnosis = with_patches(diagnosis, load())
    if extras.pictures and not (diagnosis.pictures and diagnosis.pictures.drawn):
        from xladoctor.diagnosis.pictures import make

        diagnosis = replace(diagnosis, pictures=make.pictures(load(), diagnosis))
    if diagnosis is not was:
        kept.keep(diagnosis, load(), patches=extras.patches)
    return Examination(diagnosis, load)


def examine_run(
    run: RunDirectory,
    selection: Selection,
    total_steps: int | None = None,
    *,
    progress: Progress | None = None,
    lost: tuple[str, ...] = (),
    extras: Extras | None = None,
) -> Examination:
    """Load and diagnose a run directory, and keep the diagnosis there if it can be written."""
    from xladoctor.diagnosis.examination import Examination, Extras
    from xladoctor.fixes.suggest import with_patches
    from xladoctor.kept_diagnoses import KeptDiagnosis
    from xladoctor.report.output import say
    from xladoctor.report.run_files import write_diagnosis

    path, extras = str(from_here(run.path)), extras or Extras()
    kept = KeptDiagnosis(path, selection, total_steps)
    evidence = _load_alone(path, progress=progress, lost=lost)
    diagnosis = diagnose(evidence, selection, total_steps, pictures=extras.pictures)
    try:
        write_diagnosis(run, diagnosis)
    except OSError as error:
        say(f"cannot write {run.diagnosis}: {error.strerror}")
    if extras.patches:
        diagnosis = with_patches(diagnosis, evidence)
    if not lost:
        kept.keep(diagnosis, evidence, patches=extras.patches)
    return Examination(diagnosis, lambda: evidence)


def examine_outcome(
    outcome: RunOutcome,
    selection: Selection,
    total_steps: int | None = None,
    extras: Extras | None = None,
) -> Iterator[Examination]:
    """The examination of each program that a command ran, in order.

    Raises:
        CaptureError: a run directory is gone.
        IngestError: there is nothing in it to diagnose.
    """
    from xladoctor.ingest.interface import IngestError
    from xladoctor.recording.interface import CaptureError

    for run in outcome.runs:
        if not run.path.exists():
            raise CaptureError(
                f"the run directory {run.path} is gone, and what was captured with it",
                "something removed it while the program ran",
            )
        try:
            examination = examine_run(run, selection, total_steps, lost=outcome.lost, extras=extras)
        except IngestError as error:
            raise IngestError([*error.what.splitlines(), *outcome.lost], error.hint) from error
        yield examination


def examine_tpu_check(
    checked: TpuCheckFile, path: str, selection: Selection, *, pictures: bool = False
) -> Diagnosis:
    """The diagnosis of what a TPU's compiler decided, apart from what the program did.

    Args:
        path: where the graphs are from; of a run, its directory, which keeps the check.

    Raises:
        IngestError: the run cannot be read.
        OutputError: the check cannot be written there.
    """
    from xladoctor.evidence.interface import Elsewhere
    from xladoctor.evidence.pod_runs import is_run
    from xladoctor.ingest.interface import Ingested
    from xladoctor.ingest.tpu_checks import add_tpu_check
    from xladoctor.recording.interface import RunDirectory
    from xladoctor.report.run_files import write_tpu_check

    if is_run(Path(path)):
        write_tpu_check(RunDirectory(Path(path)).tpu_check, checked)
        evidence = load_evidence(path)
    else:
        ingested = Ingested()
        add_tpu_check(checked, ingested)
        evidence = evidence_of(ingested, path, Elsewhere("graphs"), frontend=checked.frontend)
    return _diagnose_graphs(evidence, selection, pictures=pictures)


def _diagnose_graphs(evidence: Evidence, selection: Selection, *, pictures: bool) -> Diagnosis:
    """Judge what a TPU's compiler decided, apart from what the program did."""
    from xladoctor.diagnosis.tpu_graphs import about_tpus

    rules = [rule for rule in selection.rules if rule.applies_to.with_table == "tpu_graph"]
    chosen = replace(selection, rules=rules)
    return about_tpus(diagnose(evidence, chosen, pictures=pictures, of_graphs=True))


def plan_fixes(
    path: str, selection: Selection, root: Path | None = None, progress: Progress | None = None
) -> tuple[Diagnosis, Plan]:
    """Diagnose a run, and make patches for its findings.

    Args:
        root: the project, by default the repository of the run.

    Raises:
        FixError: it is not a run, and so does not say where its files are.
    """
    from xladoctor.fixes.interface import FixError
    from xladoctor.fixes.plan import plan
    from xladoctor.fixes.proof.record import held
    from xladoctor.kept_diagnoses import KeptDiagnosis
    from xladoctor.pods.members import find_large_pod

    if pod := find_large_pod(path):
        raise FixError(
            f"{pod.shown} is of several hosts, and a fix is made for the run of one",
            f"xladoctor fix {quoted(pod.members[0].shown)}",
        )
    load = cache(partial(_load_alone, path, None, progress))
    if load().manifest is None or load().root is None:
        raise FixError(
            f"{path} is not a run of `xladoctor run`, and so does not say which files ran",
            "run the program with `xladoctor run`",
        )
    kept = KeptDiagnosis(path, selection, None)
    examination = _examined(kept, load, selection, None)
    evidence, diagnosis = examination.evidence, examination.diagnosis
    made = plan(evidence, diagnosis, root or Path(evidence.root or ""))
    return diagnosis, replace(made, held=held(made.patches, evidence))


def add_ignores(examinations: Sequence[Examination]) -> list[str]:
    """Write a comment for each finding into the program's files; return messages about each.

    Raises:
        IngestError: a run directory can no longer be read.
    """
    from xladoctor.diagnosis.add_ignores import add_ignores

    runs, others = [], []
    for examination in examinations:
        run = examination.diagnosis.run
        if run.kind == "run" and not is_url(run.path):
            runs.append((examination.evidence, examination.diagnosis.findings))
        else:
            others.append(
                f"{run.path}: nothing written: this needs a run directory on this machine"
            )
    return [*others, *add_ignores(runs)]
