"""What the run directory keeps of a patch that was tried: a row of ``tried_patch``."""

from __future__ import annotations

from typing import Any

from xladoctor.fixes.proof.interface import Proof


def tried(proof: Proof) -> dict[str, Any]:
    """The fields of :class:`~xladoctor.facts.run.TriedPatch`."""
    patch, times = proof.patch, proof.times
    return {
        "rule": patch.finding.rule,
        "fingerprint": patch.finding.fingerprint,
        "kind": patch.kind,
        "title": patch.change.title,
        "outcome": proof.outcome,
        "predicted_s": proof.predicted_s,
        "before_s": proof.before_s,
        "after_s": proof.after_s,
        "times_as_fast": times and times.value,
        "least": (times and times.low) or None,
    }
