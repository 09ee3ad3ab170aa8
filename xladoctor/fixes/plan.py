"""Makes the plan for a run: a patch for each finding that has one, or the reason why not; shows and
writes patches.
"""

from __future__ import annotations

import difflib
import io
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from xladoctor.diagnosis import barriers
from xladoctor.diagnosis.finding import Finding
from xladoctor.diagnosis.interface import Diagnosis
from xladoctor.evidence.interface import Evidence
from xladoctor.evidence.source import is_as_it_ran, is_unchanged
from xladoctor.fixes import registry
from xladoctor.fixes.case import Case
from xladoctor.fixes.compose import applied, compatible
from xladoctor.fixes.files import Files, read_again
from xladoctor.fixes.interface import Change, FixError, Patch, Plan, Refused, Skip, Unsuited
from xladoctor.fixes.text import MARK
from xladoctor.frontends.vocabulary import DEFAULT, vocabulary
from xladoctor.repository import from_here, installed, whole
from xladoctor.whole_files import replacing

_LINES = ("caller", "guilty", "made", "used", "loop", "compiled", "due")


def plan(evidence: Evidence, diagnosis: Diagnosis, root: Path, *, for_report: bool = False) -> Plan:
    """What can be done about the findings of a run.

    Args:
        root: the project; files outside of it are never changed.
        for_report: whether a report, which is passed on, will show code of the files: then only
            those count that such code may be of.
    """
    made = Plan(root)
    can_be_used = is_as_it_ran if for_report else is_unchanged
    files = Files(root, lambda file: can_be_used(evidence, str(file)))
    for finding in diagnosis.findings:
        found = _patch(finding, diagnosis, files, evidence)
        if isinstance(found, Patch):
            made.patches.append(found)
        else:
            made.skips.append(found)
    return _without_conflicts(made)


def _patch(
    finding: Finding, diagnosis: Diagnosis, files: Files, evidence: Evidence
) -> Patch | Skip:
    """The first kind of fix that the rule names and that applies, or why none does."""
    rule = diagnosis.pack[finding.rule]
    if not rule.fix_by:
        return Skip(finding, f"no patch is made for {finding.rule}")
    cases: list[Case] = []
    refusals: list[Refused] = []
    for file in _files_of(finding, diagnosis):
        try:
            cases.append(_case(finding, file, diagnosis, files, evidence))
        except Refused as refused:
            refusals.append(refused)
    for name in rule.fix_by:
        for case in cases:
            try:
                return _patch_by(name, case, files)
            except Refused as refused:
                refusals.append(refused)
    if not refusals:
        return Skip(finding, "the finding names no line")
    best = most_telling(refusals)
    return Skip(finding, best.reason, best.instead)


def most_telling(refusals: Sequence[Refused]) -> Refused:
    """The reason to give: of a kind that serves the finding, and with what to do instead."""
    return max(refusals, key=lambda each: (not isinstance(each, Unsuited), bool(each.instead)))


def _case(
    finding: Finding, file: Path, diagnosis: Diagnosis, files: Files, evidence: Evidence
) -> Case:
    source = files.source(file)
    others = tuple(each for each in diagnosis.findings if file in _files_of(each, diagnosis))
    place = next(
        (
            each
            for role in (("operation",), ("caller", "guilty"))
            for each in finding.locations
            if each.role in role and each.file.endswith(file.name)
        ),
        finding.locations[0],
    )
    row = {
        "process": int(finding.processes[0]) if finding.processes else 0,
        "file": whole(place.file, diagnosis.run.cwd),
        "line": place.line,
        "function": place.function,
    }
    frontend = diagnosis.run.frontend or DEFAULT
    has_barriers = "has_barriers" in vocabulary(frontend).all_traits
    facts = barriers.around(row, place.source, evidence) if has_barriers else {}
    return Case(finding, source, frontend, others, facts, diagnosis.run.device or "")


def _patch_by(name: str, case: Case, files: Files) -> Patch:
    if name not in registry.names():
        raise Refused(f"there is no kind of fix {name}")
    file = case.source.path
    try:
        change = registry.kind(name)(case)
    except (Refused, MemoryError):
        raise
    except Exception as error:  # of one kind must not lose what others do, or a report
        raise Refused(f"{name} failed: {error!r}") from error
    _check(change, case.source.text, file)
    return Patch(case.finding, name, file, files.sha256(file), change)


def _files_of(finding: Finding, diagnosis: Diagnosis) -> list[Path]:
    """The files of the program that a finding names, its own line's first."""
    places = sorted(
        (place for place in finding.locations if place.role in _LINES),
        key=lambda place: _LINES.index(place.role),
    )
    paths = [Path(whole(place.file, diagnosis.run.cwd)) for place in places]
    return [path for path in dict.fromkeys(paths) if not installed(str(path))] or paths[:1]


def _check(change: Change, text: str, file: Path) -> None:
    """Refuse a change after which the file would not compile."""
    try:
        compile(
            applied(text, change.edits).removeprefix(MARK), str(file), "exec", dont_inherit=True
        )
    except (SyntaxError, ValueError) as error:
        raise Refused(f"the change would not compile ({error})") from error


def _without_conflicts(made: Plan) -> Plan:
    """The plan with patches that can be made together, none twice."""
    by_file: dict[Path, list[Patch]] = defaultdict(list)
    skips = list(made.skips)
    for patch in made.patches:
        same = [each for each in by_file[patch.file] if each.change.edits == patch.change.edits]
        if same:
            skips.append(Skip(patch.finding, f"the patch of {same[0].finding.rule} is for it too"))
        else:
            by_file[patch.file].append(patch)
    kept: list[Patch] = []
    for patches in by_file.values():
        fit, conflicts = compatible(patches)
        kept += fit
        skips += [
            Skip(
                patch.finding,
                f"its patch changes the same lines as that of {other.finding.rule}",
                "make that patch, run the program again, and fix the rest",
            )
            for patch, other in conflicts
        ]
    return Plan(made.root, [patch for patch in made.patches if patch in kept], skips)


def patched(patches: Sequence[Patch]) -> dict[Path, str]:
    """The new text of each file that these patches change, which must not conflict.

    Raises:
        FixError: a file has changed since the plan was made.
    """
    edits: dict[Path, list[Patch]] = defaultdict(list)
    for patch in patches:
        edits[patch.file].append(patch)
    texts = {}
    for file, those in edits.items():
        text = read_again(file, those[0].sha256)
        texts[file] = applied(text, [edit for each in those for edit in each.change.edits])
    return texts


def written(patches: Sequence[Patch]) -> list[str]:
    """Write the files, each as a whole or not at all; return a line about each.

    Raises:
        FixError: a file has changed, or cannot be written.
    """
    lines = []
    for file, text in patched(patches).items():
        try:
            with replacing(file) as new:
                new.write(text.encode("utf-8"))
        except OSError as error:
            raise FixError(f"{from_here(file)} cannot be written: {error.strerror}") from error
        rules = sorted({patch.finding.rule for patch in patches if patch.file == file})
        lines.append(f"{from_here(file)}: changed for {', '.join(rules)}")
    return lines


def diff(patch: Patch, root: Path, before_it: Sequence[Patch] = (), context: int = 2) -> list[str]:
    """The change as a unified diff, which ``git apply`` takes at the project's root.

    Args:
        before_it: patches that are made before this one.
        context: lines that stay, around each change.
    """
    earlier = [each for each in before_it if each.file == patch.file]
    after = patched([*earlier, patch])[patch.file]
    before = patched(earlier).get(patch.file) or patch.file.read_bytes().decode("utf-8")
    return unified(patch.file, before, after, root, context)


def unified(file: Path, before: str, after: str, root: Path, context: int = 2) -> list[str]:
    """The lines of a unified diff of a file's text, which ``git apply`` takes at the root."""
    inside = file.is_relative_to(root.resolve())
    path = file.relative_to(root.resolve()) if inside else file
    lines = difflib.unified_diff(
        _lines(before), _lines(after), f"a/{path}", f"b/{path}", n=context, lineterm="\n"
    )
    return [part for line in lines for part in _ended(line)]


def _lines(text: str) -> list[str]:
    """The lines of a text as ``git`` knows them, each with its end."""
    return [*io.StringIO(text, newline="\n")]


def _ended(line: str) -> list[str]:
    """A line of a diff without its line end, of which it says if it has none."""
    if line.endswith("\n"):
        return [line.removesuffix("\n")]
    return [line, "\\ No newline at end of file"]
