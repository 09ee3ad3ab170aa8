"""Reads rule files, and reports all faults at once, each with its position."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from xladoctor.diagnosis.case import Case
from xladoctor.diagnosis.rule import FOREIGN, Rule
from xladoctor.foreign import clean
from xladoctor.regular_files import read_text
from xladoctor.repository import from_here

Model = TypeVar("Model", bound=BaseModel)
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # faster, if PyYAML has it
_WORDS = {
    "missing": "is missing",
    "extra_forbidden": "no such key",
    "list_type": "expected a list",
    "dict_type": "expected a mapping",
    "model_type": "expected a mapping",
    "string_type": "expected a text (in quotes if it looks like a number)",
}
_LARGEST, _DEEPEST = 1 << 18, 16  # the most bytes and levels of a file
_MOST_FAULTS = 100  # that are named


class Fault(NamedTuple):
    """A fault's text and position: line and column from 1."""

    path: Path
    line: int
    column: int
    text: str

    def __str__(self) -> str:
        return clean(f"{self.path}:{self.line}:{self.column}: {self.text}")


class Document(NamedTuple):
    """A YAML file: its path, text, and nodes with their positions."""

    path: Path
    text: str
    node: Any

    def fault(self, location: Sequence[Any], text: str) -> Fault:
        """A fault at the deepest part of ``location`` (keys, indices) that the file has."""
        at, _ = self._deepest(location)
        return Fault(self.path, at.line + 1, at.column + 1, text)

    def fault_within(
        self, location: Sequence[str], line: int, column: int | None, text: str
    ) -> Fault:
        """A fault inside the text of a key.

        Args:
            location: the key, after the keys around it.
            line: line in the text, from 1.
            column: column in that line, from 0, if known.
            text: what is wrong.
        """
        at, value = self._deepest(location)
        if getattr(value, "style", None) != "|":  # otherwise its lines are the file's
            return Fault(self.path, at.line + 1, at.column + 1, text)
        number = value.start_mark.line + line
        lines = self.text.split("\n")
        shown = lines[number] if number < len(lines) else ""
        own = value.value.split("\n")[line - 1 : line] or [""]
        indent = (
            len(shown) - len(own[0]) if column is not None else len(shown) - len(shown.lstrip())
        )
        return Fault(self.path, number + 1, max(indent, 0) + (column or 0) + 1, text)

    def _deepest(self, location: Sequence[Any]) -> tuple[Any, Any]:
        node, at = self.node, self.node.start_mark
        for key in location:
            match: list[tuple[Any, Any]] = []
            if isinstance(node, yaml.MappingNode):
                match = [(k, v) for k, v in node.value if k.value == key]
            elif isinstance(node, yaml.SequenceNode) and isinstance(key, int):
                match = [(v, v) for v in node.value[key : key + 1]]
            if not match:
                break
            at, node = match[0][0].start_mark, match[0][1]
        return at, node


class Read(NamedTuple):
    """A parsed file: the rule or case, or its faults."""

    document: Document | None
    value: Any
    faults: list[Fault]


def read_rule(path: Path, *, foreign: bool = True) -> Read:
    """Read a rule file, without the checks that need evidence.

    Args:
        foreign: whether it is a third-party rule.
    """
    if not foreign:  # the pack's, which tests read as if it were: it has no faults
        with suppress(OSError, ValueError, yaml.YAMLError):
            data = _Loader(read_text(path, _LARGEST)).get_single_data()
            return Read(None, Rule.model_validate(data), [])
    read = read_model(path, Rule, FOREIGN)
    if not read.value:
        return read
    rule = read.value.of(path)
    named = f"the file must be named {rule.id}-{rule.name}.yaml"
    wrong = [] if path.stem == f"{rule.id}-{rule.name}" else [Fault(from_here(path), 1, 1, named)]
    return read._replace(value=rule, faults=[*read.faults, *wrong])


def read_case(path: Path) -> Read:
    """Read a file with a case."""
    return read_model(path, Case)


def read_model(path: Path, model: type[Model], context: str | None = None) -> Read:
    """Read and validate a YAML file."""
    path_shown = from_here(path)
    try:
        text = read_text(path, _LARGEST)
        node = _node(text)
        data = _Loader("").construct_document(node) if node else None
    except (OSError, UnicodeDecodeError) as error:
        return Read(None, None, [Fault(path_shown, 1, 1, f"cannot be read: {error}")])
    except (yaml.YAMLError, ValueError) as error:  # ValueError from dates and numbers
        return Read(None, None, [_not_yaml(path_shown, error)])
    if not isinstance(data, dict):
        first = next(iter(model.model_fields))
        return Read(None, None, [Fault(path_shown, 1, 1, f"expected a mapping with {first}, …")])
    document = Document(path_shown, text, node)
    faults = list(_twice(document, node))
    try:
        return Read(document, model.model_validate(data, context=context), faults)
    except ValidationError as error:
        whole = model.__name__.lower()
        wrong = [
            document.fault(
                place := [key for key in item["loc"] if key != ""],
                f"{'.'.join(map(str, place)) or whole}: {message_of(item, model)}",
            )
            for item in error.errors()[:_MOST_FAULTS]
        ]
        if more := error.error_count() - len(wrong):
            wrong.append(document.fault((), f"and {more:,} more faults"))
        return Read(document, None, [*faults, *wrong])


def message_of(item: Any, model: type[BaseModel]) -> str:
    """A pydantic error in our own words."""
    if item["type"] == "string_pattern_mismatch":
        examples = model.model_fields[item["loc"][0]].examples or []
        return f"expected such as {', '.join(examples)}"
    message = str(item["msg"]).removeprefix("Value error, ").replace("Input should be", "expected")
    return _WORDS.get(item["type"], message)


def _node(text: str) -> Any:
    """The nodes of a YAML text; None if it is empty.

    Raises:
        YAMLError: also for what no rule needs: aliases, which can expand a few lines to gigabytes,
            and deep nesting, which crashes libyaml's own reader.
    """
    depth = 0
    for event in yaml.parse(text, _Loader):
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if isinstance(event, yaml.AliasEvent):
            raise _refused("rules cannot use aliases: repeat the text", event)
        if depth > _DEEPEST:
            raise _refused("nested too deeply", event)
    return yaml.compose(text, _Loader)


def _refused(why: str, where: Any) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(None, None, why, where.start_mark)


def _not_yaml(path: Path, error: Exception) -> Fault:
    mark = getattr(error, "problem_mark", None)
    line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
    problem = getattr(error, "problem", None) or str(error)
    return Fault(path, line, column, f"not YAML: {problem}")


def _twice(document: Document, node: Any) -> Iterator[Fault]:
    """Faults for duplicate keys of a mapping; YAML would take the last."""
    parts = node.value if isinstance(node, yaml.CollectionNode) else []
    if isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, _ in parts:
            if isinstance(key, yaml.ScalarNode) and key.value in seen:
                at = key.start_mark
                twice = f"{key.value}: is there twice"
                yield Fault(document.path, at.line + 1, at.column + 1, twice)
            seen.add(str(key.value))
        parts = [part for pair in parts for part in pair]
    for part in parts:
        yield from _twice(document, part)
