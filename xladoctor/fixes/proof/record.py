"""What the run directory keeps of patches that were tried: the rows of ``tried_patch``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from xladoctor.evidence.interface import Evidence
from xladoctor.fixes.interface import FixError, Patch
from xladoctor.fixes.proof.interface import KEPT, Proof
from xladoctor.recording.interface import RunDirectory
from xladoctor.whole_files import write_text


def write_proofs(run: RunDirectory, proofs: Sequence[Proof]) -> None:
    """Write what came of patches, for later reports. Raises FixError."""
    try:
        write_text(run.fixes, json.dumps([tried(proof) for proof in proofs], indent=1) + "\n")
    except OSError as error:
        raise FixError(f"cannot write {run.fixes}: {error.strerror}") from error


def tried(proof: Proof) -> dict[str, Any]:
    """The fields of :class:`~xladoctor.facts.run.TriedPatch`."""
    patch, times = proof.patch, proof.times
    return {
        "rule": patch.finding.rule,
        "fingerprint": patch.finding.fingerprint,
        "kind": patch.kind,
        "title": patch.change.title,
        "digest": patch.digest,
        "outcome": proof.outcome,
        "predicted_s": proof.predicted_s,
        "before_s": proof.before_s,
        "after_s": proof.after_s,
        "times_as_fast": times and times.value,
        "least": (times and times.low) or None,
    }


def held(patches: Sequence[Patch], evidence: Evidence) -> list[Patch]:
    """The patches that were tried after the run, as they are now, and hold."""
    rows = evidence.database.rows("SELECT digest, outcome FROM tried_patch")
    found = {row["digest"] for row in rows if row["outcome"] in KEPT}
    return [patch for patch in patches if patch.digest in found]
