"""An interpreter with libtpu is found, or it is said what is missing and how to get it."""

from __future__ import annotations

import platform
import sys
from pathlib import Path

import pytest

from xladoctor.tpu_check.compiler.interpreter import Compiler, NoCompilerError, find_compiler


@pytest.fixture(autouse=True)
def _on_linux(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")


def script(folder: Path, body: str) -> Path:
    file = folder / "python"
    file.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
    file.chmod(0o755)
    return file


def test_versions_of_an_interpreter(tmp_path: Path) -> None:
    said = '{"python": [3, 12, 1], "versions": {"jax": "1", "jaxlib": "2", "libtpu": "3"}}'
    python = script(tmp_path, f"echo noise; echo '{said}'")
    compiler = find_compiler(python)
    assert (compiler.python, compiler.jaxlib, compiler.libtpu) == (python, "2", "3")


@pytest.mark.parametrize(
    ("recorded", "known"),
    [
        ({}, False),
        ({"torch_xla": "2.9.0"}, False),
        ({"jax": "1", "jaxlib": "2"}, True),
        ({"jax": "1", "jaxlib": "2", "libtpu": "4"}, False),
        ({"torch_xla": "2.9.0", "libtpu (pinned)": "3"}, True),
        ({"jax": "0", "jaxlib": "2"}, False),
    ],
)
def test_whether_a_run_has_the_compiler(recorded: dict[str, str], known: bool) -> None:
    assert Compiler(Path("python"), "2", "3", "1").is_of(recorded) is known


def test_this_interpreter_is_asked_if_none_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "")
    with pytest.raises(NoCompilerError) as caught:
        find_compiler()
    assert caught.value.what == f"{sys.executable} has no libtpu"
    assert 'pip install "jax[tpu]"' in caught.value.hint
    assert "terms of Google Cloud" in caught.value.hint


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ('echo \'{"python": [3, 9, 0], "versions": {}}\'', "is Python 3.9.0; 3.10 or newer"),
        ('echo \'{"python": [3, 12, 0], "versions": {}}\'', "has no jax and no jaxlib and no lib"),
        ("echo oops >&2; exit 3", "ended with status 3: oops"),
        ("echo hello", "cannot be used as an interpreter"),
        ("true", "cannot be used as an interpreter"),
        ("echo []", "cannot be used as an interpreter"),
        ('echo \'{"python": 3, "versions": []}\'', "cannot be used as an interpreter"),
        ("kill -9 $$", "ended with status -9"),
    ],
)
def test_what_is_wrong_with_an_interpreter(tmp_path: Path, body: str, words: str) -> None:
    with pytest.raises(NoCompilerError, match=words):
        find_compiler(script(tmp_path, body))


def test_no_interpreter(tmp_path: Path) -> None:
    with pytest.raises(NoCompilerError, match="No such file") as caught:
        find_compiler(tmp_path / "missing")
    assert "--python" in caught.value.hint


def test_other_machines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "arm64")
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(NoCompilerError, match="made for Linux on x86-64, and this is darwin on a"):
        find_compiler()
