"""Names the test files that what has changed since a commit can affect, by the import graph.

    python -m tests.affected [COMMIT]

prints them for pytest, one a line; ``make test CHANGED=1`` runs them. A file of data counts as
changing the modules of its folder, a rule those that load the pack, and what is outside the package
and the tests those that name its folder; a change of what every test rests on (``pyproject.toml``,
``conftest.py``) affects all.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterable, Iterator, Set
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
_PACK = Path("xladoctor/diagnosis/pack.py")
_OF_ALL = {"pyproject.toml", "tests/conftest.py"}


def main() -> int:
    """Print the affected test files; 1 if nothing can be affected."""
    since = sys.argv[1] if len(sys.argv) > 1 else "HEAD"
    affected = affected_by(changed_since(since))
    if not affected:
        print(f"no test file is affected by what differs from {since}", file=sys.stderr)
        return 1
    print("\n".join(map(str, affected)))
    return 0


def changed_since(commit: str) -> list[Path]:
    """The files that differ from a commit, and those that git does not know yet."""
    commands = (["diff", "--name-only", commit], ["ls-files", "--others", "--exclude-standard"])
    return [
        Path(line)
        for command in commands
        for line in subprocess.run(
            ["git", *command], cwd=ROOT, check=True, capture_output=True, text=True
        ).stdout.splitlines()
    ]


def affected_by(changed: Iterable[Path]) -> list[Path]:
    """The test files that import one of these, directly or not."""
    importers = _importers()
    reached = {module for path in changed for module in _modules_of(path, list(importers))}
    waiting = list(reached)
    while waiting:
        found = importers.get(waiting.pop(), set()) - reached
        reached |= found
        waiting += found
    return sorted(file for file in reached & importers.keys() if file.name.startswith("test_"))


@cache
def _importers() -> dict[Path, set[Path]]:
    """Each file of the package and the tests, with those that import it."""
    files = {
        path.relative_to(ROOT): set[Path]()
        for folder in ("xladoctor", "tests")
        for path in sorted((ROOT / folder).rglob("*.py"))
    }
    for file in files:
        for imported in imports(file, files.keys()):
            files[imported].add(file)
    return files


def _modules_of(path: Path, files: list[Path]) -> list[Path]:
    """The modules that a changed file counts as."""
    if str(path) in _OF_ALL:
        return files
    if path.suffix == ".py":
        return [path]
    if path.parts[0] == "rules":
        return [_PACK]
    if path.parts[0] in ("xladoctor", "tests"):
        folder = path.parent if path.parts[0] == "xladoctor" else Path(*path.parts[:2])
        return [file for file in files if file.is_relative_to(folder)]
    return [file for file in files if path.parts[0] in (ROOT / file).read_text(encoding="utf-8")]


def imports(file: Path, files: Set[Path]) -> Iterator[Path]:
    """Those of these files that a file imports, anywhere in it, with the packages that they lie in;
    all are paths below the repository's root.
    """
    for name in _imported_names(file):
        path = Path(*name.split("."))
        yield from {path.with_suffix(".py"), path / "__init__.py"} & files


@cache
def _imported_names(file: Path) -> list[str]:
    """What a file imports, with what it takes from there: modules, or names inside of them."""
    names: list[str] = []
    for node in ast.walk(ast.parse((ROOT / file).read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            inside = file.parents[node.level - 1].parts if node.level else ()
            module = ".".join([*inside, *([node.module] if node.module else [])])
            names += [module, *(f"{module}.{name.name}" for name in node.names)]
        elif isinstance(node, ast.Import):
            names += [name.name for name in node.names]
    return names


if __name__ == "__main__":
    sys.exit(main())
