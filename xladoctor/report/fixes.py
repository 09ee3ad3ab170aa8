"""Patches as a diff with what they do and what came of trying them, or as JSON."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any, TextIO

from rich.console import RenderableType
from rich.text import Text

from xladoctor.diagnosis.finding import Finding
from xladoctor.fixes.interface import Patch, Plan, Skip
from xladoctor.fixes.plan import diff
from xladoctor.fixes.proof.interface import Proof
from xladoctor.foreign import clean
from xladoctor.quantities import counted, duration, first_few
from xladoctor.report.interface import Style
from xladoctor.report.output import Format
from xladoctor.report.patches import diff_line
from xladoctor.report.text import inset, plain, styled, write
from xladoctor.report.words import gain_of, sentence

SCHEMA_VERSION = 1
_FEW = 5  # names in a line
_COLORS = {"+": 32, "-": 31, "@": 36}
_OUTCOMES = {
    "verified": "green",
    "helps less than predicted": "yellow",
    "does not help": "yellow",
    "changes the results": "red",
    "not comparable": "yellow",
    "fails": "red",
    "not tried": "yellow",
}


def render(
    name: Format, plan: Plan, proofs: Sequence[Proof] | None, output: TextIO, style: Style
) -> None:
    """Write the plan, and the proofs if the patches were tried."""
    if name is Format.json:
        output.write(json.dumps(record(plan, proofs), indent=1, ensure_ascii=False) + "\n")
        return
    for part in _parts(plan, proofs, style):
        if isinstance(part, list):
            output.writelines(f"{exact(line, style)}\n" for line in part)
        else:
            write([part], output, style)


def exact(line: str, style: Style) -> str:
    """A line of a diff as ``git apply`` takes it: neither broken nor stripped."""
    if style.verbatim:
        text = line
    else:
        text = clean(line, lines=True) if style.unicode else plain(line, style)
    color = _COLORS.get(line[:1]) if style.color else None
    return f"\x1b[{color}m{text}\x1b[0m" if color else text


def _parts(
    plan: Plan, proofs: Sequence[Proof] | None, style: Style
) -> Iterator[RenderableType | list[str]]:
    by_patch = {id(proof.patch): proof for proof in proofs or ()}
    described = set[int]()  # patches with which what follows was tried
    for patch in plan.patches:
        proof = by_patch.get(id(patch))
        yield from _patch(patch, plan, None if id(patch) in described else proof, style)
        if proof is not None and id(patch) in described:
            yield from _verdict(proof, "", style)
        described.update(id(each) for each in (proof.others if proof else ()))
        yield Text()
    if plan.skips:
        yield Text("no patch", style="bold")
        for skip in plan.skips:
            yield from _skip(skip, style)
        yield Text()
    yield Text(_summary(plan, proofs), style="bold")


def _patch(
    patch: Patch, plan: Plan, proof: Proof | None, style: Style
) -> Iterator[RenderableType | list[str]]:
    """The parts that say what a patch does, and its diff as lines."""
    finding, change = patch.finding, patch.change
    at = finding.locations[0]
    heading = Text(f"{finding.rule} ", style="bold")
    heading.append(f"{plain(at.file, style)}:{at.line}  ", style="cyan")
    heading.append(plain(change.title, style), style="bold")
    yield heading
    if change.behaviour:
        yield _labelled("changes behaviour", change.behaviour, style)
    for text in change.relies_on:
        yield _labelled("assumes", text, style)
    if proof is None and finding.saving.seconds:
        yield _labelled("saves", f"{gain_of(finding)} (predicted)", style)
    yield diff(patch, plan.root, plan.patches[: plan.patches.index(patch)])
    if proof is not None:
        yield from _proof(proof, style)


def _labelled(label: str, text: str, style: Style) -> RenderableType:
    return inset(Text(f"{label}: {plain(text, style)}"))


def _proof(proof: Proof, style: Style) -> Iterator[RenderableType]:
    timed = proof.times and proof.before_s and proof.after_s
    yield from _verdict(proof, f": {_times(proof)}" if timed else "", style)
    if proof.note:
        yield inset(Text(sentence(proof.note)))
    if proof.same:
        yield _labelled("same", first_few(proof.same, _FEW), style)
    for name, was, now in proof.counts:
        yield styled(f"  {name.replace('_', ' ')}: {was:g} → {now:g}", style)
    if proof.new:
        yield Text(f"  new findings: {', '.join(proof.new)}", style="yellow")
    for line in proof.differs:
        yield inset(diff_line(line, style), 4)


def _verdict(proof: Proof, more: str, style: Style) -> Iterator[RenderableType]:
    text = Text(proof.outcome, style=f"bold {_OUTCOMES[proof.outcome]}")
    together = f", together with {_titles(proof)}" if proof.others else ""
    text.append(plain(f"{together}{more}", style), style="not bold default")
    yield inset(text)
    if proof.reason:
        yield inset(Text(sentence(proof.reason)))


def _titles(proof: Proof) -> str:
    """The patches that were tried with one."""
    lines = [f"{each.finding.rule} line {each.finding.locations[0].line}" for each in proof.others]
    return first_few(lines, _FEW)


def _times(proof: Proof) -> str:
    times, before, after = proof.times, proof.before_s or 0.0, proof.after_s or 0.0
    assert times is not None  # noqa: S101 - the caller has looked
    spread = f", 95 % interval {times.low:.3g} to {times.high:.3g}" if times.low else ""
    loop = "loop after warm-up" if proof.after_warmup else "loop"
    said = ""
    if proof.predicted_s:
        most = "at least " if proof.bound else ""
        said = f" (predicted {most}{duration(max(0.0, before - proof.predicted_s))})"
    return (
        f"{loop} {duration(before)} → {duration(after)}{said}; {times.value:.3g} times as"
        f" fast{spread}"
    )


def _skip(skip: Skip, style: Style) -> Iterator[RenderableType]:
    finding = skip.finding
    at = f" {finding.locations[0].file}:{finding.locations[0].line}" if finding.locations else ""
    yield inset(Text(f"{finding.rule}{plain(at, style)}: {plain(skip.reason, style)}"))
    if skip.instead:
        yield inset(Text(f"by hand: {plain(skip.instead, style)}"), 4)


def _summary(plan: Plan, proofs: Sequence[Proof] | None) -> str:
    count, left = len(plan.patches), len(plan.skips)
    if not count and not left:
        return "no findings, so nothing to fix"
    text = f"{count} patch{'es' * (count != 1)}"
    if left:
        text += f", {counted(left, 'finding')} without one"
    if proofs is None:
        it = "it" if count == 1 else "them"
        return f"{text}; --verify tries {it}, --write makes verified ones" if count else text
    outcomes = Counter(proof.outcome for proof in proofs)
    return ": ".join([text, ", ".join(f"{n} {name}" for name, n in outcomes.items())]).rstrip(": ")


def record(plan: Plan, proofs: Sequence[Proof] | None) -> dict[str, Any]:
    """As JSON: see docs/agents.md."""
    by_patch = {id(proof.patch): proof for proof in proofs or ()}
    return {
        "schema_version": SCHEMA_VERSION,
        "root": str(plan.root),
        "patches": [_patch_record(patch, plan, by_patch.get(id(patch))) for patch in plan.patches],
        "skips": [
            _named(skip.finding) | {"reason": skip.reason, "instead": skip.instead or None}
            for skip in plan.skips
        ],
    }


def _named(finding: Finding) -> dict[str, Any]:
    return {"rule": finding.rule, "fingerprint": finding.fingerprint}


def _patch_record(patch: Patch, plan: Plan, proof: Proof | None) -> dict[str, Any]:
    return {
        **_named(patch.finding),
        "kind": patch.kind,
        "title": patch.change.title,
        "effect": patch.effect,
        "behaviour": patch.change.behaviour or None,
        "relies_on": list(patch.change.relies_on),
        "file": str(patch.file),
        "sha256": patch.sha256,
        "edits": [asdict(edit) for edit in sorted(patch.change.edits)],
        "diff": "\n".join(diff(patch, plan.root)) + "\n",
        "predicted_s": patch.finding.saving.seconds,
        "proof": None if proof is None else _proof_record(proof),
    }


def _proof_record(proof: Proof) -> dict[str, Any]:
    times = proof.times
    return {
        "outcome": proof.outcome,
        "kept": proof.is_kept,
        "before_s": proof.before_s,
        "after_s": proof.after_s,
        "after_warmup": proof.after_warmup,
        "times": times and {"value": times.value, "low": times.low, "high": _finite(times.high)},
        "reason": proof.reason or None,
        "note": proof.note or None,
        "counts": {name: {"before": was, "after": now} for name, was, now in proof.counts},
        "new_findings": list(proof.new),
        "same": list(proof.same),
        "differs": list(proof.differs),
        "together_with": [each.finding.fingerprint for each in proof.others],
    }


def _finite(number: float) -> float | None:
    return None if number == float("inf") else number
