"""The package's imports go one way, as docs/architecture.md draws them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.affected import imports

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "xladoctor"
PAGE = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
pytestmark = pytest.mark.xdist_group("sources")  # each file is parsed once for all of these
FILES = sorted(path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py"))
_PATHS = {PACKAGE.name / file for file in FILES}
_INSIDE = "recording/bootstrap"
_ENTRANCES = ("__init__", "__main__")


def stages() -> dict[str, int]:
    """Each stage, with the number of its line."""
    block = re.search(r"```stages\n(.*?)```", PAGE, re.DOTALL)
    assert block
    lines = block[1].splitlines()
    return {stage: number for number, line in enumerate(lines) for stage in line.split()}


def stage_of(parts: tuple[str, ...]) -> str:
    """The stage of a module, given as its path below the package."""
    inside = "/".join(parts[:2])
    if len(parts) > 2 and (PACKAGE / inside / "vocabulary.yaml").exists():
        return parts[2]  # what a frontend adds to a later stage
    return inside if inside == _INSIDE else parts[0]


def imported(file: Path) -> Iterator[tuple[str, ...]]:
    """The modules of the package that a file imports, anywhere in it, as paths."""
    for path in imports(PACKAGE.name / file, _PATHS):
        parts = path.relative_to(PACKAGE.name).with_suffix("").parts
        if parts[0] not in _ENTRANCES:
            yield parts[:-1] if parts[-1] == "__init__" else parts


def test_files_import_only_stages_before_their_own() -> None:
    order = stages()
    against = {}
    for file in FILES:
        if file.stem in _ENTRANCES and len(file.parts) == 1:
            continue
        own = stage_of(file.with_suffix("").parts)
        before = {stage for stage, line in order.items() if line < order[own]} | {own}
        if late := {stage_of(parts) for parts in imported(file)} - before:
            against[str(file)] = late
    assert against == {}


def test_every_stage_is_there_and_every_folder_is_a_stage() -> None:
    there = {stage_of(file.with_suffix("").parts) for file in FILES} - set(_ENTRANCES)
    assert set(stages()) == there


def test_every_folder_of_the_table_is_there() -> None:
    named = re.findall(r"^\| `([a-z_/]+)/` \|", PAGE, re.MULTILINE)
    assert len(named) > 20
    assert [
        folder
        for folder in named
        if not (PACKAGE / folder).is_dir() and not (ROOT / folder).is_dir()
    ] == []
