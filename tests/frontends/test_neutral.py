"""From ingest on, the package knows XPlane, HLO, metrics and findings, and no framework by name.

What knows a framework is its vocabulary, and the folders of its name of the stages that have one.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "xladoctor"
#: Its packages, its extension module, its operators, its environment variables.
NAMED = re.compile(
    r"(?i:torch|xlac\b)|\b(aten|prim)(::|__)|\baten\b|\b(PT_)?XLA_[A-Z]|\bPJRT_DEVICE\b"
)
#: An import of what reads a frontend's own formats, which names no more than the folder.
IMPORT = re.compile(r"\s*(from|import) xladoctor\.\w+\.torch(_xla)?\b.*")
#: Files, or folders, with the reason why they may.
MAY = {
    "__init__.py": "says what the tool is for",
    "cli/analyze.py": "help, for users of the one frontend that programs can be run with",
    "cli/capture.py": "the same",
    "cli/env.py": "the same",
    "cli/main.py": "the same",
    "cli/run.py": "the same",
    "recording/bootstrap/_xladoctor/frontend.py": "lists the frontends",
    "environment/child.py": "a setting of XLA itself",
    "environment/faults.py": "the same",
    "environment/examine.py": "the same as the frontends' list",
    "ingest/process_record.py": "the setting that names the kind of devices",
}


def files() -> list[str]:
    every = (path for kind in ("py", "sql") for path in PACKAGE.rglob(f"*.{kind}"))
    return sorted(str(path.relative_to(PACKAGE)) for path in every)


def naming(file: str) -> list[str]:
    """The lines that name the framework."""
    lines = (PACKAGE / file).read_text(encoding="utf-8").splitlines()
    return [line for line in lines if NAMED.search(line) and not IMPORT.fullmatch(line)]


def allowed(file: str) -> bool:
    own = {"torch_xla", "jax", "torch"} & set(Path(file).parts) or file.startswith("frontends/")
    return bool(own) or any(file == may or file.startswith(f"{may}/") for may in MAY)


@pytest.mark.parametrize("file", [file for file in files() if not allowed(file)])
def test_file_names_no_framework(file: str) -> None:
    assert naming(file) == []


@pytest.mark.parametrize("may", MAY)
def test_exceptions_are_used(may: str) -> None:
    assert any(naming(file) for file in files() if file == may or file.startswith(f"{may}/"))
