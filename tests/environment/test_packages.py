"""The real probe in installations whose torch or torch_xla is broken."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.environment.fakes import MISSING, SYMBOL, installation
from xladoctor.environment.child import Outcomes
from xladoctor.frontends.torch_xla.environment import packages
from xladoctor.frontends.torch_xla.environment.checks import FRAMEWORK


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that goes before what is installed, for this process and its children."""
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def outcomes() -> Outcomes:
    with FRAMEWORK.probing() as probe:
        return probe.outcomes(30.0, lambda _: None)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (SYMBOL, "cannot be imported: it was built for a torch other than 2.9.0+cpu (ImportError:"),
        ("import os; os.kill(os.getpid(), 11)", "cannot be imported: ended by signal 11"),
        ("raise SystemExit(0)", "cannot be imported: SystemExit: 0"),
        ("raise KeyboardInterrupt", "cannot be imported: KeyboardInterrupt"),
        ("x = (", "cannot be imported: SyntaxError: "),
        ("", "cannot be imported: ModuleNotFoundError: No module named 'torch_xla._internal'"),
        (MISSING.format("torch_xla"), "not installed for "),
        (MISSING.format("absl"), "cannot be imported: ModuleNotFoundError: No module named 'absl'"),
    ],
    ids=["symbol", "segfault", "exit", "interrupt", "syntax", "empty", "missing", "incomplete"],
)
def test_broken_torch_xla(path: Path, source: str, said: str) -> None:
    installation(path, torch_xla=source)
    ended = outcomes()
    assert FRAMEWORK.check("torch", ended).status == "ok"
    check = FRAMEWORK.check("torch_xla", ended)
    assert check.status == "failure"
    assert check.found.startswith(said)
    assert check.advice


def test_versions_are_those_of_the_packages_where_nothing_can_be_imported(path: Path) -> None:
    source = "raise ImportError('libcudart.so.12: cannot open shared object file')"
    installation(path, torch=source, torch_version="2.8.0")
    ended = outcomes()
    assert "LD_LIBRARY_PATH" in FRAMEWORK.check("torch", ended).advice
    check = packages.versions(ended)
    assert check.status == "failure"
    assert check.found.startswith("torch 2.8.0 with torch_xla 2.9.0, which")
