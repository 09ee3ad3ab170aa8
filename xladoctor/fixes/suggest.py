"""Safe patches as suggestions in a report."""

from __future__ import annotations

from dataclasses import replace

from xladoctor.diagnosis.finding import Finding, Replacement, Suggestion
from xladoctor.diagnosis.interface import Diagnosis
from xladoctor.evidence.interface import Evidence
from xladoctor.fixes.interface import Patch, Plan
from xladoctor.fixes.plan import diff


def with_suggestions(diagnosis: Diagnosis, evidence: Evidence, plan: Plan) -> Diagnosis:
    """The diagnosis with the safe patches of a plan at their findings."""
    safe = {id(patch.finding): patch for patch in plan.patches if patch.effect == "safe"}

    def suggested(finding: Finding) -> Finding:
        patch = safe.get(id(finding))
        if patch is None:
            return finding
        return replace(finding, suggestion=_suggestion(patch, evidence, plan))

    return replace(diagnosis, findings=[*map(suggested, diagnosis.findings)])


def _suggestion(patch: Patch, evidence: Evidence, plan: Plan) -> Suggestion:
    return Suggestion(
        patch.change.title,
        evidence.shown(str(patch.file)) or str(patch.file),
        [
            Replacement(
                edit.begin.line, edit.begin.column, edit.end.line, edit.end.column, edit.text
            )
            for edit in sorted(patch.change.edits)
        ],
        "\n".join(diff(patch, plan.root)),
    )
