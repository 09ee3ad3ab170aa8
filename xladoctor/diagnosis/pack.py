"""Rule packs: folders of rule files, read and validated; errors name file and line.

What others wrote is read like our own, and marked: see :attr:`Rule.foreign`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from importlib import resources
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from xladoctor.diagnosis.rule import FOREIGN, Rule, RuleError
from xladoctor.errors import XladoctorError
from xladoctor.regular_files import read_text

#: Entry points that name a package with rules: ``package``, or ``package:folder`` in it.
GROUP = "xladoctor.rules"
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # faster, if PyYAML has it
_LARGEST, _DEEPEST = 1 << 18, 16  # bytes and levels of a rule file
_HINT = "see docs/rules.md for the format of a rule"


def all_rules(folders: Iterable[Path] = ()) -> tuple[list[Rule], list[str]]:
    """The pack, the rules of these folders and those of installed packages, by id.

    Also returns what is wrong with packages, whose rules are then left out, as sentences.

    Raises:
        RuleError: a folder is missing or has no rules, or a rule is unusable or there twice.
    """
    rules, notes = {rule.id: rule for rule in load_rules()}, []
    for folder in dict.fromkeys(folder.resolve() for folder in folders):
        if not folder.is_dir():
            raise RuleError(f"{shown(folder)}: no such folder of rules",
                            "see rules in the configuration, and --rules")  # fmt: skip
        if not (found := load_rules(folder)):
            raise RuleError(f"{shown(folder)}: no rules in it: expected files such as"
                            " ACME012-odd-thing.yaml", _HINT)  # fmt: skip
        _add(rules, found)
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: (entry.name, entry.value)):
        try:
            _add(rules, _of_package(entry))
        except (Exception, SystemExit) as error:  # finding a package may run code of others
            what = error.what if isinstance(error, XladoctorError) else repr(error)
            package = entry.dist.name if entry.dist else entry.name
            why = "; ".join(what.splitlines())
            notes.append(f"the rules of package {package} were left out: {why}")
    return [rules[name] for name in sorted(rules)], notes


def _add(rules: dict[str, Rule], more: Sequence[Rule]) -> None:
    """Add rules, all or none."""
    clashes = [rule for rule in more if rule.id in rules]
    if clashes:
        raise RuleError([f"{shown(rule.file)}:1: {_owner(rules[rule.id])} has a rule {rule.id} too"
                         for rule in clashes], "give it another id, such as ACME012")  # fmt: skip
    rules.update({rule.id: rule for rule in more})


def _owner(rule: Rule) -> str:
    return str(shown(rule.file)) if rule.file else "xladoctor"


def shown(path: Path | None) -> Path | None:
    """A path below the working directory relative to it."""
    here = Path.cwd()
    return path.relative_to(here) if path and path.is_relative_to(here) else path


def _of_package(entry: EntryPoint) -> list[Rule]:
    """The rules that a package brings. It is found, not imported."""
    spec = find_spec(entry.module)
    folders = [Path(place, *entry.attr.split(".") if entry.attr else ())
               for place in (spec and spec.submodule_search_locations) or ()]  # fmt: skip
    found = [folder for folder in folders if folder.is_dir()]
    rules = [rule for folder in found for rule in load_rules(folder)]
    if not rules:
        raise RuleError(f"{entry.value}: " + ("no rules in it" if found else "no such folder"))
    return rules


def load_rules(folder: Path | None = None) -> list[Rule]:
    """All rules of a folder, which others wrote, or by default of the pack, by id.

    Raises:
        RuleError: names every error in every file, each with its line.
    """
    rules, problems = [], []
    for path in sorted(_rule_files(folder)):
        try:
            rules.append(load_rule(path, foreign=folder is not None))
        except RuleError as error:
            problems += error.what.splitlines()
    ids = [rule.id for rule in rules]
    problems += [f"{i}: two rules have this id" for i in sorted(set(ids)) if ids.count(i) > 1]
    if problems:
        raise RuleError(problems, _HINT)
    return rules


def _rule_files(folder: Path | None) -> Iterator[Path]:
    return (folder or pack()).glob("*.yaml")


def pack() -> Path:
    """The folder of the rule pack: inside the package in a wheel, beside it in a checkout."""
    inside = Path(str(resources.files("xladoctor"))) / "rules"
    return inside if inside.is_dir() else inside.parent.parent / "rules"


def load_rule(path: Path, *, foreign: bool = True) -> Rule:
    """Read and validate one rule file. Raises RuleError with file and line.

    Args:
        foreign: whether others than xladoctor wrote it.
    """
    name = shown(path)
    try:
        text = read_text(path, _LARGEST)
    except (OSError, UnicodeDecodeError) as error:
        raise RuleError(f"{name}:1: cannot be read: {error}") from error
    try:
        node = _node(text)
        data = _Loader("").construct_document(node) if node else None
    except (yaml.YAMLError, ValueError) as error:  # the latter of dates and numbers
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 1 if mark else 1
        raise RuleError(f"{name}:{line}: not YAML: {getattr(error, 'problem', error)}") from error
    if not isinstance(data, dict):
        raise RuleError(f"{name}:1: expected a mapping with id, name, title, …")
    try:
        rule = Rule.model_validate(data, context=FOREIGN if foreign else None)
    except ValidationError as error:
        lines = [
            f"{name}:{_line_of(node, item['loc'])}: {'.'.join(map(str, item['loc'])) or 'rule'}:"
            f" {item['msg'].removeprefix('Value error, ')}"
            for item in error.errors()
        ]
        raise RuleError(lines) from error
    if path.stem != f"{rule.id}-{rule.name}":
        raise RuleError(f"{name}:1: the file must be named {rule.id}-{rule.name}.yaml")
    return rule.of(path) if foreign else rule


def _node(text: str) -> Any:
    """What a YAML text says, as nodes; None if it is empty.

    Raises:
        YAMLError: also for what no rule needs: aliases, of which a few lines can make gigabytes,
            depth, which libyaml's own reader does not survive, and keys that are there twice.
    """
    depth = 0
    for event in yaml.parse(text, _Loader):
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if isinstance(event, yaml.AliasEvent):
            raise _refused("aliases are not for rules: write the text again", event)
        if depth > _DEEPEST:
            raise _refused("nested too deeply", event)
    node = yaml.compose(text, _Loader)
    _check_keys(node)
    return node


def _check_keys(node: Any) -> None:
    parts = node.value if isinstance(node, yaml.CollectionNode) else []
    if isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, _ in parts:
            if isinstance(key, yaml.ScalarNode) and key.value in seen:
                raise _refused(f"{key.value} is there twice", key)
            seen.add(str(key.value))
        parts = [part for pair in parts for part in pair]
    for part in parts:
        _check_keys(part)


def _refused(why: str, where: Any) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(None, None, why, where.start_mark)


def _line_of(node: Any, location: tuple[Any, ...]) -> int:
    """The line (from 1) of the deepest part of ``location`` that the file has."""
    line = node.start_mark.line + 1
    for key in location:
        if isinstance(node, yaml.MappingNode):
            match = [(k, v) for k, v in node.value if k.value == key]
        elif isinstance(node, yaml.SequenceNode) and isinstance(key, int):
            match = [(v, v) for v in node.value[key : key + 1]]
        else:
            match = []
        if not match:
            break
        line, node = match[0][0].start_mark.line + 1, match[0][1]
    return int(line)
