"""Ignores findings: by a comment, ``# xladoctor: ignore[RULE] reason``, and in files that the
configuration names.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator, Mapping, Sequence

from xladoctor.diagnosis.finding import Finding, Ignored, Location
from xladoctor.diagnosis.naming import fit
from xladoctor.diagnosis.source_line import comment
from xladoctor.evidence.interface import Evidence
from xladoctor.evidence.schema import TABLES
from xladoctor.evidence.source import ignores_in
from xladoctor.recording.bootstrap._xladoctor.ignores import COMMENT, Ignore
from xladoctor.repository import installed, matches, whole

#: Roles of the lines whose comments count.
ASKING = ("guilty", "caller", "operation")
_RAN = " UNION ALL ".join(
    f'SELECT {prefix}line AS line FROM "{name}" WHERE {prefix}file = $file'  # noqa: S608
    for name, table in TABLES.items()
    for prefix in ("", "user_")
    if {f"{prefix}file", f"{prefix}line"} <= set(table.columns) and name != "ignore_comment"
)


class Suppression:
    """The findings to ignore in a run."""

    def __init__(self, evidence: Evidence, globs: Mapping[str, Sequence[str]]) -> None:
        """``globs``: by rule id, globs of the files in which its findings are ignored."""
        self._evidence = evidence
        self._globs = globs
        self._comments: dict[str, list[Ignore]] = {}
        self._used: set[tuple[str, int, str]] = set()

    def split(self, findings: Sequence[Finding]) -> tuple[list[Finding], list[Ignored]]:
        """The findings to report, and those to ignore."""
        kept, ignored = [], []
        for finding in findings:
            reasons = [
                reason
                for place in finding.locations
                if place.role in ASKING
                for reason in self._reasons(finding.rule, place)
            ]
            if not reasons:
                kept.append(finding)
                continue
            place = finding.locations[0]
            ignored.append(
                Ignored(
                    finding.rule,
                    place.file,
                    place.line,
                    reasons[0],
                    finding.fingerprint,
                    place.function,
                    place.source,
                    finding.count,
                    finding.per_step,
                )
            )
        return kept, ignored

    def _reasons(self, rule: str, place: Location) -> Iterator[str]:
        file = whole(place.file, self._evidence.cwd)
        directives = [
            (each.line, each.text)
            for each in self._of(file)
            if each.first <= place.line <= each.last
        ]
        for line, text in (*directives, (place.line, comment(place.source or ""))):
            names, reason = parsed(text)
            fitting = [name for name in names if fit(rule, name)]
            self._used.update((file, line, name) for name in fitting)
            if fitting:
                yield reason
        path = self._evidence.portable(place.file)
        yield from (
            f"as configured for {glob}" for glob in self._globs.get(rule, ()) if matches(glob, path)
        )

    def notes(self, judged: Callable[[str], bool], known: Sequence[str]) -> list[str]:
        """Notes on faults of comments in the program's own files: they are malformed, name unknown
        rules, or did not match any finding although their lines ran.

        Call it after :meth:`split`.

        Args:
            judged: whether all rules were evaluated that a name in a comment stands for.
            known: ids of all rules.
        """
        files = [
            row["file"]
            for row in self._evidence.database.rows(
                "SELECT file FROM ignore_comment UNION SELECT file FROM source_line ORDER BY file"
            )
        ]
        root = posixpath.join(self._evidence.root or "", "")
        texts = []
        for file in files:
            if not (file and root and file.startswith(root)) or installed(file):
                continue
            idle = [
                (directive, names)
                for directive in self._of(file)
                if (
                    names := [
                        name
                        for name in parsed(directive.text)[0]
                        if judged(name) and (file, directive.line, name) not in self._used
                    ]
                )
            ]
            ran = self._ran(file) if idle else set()
            shown = self._evidence.shown(file)
            texts += [
                f"unclear ignore at {shown}:{directive.line}: {fault}"
                for directive in self._of(file)
                if (fault := _fault(directive.text, known))
            ]
            texts += [
                f"unused ignore at {shown}:{directive.line}: {', '.join(names)} did not fire"
                for directive, names in idle
                if any(directive.first <= line <= directive.last for line in ran)
            ]
        return texts

    def _ran(self, file: str) -> set[int]:
        """The lines of a file that are in the evidence, so that they ran."""
        return {row["line"] for row in self._evidence.database.rows(_RAN, {"file": file})}

    def _of(self, file: str) -> list[Ignore]:
        if file not in self._comments:
            self._comments[file] = ignores_in(self._evidence, file)
        return self._comments[file]


def _fault(text: str, known: Sequence[str]) -> str | None:
    """Why a comment ignores less than it seems to."""
    names, _ = parsed(text)
    if not names:
        return "expected # xladoctor: ignore[RULE] reason"
    unknown = [name for name in names if not any(fit(rule, name) for rule in known)]
    return f"no rule begins with {', '.join(unknown)}" if unknown else None


def parsed(text: str) -> tuple[list[str], str]:
    """The names of rules and families in a comment, and its reason."""
    match = COMMENT.search(text)
    if match is None:
        return [], ""
    return [name for part in match[1].split(",") if (name := part.strip())], match[2].strip()
