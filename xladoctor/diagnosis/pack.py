"""Rule packs: folders of rule files, read and validated; errors name file and line."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from xladoctor.diagnosis.rule import Rule, RuleError
from xladoctor.regular_files import read_text

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # faster, if PyYAML has it


def load_rules(folder: Path | None = None) -> list[Rule]:
    """All rules of a folder (by default, the pack that comes with xladoctor), by id.

    Raises:
        RuleError: names every error in every file, each with its line.
    """
    rules, problems = [], []
    for path in sorted(_rule_files(folder)):
        try:
            rules.append(load_rule(path))
        except RuleError as error:
            problems += error.what.splitlines()
    ids = [rule.id for rule in rules]
    problems += [f"{i}: two rules have this id" for i in sorted(set(ids)) if ids.count(i) > 1]
    if problems:
        raise RuleError(problems, "see docs/rules.md for the format of a rule")
    return rules


def _rule_files(folder: Path | None) -> Iterator[Path]:
    return (folder or pack()).glob("*.yaml")


def pack() -> Path:
    """The folder of the rule pack: inside the package in a wheel, beside it in a checkout."""
    inside = Path(str(resources.files("xladoctor"))) / "rules"
    return inside if inside.is_dir() else inside.parent.parent / "rules"


def load_rule(path: Path) -> Rule:
    """Read and validate one rule file. Raises RuleError with file and line."""
    try:
        text = read_text(path)
    except (OSError, UnicodeDecodeError) as error:
        raise RuleError(f"{path}:1: cannot be read: {error}") from error
    try:
        data = yaml.load(text, _Loader)  # noqa: S506  # safe: one of these two
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 1 if mark else 1
        raise RuleError(f"{path}:{line}: not YAML: {getattr(error, 'problem', error)}") from error
    if not isinstance(data, dict):
        raise RuleError(f"{path}:1: expected a mapping with id, name, title, …")
    try:
        rule = Rule.model_validate(data)
    except ValidationError as error:
        node = yaml.compose(text, _Loader)
        lines = [
            f"{path}:{_line_of(node, item['loc'])}: {'.'.join(map(str, item['loc'])) or 'rule'}:"
            f" {item['msg'].removeprefix('Value error, ')}"
            for item in error.errors()
        ]
        raise RuleError(lines) from error
    if path.stem != f"{rule.id}-{rule.name}":
        raise RuleError(f"{path}:1: the file must be named {rule.id}-{rule.name}.yaml")
    return rule


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
