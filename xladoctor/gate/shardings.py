"""Holds the shardings and collectives of a run against the baseline's."""

from __future__ import annotations

from dataclasses import replace

from xladoctor.diagnosis.interface import Consumer, Count, Diagnosis
from xladoctor.diagnosis.sharding_changes import Golden, ProgramShardings, changes, golden
from xladoctor.repository import portable

#: The budget that a baseline with shardings sets.
CHANGES = "max_sharding_changes"
_WORSE = ("new", "larger", "changed")
_UNKNOWN = "no compiled program, though the baseline has the shardings of some"


def recorded(diagnosis: Diagnosis) -> dict[str, ProgramShardings] | None:
    """As the baseline keeps them, with files that are the same on every machine."""
    run, found = diagnosis.run, diagnosis.shardings
    kept = golden(found, lambda file: portable(file, run.cwd, run.root)) if found else None
    return dict(kept) if kept else None


def against(known: Golden | None, diagnosis: Diagnosis) -> tuple[Diagnosis, list[str]]:
    """The diagnosis with the count of changes for the worse, and a note on each of the others."""
    if known is None:
        return diagnosis, []
    count, others = Count("sharding_changes", None, _UNKNOWN), []
    if diagnosis.shardings is not None:
        lines, calls = [], {each.name: each.location for each in diagnosis.shardings}
        for each in changes(known, golden(diagnosis.shardings)):
            said = f"{each.what} in {each.program}: was {each.was}, now {each.now}"
            if each.state in _WORSE:
                lines.append(Consumer(each.location or calls[each.program], 1.0, 1, said))
            else:
                others.append(f"{each.state}: {said}")
        count = Count("sharding_changes", float(len(lines)), None, lines)
    return replace(diagnosis, counts=[*diagnosis.counts, count]), others
