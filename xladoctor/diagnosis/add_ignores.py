"""Writes comments that ignore findings into the files of a program.

Only files of this repository that are unchanged since the run are written. The program stays the
same: Python parses the old and new text to the same tree.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import defaultdict
from collections.abc import Iterable, Mapping, Set
from pathlib import Path

from xladoctor.diagnosis.finding import Finding, Location
from xladoctor.diagnosis.naming import fit
from xladoctor.diagnosis.suppression import ASKING, parsed
from xladoctor.evidence.interface import Evidence
from xladoctor.evidence.source import is_own, is_unchanged
from xladoctor.recording.bootstrap._xladoctor.ignores import COMMENT, ignores
from xladoctor.recording.bootstrap._xladoctor.redaction import redact_code
from xladoctor.regular_files import read_bytes
from xladoctor.repository import installed, whole
from xladoctor.whole_files import replacing

_LINE = re.compile(r"([^\r\n]*)(\r\n|\r|\n|\Z)")
_UNREADABLE = (SyntaxError, ValueError, tokenize.TokenError, RecursionError, MemoryError)


class UnfitSourceError(ValueError):
    """Why nothing is written into a file."""


def add_ignores(programs: Iterable[tuple[Evidence, Iterable[Finding]]]) -> list[str]:
    """Write a comment for each finding; return messages on what was written, and what was not.

    Args:
        programs: the evidence of each program, with its findings.
    """
    wanted: dict[str, list[tuple[str, Location]]] = defaultdict(list)
    shown, messages = {}, []
    for evidence, findings in programs:
        for finding in findings:
            places = [place for place in finding.locations if place.role in ASKING]
            files = [whole(place.file, evidence.cwd) for place in places]
            own = [
                (file, place)
                for file, place in zip(files, places, strict=True)
                if not installed(file) and is_own(evidence, Path(file))
            ]
            if not own:
                where = f" at {places[0].file}:{places[0].line}" if places else ""
                messages.append(
                    f"{finding.rule}{where}: not written: no line of a file in this"
                    " repository, of a run of this machine"
                )
                continue
            file, place = own[0]
            shown[file] = place.file
            if is_unchanged(evidence, file):
                wanted[file].append((finding.rule, place))
            else:
                messages.append(
                    f"{finding.rule} at {place.file}:{place.line}: not written: the file"
                    " has changed since the run; run it again"
                )
    for file, pairs in wanted.items():
        try:
            lines = _write(Path(file), pairs)
            messages.append(
                f"{shown[file]}: wrote comments in line{'s' * (len(lines) != 1)}"
                f" {', '.join(map(str, lines))}; they count from the next run on"
            )
        except (UnfitSourceError, OSError) as error:
            why = error.strerror if isinstance(error, OSError) else error
            messages.append(f"{shown[file]}: not written: {why}")
    return messages


def _write(file: Path, pairs: Iterable[tuple[str, Location]]) -> list[int]:
    """Replace the file; return the numbers of the lines that changed."""
    content = read_bytes(file, links=False)
    rules: dict[int, set[str]] = defaultdict(set)
    for rule, place in pairs:
        rules[place.line].add(rule)
    texts = {place.line: place.source for _, place in pairs if place.source is not None}
    new, lines = with_ignores(content, rules, texts)
    with replacing(file) as made:
        made.write(new)
    return lines


def with_ignores(
    content: bytes, rules: Mapping[int, Set[str]], texts: Mapping[int, str]
) -> tuple[bytes, list[int]]:
    """A file with comments that ignore rules.

    Args:
        content: the file.
        rules: ids of rules, by line number of the findings.
        texts: the lines as they ran, without secrets.

    Returns:
        The new file, and the numbers of the lines that changed.

    Raises:
        UnfitSourceError: the file is not Python, or not what ran.
    """
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(content).readline)
        parts = _LINE.findall(content.decode(encoding))[:-1]
        rows = [row for row, _ in parts]
        _check(rows, rules, texts)
        changed = _with_comments(rows, rules)
        for line, row in changed.items():
            rows[line - 1] = row
        new = "".join(row + end for row, (_, end) in zip(rows, parts, strict=True)).encode(encoding)
        same = ast.dump(ast.parse(new)) == ast.dump(ast.parse(content))
    except UnfitSourceError:
        raise
    except _UNREADABLE as error:
        raise UnfitSourceError(f"cannot be read as Python: {error}") from error
    if not same:
        raise UnfitSourceError("there is no place for a comment")
    return new, sorted(changed)


def _check(rows: list[str], rules: Mapping[int, Set[str]], texts: Mapping[int, str]) -> None:
    """Check that the lines are those that ran. Raises UnfitSourceError."""
    for line in sorted(rules):
        now = redact_code(rows[line - 1]) if line <= len(rows) else None
        if now is None or texts.get(line, now) != now:
            raise UnfitSourceError(f"line {line} is not what ran; run it again")


def _with_comments(rows: list[str], rules: Mapping[int, Set[str]]) -> dict[int, str]:
    """The changed lines, by number."""
    lines = [f"{row}\n" for row in rows]
    there = [directive for directive in ignores(lines) if parsed(directive.text)[0]]
    room, ends = _line_ends(lines)
    missing: dict[int, set[str]] = defaultdict(set)
    for line, ids in rules.items():
        about = [directive.line for directive in there if directive.first <= line <= directive.last]
        at = next(iter(about), line if line in room else min(e for e in ends if e >= line))
        missing[at] |= ids
    texts = {directive.line: directive.text for directive in there}
    return {
        line: _with_comment(rows[line - 1], texts.get(line), ids) for line, ids in missing.items()
    }


def _line_ends(lines: list[str]) -> tuple[set[int], set[int]]:
    """Lines that a comment can be added to (they do not end inside a string or with a backslash),
    and the last lines of statements, which are among them.
    """
    room, ends = set(), set()
    for token in tokenize.generate_tokens(iter(lines).__next__):
        if token.type in (tokenize.NL, tokenize.NEWLINE):
            room.add(token.start[0])
        if token.type == tokenize.NEWLINE:
            ends.add(token.start[0])
    return room, ends


def _with_comment(row: str, text: str | None, ids: Set[str]) -> str:
    """A line with a comment, or with more ids in its existing comment."""
    if text is None:
        return f"{row.rstrip()}  # xladoctor: ignore[{', '.join(sorted(ids))}]"
    known, _ = parsed(text)
    more = sorted(rule for rule in ids if not any(fit(rule, name) for name in known))
    within = COMMENT.search(text)
    begin, end = within.span(1) if within else (0, 0)
    return row.removesuffix(text) + text[:begin] + ", ".join([*known, *more]) + text[end:]
