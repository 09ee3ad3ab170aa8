"""The patches for findings as reports show them."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from xladoctor import timings
from xladoctor.diagnosis.finding import Replacement, Suggestion
from xladoctor.diagnosis.interface import Diagnosis
from xladoctor.fixes.interface import FixError, Patch, Plan
from xladoctor.recording.bootstrap._xladoctor.redaction import redact_code
from xladoctor.storage.address import is_url

if TYPE_CHECKING:
    from xladoctor.evidence.interface import Evidence  # which loads the database


def with_patches(diagnosis: Diagnosis, evidence: Evidence) -> Diagnosis:
    """The diagnosis with the patches for its findings: none if the program's files are elsewhere,
    or if no rule among them has a kind of patch.
    """
    if (
        diagnosis.run.kind != "run"
        or is_url(diagnosis.run.path)
        or evidence.manifest is None
        or evidence.root is None
        or not any(diagnosis.pack[each.rule].fix_by for each in diagnosis.findings)
    ):
        return diagnosis
    from xladoctor.fixes.plan import plan

    made = plan(evidence, diagnosis, Path(evidence.root), for_report=True)
    patches = {}
    for patch in made.patches:
        with suppress(FixError):  # its file has changed meanwhile
            patches[patch.finding.fingerprint] = _suggestion(patch, evidence, made)
    timings.done("patches")
    findings = [
        replace(finding, suggestion=patches.get(finding.fingerprint))
        for finding in diagnosis.findings
    ]
    return replace(diagnosis, findings=findings)


def _suggestion(patch: Patch, evidence: Evidence, plan: Plan) -> Suggestion:
    from xladoctor.fixes.plan import diff

    return Suggestion(
        patch.change.title,
        evidence.shown(str(patch.file)) or str(patch.file),
        [
            Replacement(
                edit.begin.line, edit.begin.column, edit.end.line, edit.end.column, edit.text
            )
            for edit in sorted(patch.change.edits)
        ],
        "\n".join(map(redact_code, diff(patch, plan.root, context=1))),
        patch.change.behaviour,
        list(patch.change.relies_on),
    )
