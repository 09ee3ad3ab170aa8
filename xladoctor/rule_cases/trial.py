"""Tries rules out on their own cases, and on evidence of healthy programs."""

from __future__ import annotations

import tarfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib import resources
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from xladoctor.diagnosis.case import Case
from xladoctor.diagnosis.engine import diagnose
from xladoctor.diagnosis.finding import Finding
from xladoctor.diagnosis.rule import Rule
from xladoctor.diagnosis.rule_file import Read, read_case, read_rule
from xladoctor.errors import XladoctorError
from xladoctor.evidence.interface import Evidence
from xladoctor.rule_cases.check import case_files, check_query, nothing
from xladoctor.rule_cases.judge import judge

Load = Callable[[str], Evidence]


class Trial(NamedTuple):
    """The result of a rule in one case, or on healthy programs: what is wrong, if anything."""

    rule: str
    what: str
    faults: list[str]


def trials(
    files: Sequence[Path], cases: Path | None, healthy: Sequence[Path], load: Load
) -> Iterator[Trial]:
    """Try each rule, on the healthy programs if nothing is wrong so far.

    Args:
        cases: folder that has a folder of cases for each rule, if they are not beside it.
        healthy: evidence in which no rule must find more than information.
        load: reads such evidence.
    """
    rules, empty = list[Rule](), nothing()
    for path in files:
        read = read_rule(path)
        if faults := sorted([*read.faults, *check_query(read, empty)]):
            yield Trial(path.stem, "its file", [str(fault) for fault in faults])
            continue
        tried = list(_of_cases(read, path, cases))
        yield from tried
        if not any(trial.faults for trial in tried):
            rules.append(read.value)
    fine: Counter[str] = Counter()
    for place in healthy if rules else ():
        for trial in _of_program(place, rules, load):
            if trial.faults:
                yield trial
            else:
                fine[trial.rule] += 1
    for rule, count in fine.items():
        yield Trial(rule, f"{count} of {len(healthy)} healthy programs", [])


def _of_cases(read: Read, path: Path, folder: Path | None) -> Iterator[Trial]:
    rule: Rule = read.value
    known = list(rule.cases)
    for case in rule.cases:
        yield _of_case(case, rule, case.case)
    for file in case_files(path, folder):
        own = read_case(file)
        if own.faults:
            yield Trial(rule.id, file.name, [str(fault) for fault in own.faults])
        else:
            known.append(own.value)
            yield _of_case(own.value, rule, f"{file.name}: {own.value.case}")
    judged = [
        [expect.rule or rule.id for expect in case.expect or ()]
        for case in known
        if case.not_evaluated is None
    ]
    firing = sum(rule.id in ids for ids in judged)
    lacking = [
        f"no case that {must} trigger it"
        for must, count in (("must", firing), ("must not", len(judged) - firing))
        if not count
    ]
    if lacking:
        yield Trial(rule.id, "its cases", lacking)


def _of_case(case: Case, rule: Rule, what: str) -> Trial:
    try:
        outcome = judge(case, rule.id, [rule])
    except XladoctorError as error:
        return Trial(rule.id, what, error.what.splitlines())
    return Trial(rule.id, what, [] if outcome.passed else outcome.difference())


def _of_program(place: Path, rules: Sequence[Rule], load: Load) -> Iterator[Trial]:
    """Try each rule by itself, so that one that fails does not hide the others."""
    what = f"healthy {name_of(place)}"
    with ExitStack() as kept:  # tables are read when a rule asks for them
        try:
            evidence = load(str(kept.enter_context(unpacked(place))))
        except XladoctorError as error:
            yield Trial("all rules", what, error.what.splitlines())
            return
        except (OSError, tarfile.TarError) as error:
            yield Trial("all rules", what, [f"cannot be unpacked: {error}"])
            return
        yield from _of_evidence(evidence, what, rules)


def _of_evidence(evidence: Evidence, what: str, rules: Sequence[Rule]) -> Iterator[Trial]:
    for rule in rules:
        try:
            found = diagnose(evidence, [rule]).findings
            faults = [
                f"found {each.severity}{_where(each)}: {each.message}"
                for each in found
                if each.severity != "info"
            ]
        except XladoctorError as error:
            faults = error.what.splitlines()
        yield Trial(rule.id, what, faults)


def _where(finding: Finding) -> str:
    return "".join(f" at {place.file}:{place.line}" for place in finding.locations[:1])


_PACKED = ".tar.xz"


def known_good() -> Path | None:
    """The folder of recordings that comes with xladoctor, in the package or a clone, if any."""
    package = Path(str(resources.files("xladoctor")))
    places = (package / "known_good", package.parent / "tests" / "known_good" / "recorded")
    return next((place for place in places if place.is_dir()), None)


def name_of(place: Path) -> str:
    """The program's name."""
    return place.name.removesuffix(_PACKED)


@contextmanager
def unpacked(place: Path) -> Iterator[Path]:
    """The run directory in an archive ``NAME.tar.xz``, for as long as it is needed; other evidence
    as it is.

    Raises:
        OSError, tarfile.TarError: it cannot be read.
    """
    if not place.name.endswith(_PACKED):
        yield place
        return
    with TemporaryDirectory(prefix="xladoctor-") as folder:
        with tarfile.open(place) as archive:
            archive.extractall(folder, filter="data")
        yield Path(folder) / name_of(place)
