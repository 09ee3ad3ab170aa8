"""From ingest on, the package knows XPlane, HLO, metrics and findings, and no framework by name.

What knows a framework is its vocabulary, and the folders of its name of the stages that have one.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from xladoctor.recording.bootstrap._xladoctor.frontend import FRONTENDS

PACKAGE = Path(__file__).parents[2] / "xladoctor"
#: Its packages, its extension module, its operators, its environment variables.
NAMED = re.compile(
    r"(?i:torch|xlac\b|\bjax)|['\"](?i:tpu)['\"]|\b(aten|prim)(::|__)|\baten\b|\b(PT_)?XLA_[A-Z]|\bPJRT_DEVICE\b"
)
#: What the frontends of one library share.
SHARED = "pytorch"
#: Files, or folders, with the reason why they may.
MAY = {
    "__init__.py": "says what the tool is for",
    "cli/analyze.py": "help, for users of the one frontend that programs can be run with",
    "cli/capture.py": "the same",
    "cli/env.py": "the same",
    "cli/gate.py": "the same",
    "cli/main.py": "the same",
    "cli/move.py": "the same",
    "cli/run.py": "the same",
    "recording/bootstrap/_xladoctor/frontend.py": "lists the frontends",
    "environment/child.py": "a setting of XLA itself",
    "environment/faults.py": "the same",
    "environment/variables.py": "the same",
    "evidence/views/00_vocabulary.sql": "kinds of devices, in the words of XLA",
    "fixes": "they change what programs call, which is a framework's own",
    "cli/tpu_check.py": "the command for what follows",
    "tpu_check": "it is about one kind of device, and the library that has its compiler",
    "ingest/process_record.py": "the setting that names the kind of devices",
}


def files() -> list[str]:
    every = (path for kind in ("py", "sql") for path in PACKAGE.rglob(f"*.{kind}"))
    return sorted(str(path.relative_to(PACKAGE)) for path in every)


def naming(file: str) -> list[str]:
    """The lines that name the framework."""
    lines = (PACKAGE / file).read_text(encoding="utf-8").splitlines()
    return [line for line in lines if NAMED.search(line)]


def allowed(file: str) -> bool:
    bootstrap = Path(file).parts[:3] == ("recording", "bootstrap", "_xladoctor")
    own = file.startswith("frontends/") or (
        bootstrap and Path(file).parts[3] in (*FRONTENDS, SHARED)
    )
    return own or any(file == may or file.startswith(f"{may}/") for may in MAY)


def test_files_name_no_framework() -> None:
    assert {file: naming(file) for file in files() if not allowed(file) and naming(file)} == {}


@pytest.mark.parametrize("may", MAY)
def test_exceptions_are_used(may: str) -> None:
    assert any(naming(file) for file in files() if file == may or file.startswith(f"{may}/"))
