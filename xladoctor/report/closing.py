"""The end of a report on a terminal: what was judged, notes, and what to do next."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.text import Text

from xladoctor.diagnosis.basis import LITTLE, share_of_loop
from xladoctor.diagnosis.finding import Finding
from xladoctor.diagnosis.interface import Diagnosis
from xladoctor.evidence.busy import BUSY
from xladoctor.foreign import quoted
from xladoctor.report.interface import Style
from xladoctor.report.next_command import next_command
from xladoctor.report.text import Hanging, styled
from xladoctor.report.words import ignored_ones, outcomes, unjudged, unjudged_in_short


def is_brief(style: Style) -> bool:
    """Whether the report is one screen."""
    return style.detail.top is None and not style.detail.verbose


def to_do_first(diagnosis: Diagnosis) -> Finding | None:
    """The finding that a screen shows: the first to fix, else the one that saves most, if anything;
    None if there is nothing to do.
    """
    findings = diagnosis.findings
    if to_fix := [finding for finding in findings if finding.severity != "info"]:
        return to_fix[0]
    shares = [share_of_loop(finding.saving, diagnosis.time) for finding in findings]
    most = max(shares, default=0.0)
    return findings[shares.index(most)] if most >= LITTLE else None


def closing(diagnosis: Diagnosis, raw: Diagnosis, style: Style) -> Group:
    """What was judged, and commands, in which names are verbatim.

    Args:
        diagnosis: the diagnosis with printable texts.
        raw: the diagnosis with verbatim texts.
    """
    rows: list[RenderableType] = [Text(outcomes(diagnosis), style="bold")]
    skipped = diagnosis.not_checked
    if is_brief(style) and to_do_first(diagnosis):
        skipped = [rule for rule in skipped if rule.failed]
    said = unjudged(skipped) if style.detail.verbose else unjudged_in_short(skipped)
    said += ignored_ones(diagnosis.ignored) if style.detail.ignored else []
    rows += [Hanging(styled(text, style, "dim")) for text in said]
    rows += [Hanging(styled(f"note: {w}", style, "yellow")) for w in _notes(diagnosis, style)]
    rows += [Text(f"  {text}", overflow="fold") for text in _commands(diagnosis, raw, style)]
    return Group(*rows)


def _notes(diagnosis: Diagnosis, style: Style) -> list[str]:
    """The notes; on a screen without what the verdict says."""
    said = is_brief(style) and BUSY in diagnosis.verdict.text.lower()
    return [note for note in diagnosis.warnings if not (said and note.startswith(BUSY))]


def _commands(diagnosis: Diagnosis, raw: Diagnosis, style: Style) -> Iterator[str]:
    path, ours = quoted(raw.run.path), diagnosis.run.kind in ("run", "remote")
    if ours and not is_brief(style):
        yield f"run directory: {path}"
    if diagnosis.run.kind not in ("files", "graphs"):
        if is_brief(style):
            yield f"in full: xladoctor analyze {path} -v"
        elif style.detail.verbose:
            yield f"this report again: xladoctor analyze {path}"
            if any(finding.compilations for finding in diagnosis.findings):
                yield f"every compilation: xladoctor compilations {path}"
    if following := next_command(raw):
        yield f"next, {following[0]}: {following[1]}"
