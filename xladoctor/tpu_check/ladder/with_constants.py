"""Runs a script with other values for constants of its top level: in the program's interpreter, so
with the standard library alone.

``python with_constants.py NAME=VALUE... -- SCRIPT [ARGS]...``; lines and names of files stay.
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path


def _value(text: str) -> ast.expr:
    """The code of a value; what is none is a text."""
    try:
        ast.literal_eval(text)
        return ast.parse(text, mode="eval").body
    except (ValueError, SyntaxError):
        return ast.Constant(text)


def assignments(body: list[ast.stmt]) -> Iterator[tuple[str, ast.Assign | ast.AnnAssign]]:
    """The constants of a script's top level, also in its conditions, with the statement of each."""
    for each in body:
        if isinstance(each, ast.If):
            yield from assignments([*each.body, *each.orelse])
        elif isinstance(each, ast.Assign | ast.AnnAssign) and each.value:
            targets = each.targets if isinstance(each, ast.Assign) else [each.target]
            yield from ((target.id, each) for target in targets if isinstance(target, ast.Name))


def _replaced(source: bytes, script: str, values: dict[str, str]) -> ast.Module:
    tree = ast.parse(source, script)
    for name, each in assignments(tree.body):
        if name in values and each.value:
            value = ast.copy_location(_value(values[name]), each.value)
            each.value = ast.fix_missing_locations(value)
    return tree


def _run() -> None:
    dashes = sys.argv.index("--")
    values = dict(pair.split("=", 1) for pair in sys.argv[1:dashes])
    sys.argv[:] = sys.argv[dashes + 1 :]
    script = sys.argv[0]
    sys.path[0] = str(Path(script).resolve().parent)
    tree = _replaced(Path(script).read_bytes(), script, values)
    code = compile(tree, script, "exec", dont_inherit=True)
    names = sys.modules["__main__"].__dict__
    for name in [name for name in names if not name.startswith("__")]:
        del names[name]
    names["__file__"] = script
    names["__doc__"] = None
    exec(code, names)  # noqa: S102 - the user's own script


if __name__ == "__main__":
    _run()
