"""How large the package is, by folder, and what in it is longer than it may be.

    python -m tests.size [--check]

prints for each folder the lines of Python that hold code or docstrings, and the functions and files
above their limits; with ``--check``, those alone, and exits with 1 if there are any.
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "xladoctor"
#: Lines from the first to the last, with what is blank or a comment.
FUNCTION_LINES = 50
FILE_LINES = 400
_NO_LINE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


def main() -> int:
    """Print sizes, or check them; 1 if something is too long."""
    longer = list(too_long())
    print("".join(f"{name}: {lines} lines: divide it\n" for name, lines in longer), end="")
    if "--check" in sys.argv[1:]:
        return 1 if longer else 0
    sizes = by_folder()
    print("\n".join(f"{lines:7,}  {folder}" for folder, lines in sorted(sizes.items())))
    print(f"{sum(sizes.values()):7,}  lines of Python that hold code or docstrings")
    return 0


def by_folder() -> Counter[str]:
    """Lines of each folder of the package; its own files count for ``xladoctor``."""
    sizes: Counter[str] = Counter()
    for path in _files():
        folder = path.relative_to(PACKAGE).parts[:-1]
        sizes["/".join(("xladoctor", *folder[:1]))] += lines_of(path.read_text(encoding="utf-8"))
    return sizes


def lines_of(source: str) -> int:
    """The lines of a source that are neither blank nor a comment alone."""
    held: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in _NO_LINE:
            held.update(range(token.start[0], token.end[0] + 1))
    lines = source.splitlines()
    return sum(1 for line in held if lines[line - 1].strip())


def too_long() -> Iterator[tuple[str, int]]:
    """Functions and files above their limits, as FILE or FILE:FUNCTION, with their lines."""
    for path in _files():
        source = path.read_text(encoding="utf-8")
        name = path.relative_to(ROOT).as_posix()
        if (lines := source.count("\n")) > FILE_LINES:
            yield name, lines
        for function in ast.walk(ast.parse(source)):
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (function.end_lineno or function.lineno) - function.lineno + 1
                if lines > FUNCTION_LINES:
                    yield f"{name}:{function.name}", lines


def _files() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


if __name__ == "__main__":
    sys.exit(main())
