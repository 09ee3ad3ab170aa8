"""Makes one evidence of a job's hosts, each reduced by itself, and diagnoses them together."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from pydantic import TypeAdapter

from xladoctor import timings
from xladoctor.causes.clocks import with_clocks
from xladoctor.diagnosis import engine
from xladoctor.diagnosis.by_host import ByHost, HostDiagnosis, by_host
from xladoctor.diagnosis.examination import Examination
from xladoctor.diagnosis.interface import Diagnosis
from xladoctor.diagnosis.selection import Selection
from xladoctor.evidence.interface import Elsewhere, Evidence
from xladoctor.evidence.load import build
from xladoctor.foreign import clean
from xladoctor.frontends.vocabulary import DEFAULT
from xladoctor.ingest.interface import Ingested, IngestError, Progress
from xladoctor.pods import cache, engines, kept
from xladoctor.pods.engines import ClusterError
from xladoctor.pods.host import Reduced, reduce_host
from xladoctor.pods.members import Member, Pod
from xladoctor.pods.where import Where
from xladoctor.whole_files import replacing


@dataclass(frozen=True, slots=True)
class JoinedPod:
    """The joined evidence, what was found on each host, and by process what it is from."""

    evidence: Evidence
    hosts: ByHost
    sources: dict[int, str]

    @property
    def noted(self) -> Evidence:
        """The evidence with the notes on its hosts, for whoever shows no diagnosis of it."""
        return replace(self.evidence, notes=(*self.evidence.notes, *self.hosts.notes))


def join_pod(
    pod: Pod, selection: Selection, where: Where | None = None, progress: Progress | None = None
) -> JoinedPod:
    """Reduce the hosts that are not kept already, and join all.

    Args:
        where: by default in processes of this machine.

    Raises:
        IngestError: none can be read.
        ClusterError: the cluster cannot be used.
    """
    with tempfile.TemporaryDirectory(prefix="xladoctor-") as folder:
        files, left_out = dict[Member, Path](), list[str]()
        for member, kept_or_fault in _reduced(
            pod.members, selection, where or Where(), progress, Path(folder)
        ):
            if isinstance(kept_or_fault, Path):
                files[member] = kept_or_fault
            else:
                left_out.append(clean(kept_or_fault))
        if not files:
            raise IngestError(
                [f"{pod.shown}: none of its {len(pod.members)} hosts can be read", *left_out[:3]]
            )
        ordered = {member: files[member] for member in pod.members if member in files}
        joined = _joined(pod, ordered, sorted(left_out))
    timings.done("hosts")
    return joined


def _reduced(
    members: Sequence[Member],
    selection: Selection,
    where: Where,
    progress: Progress | None,
    folder: Path,
) -> Iterator[tuple[Member, Path | str]]:
    """The file that is kept of each member, or why there is none, in any order."""
    digest = selection.digest
    missing = list[Member]()
    for member in members:
        file = cache.kept_unread(member, digest)
        if file is None or not kept.is_whole(file):
            missing.append(member)
        else:
            yield member, file
    if not missing:
        return
    work = partial(reduce_host, selection=selection)
    if where.cluster is None:
        workers = where.workers or os.cpu_count() or 1
        results = engines.on_this_machine(work, missing, workers)
    else:
        results = engines.on_cluster(work, missing, where.cluster)
    if progress:
        progress.start(sum(member.bytes for member in missing), f"{len(missing)} hosts")
    try:
        for member, result in results:
            yield member, _kept(member, result, digest, folder)
            if progress:
                progress.advance(member.bytes)
    finally:
        if progress:
            progress.done()
    cache.remove_oldest()


def _kept(
    member: Member, result: Reduced | engines.WorkerDiedError, digest: str, folder: Path
) -> Path | str:
    if isinstance(result, engines.WorkerDiedError):
        return f"{member.shown}: {result.what} ({result.hint})"
    if result.made_by != kept.made_by():
        raise ClusterError(
            f"the cluster's workers have xladoctor {result.made_by.split()[0]}, and here it is"
            f" {kept.made_by().split()[0]}",
            "install the same version on both",
        )
    if result.fault:
        return result.fault
    file = cache.keep(result.key, result.content) if result.key else None
    if file is not None:
        cache.note_seen(member, digest, result.key)
        return file
    file = folder / f"{len(list(folder.iterdir()))}.parquet"
    with replacing(file) as new:
        new.write(result.content)
    return file


def _joined(pod: Pod, files: Mapping[Member, Path], left_out: Sequence[str]) -> JoinedPod:
    about = kept.read_about(sorted(set(files.values())))
    first, firsts, sources = 0, list[tuple[Path, int]](), dict[int, str]()
    hosts = list[HostDiagnosis]()
    known = TypeAdapter(Diagnosis)
    for member, file in files.items():
        diagnosis = known.validate_json(about[file].diagnosis)
        firsts.append((file, first))
        hosts.append(HostDiagnosis(diagnosis, first, member.shown))
        sources |= dict.fromkeys(range(first, first + about[file].processes), member.shown)
        first += about[file].processes
    each = [about[file] for file in files.values()]
    frontend = next((a.frontend for a in each if a.frontend), DEFAULT)
    folders = {(host.diagnosis.run.cwd, host.diagnosis.run.root) for host in hosts}
    origin = Elsewhere("pod", *(folders.pop() if len(folders) == 1 else ()))
    evidence = build(Ingested(), pod.shown, origin, frontend)
    kept.fill(evidence.database, firsts)
    evidence.database.create_views("derived")
    lost = [f"{fault}; left out" for fault in left_out]
    evidence = replace(
        evidence,
        available=frozenset().union(*(a.available for a in each)),
        notes=(*pod.notes, *lost),
        lost=(*lost, *(note for a in each for note in a.lost)),
        cut={table: note for a in each for table, note in a.cut.items()},
    )
    return JoinedPod(with_clocks(evidence), by_host(hosts, left_out), sources)


def examine_pod(
    pod: Pod,
    selection: Selection,
    total_steps: int | None,
    where: Where | None,
    progress: Progress | None,
) -> Examination:
    """Judge what is kept of each host, and add what was found on each; arguments and errors as of
    :func:`xladoctor.doctor.examine`.
    """
    joined = join_pod(pod, selection, where, progress)
    diagnosis = engine.diagnose(
        joined.evidence, selection, total_steps, strict=False, hosts=joined.hosts
    )
    timings.done("judging")
    compared = diagnosis.pod and replace(
        diagnosis.pod,
        processes=[
            replace(process, path=joined.sources[int(process.process)])
            for process in diagnosis.pod.processes
        ],
    )
    warnings = [*diagnosis.warnings, *selection.notes]
    examined = replace(diagnosis, pod=compared, warnings=warnings)
    return Examination(examined, lambda: joined.noted)
