"""Reads and validates rule packs, which are folders of rule files; errors name file and line.

Third-party rules are read like our own, and marked: see :attr:`Rule.foreign`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from importlib import resources
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path

from xladoctor.diagnosis.rule import Rule, RuleError
from xladoctor.diagnosis.rule_file import read_rule
from xladoctor.errors import XladoctorError
from xladoctor.repository import from_here

#: Entry points that name a package with rules: ``package``, or ``package:folder`` in it.
GROUP = "xladoctor.rules"
_HINT = "see docs/rule-files.md for the format of a rule"


def all_rules(folders: Iterable[Path] = ()) -> tuple[list[Rule], list[str]]:
    """The rules of the pack, of these folders and of installed packages, by id.

    Also returns sentences on faults of packages, whose rules are then left out.

    Raises:
        RuleError: a folder is missing or has no rules, or a rule is unusable or defined twice.
    """
    rules, notes = {rule.id: rule for rule in load_rules()}, []
    for folder in dict.fromkeys(folder.resolve() for folder in folders):
        if not folder.is_dir():
            raise RuleError(
                f"{from_here(folder)}: no such folder of rules",
                "see rules in the configuration, and --rules",
            )
        if not (found := load_rules(folder)):
            raise RuleError(
                f"{from_here(folder)}: no rules in it: expected files such as"
                " ACME012-odd-thing.yaml",
                _HINT,
            )
        _add(rules, found)
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: (entry.name, entry.value)):
        try:
            _add(rules, _of_package(entry))
        except (Exception, SystemExit) as error:  # finding a package may run its code
            what = error.what if isinstance(error, XladoctorError) else repr(error)
            package = entry.dist.name if entry.dist else entry.name
            why = "; ".join(what.splitlines())
            notes.append(f"the rules of package {package} were left out: {why}")
    return [rules[name] for name in sorted(rules)], notes


def _add(rules: dict[str, Rule], more: Sequence[Rule]) -> None:
    """Add rules, all or none."""
    clashes = [rule for rule in more if rule.id in rules]
    if clashes:
        raise RuleError(
            [
                f"{rule.owner}:1: {rules[rule.id].owner} has a rule {rule.id} too"
                for rule in clashes
            ],
            "give it another id, such as ACME012",
        )
    rules.update({rule.id: rule for rule in more})


def _of_package(entry: EntryPoint) -> list[Rule]:
    """The rules of a package, which is located but not imported."""
    spec = find_spec(entry.module)
    folders = [
        Path(place, *entry.attr.split(".") if entry.attr else ())
        for place in (spec and spec.submodule_search_locations) or ()
    ]
    found = [folder for folder in folders if folder.is_dir()]
    rules = [rule for folder in found for rule in load_rules(folder)]
    if not rules:
        raise RuleError(f"{entry.value}: " + ("no rules in it" if found else "no such folder"))
    return rules


def load_rules(folder: Path | None = None) -> list[Rule]:
    """All rules of a third-party folder, or by default of the pack, by id.

    Raises:
        RuleError: names every error in every file, each with its line.
    """
    return list(_own_rules()) if folder is None else _of_folder(folder, foreign=True)


@cache
def _own_rules() -> list[Rule]:
    return _of_folder(pack(), foreign=False)


def _of_folder(folder: Path, *, foreign: bool) -> list[Rule]:
    rules, problems = [], []
    for path in sorted(folder.glob("*.yaml")):
        try:
            rules.append(load_rule(path, foreign=foreign))
        except RuleError as error:
            problems += error.what.splitlines()
    ids = [rule.id for rule in rules]
    problems += [f"{i}: two rules have this id" for i in sorted(set(ids)) if ids.count(i) > 1]
    if problems:
        raise RuleError(problems, _HINT)
    return rules


def pack() -> Path:
    """The folder of the rule pack: inside the package in a wheel, beside it in a checkout."""
    inside = Path(str(resources.files("xladoctor"))) / "rules"
    return inside if inside.is_dir() else inside.parent.parent / "rules"


def load_rule(path: Path, *, foreign: bool = True) -> Rule:
    """Read and validate one rule file. Raises RuleError with file, line and column.

    Args:
        foreign: whether it is a third-party rule.
    """
    read = read_rule(path, foreign=foreign)
    if read.faults:
        raise RuleError([str(fault) for fault in read.faults])
    rule: Rule = read.value
    return rule
