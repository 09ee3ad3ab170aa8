"""The command, over compilers that answer what a test wants."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer

from tests.tpu_check import fakes
from xladoctor.cli import tpu_check
from xladoctor.tpu_check.compiler import interpreter

GRAPH = "module @jit_f { func.func public @main() { return } }\n"
OOM = "memory required for HLO temporaries (32.00G) exceeds available HBM (15.75G)"


def run(
    body: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> tuple[int, str]:
    """The exit status and what is printed."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    compiler = fakes.interpreter(folder, body)
    monkeypatch.setattr(interpreter, "find_compiler", lambda python: compiler)
    (folder / "step.mlir").write_text(GRAPH, encoding="utf-8")
    try:
        tpu_check.tpu_check(str(folder / "step.mlir"), ["v5e"])
    except typer.Exit as ended:
        return ended.exit_code, capsys.readouterr().out
    return 0, capsys.readouterr().out


@pytest.mark.parametrize(
    ("body", "status", "verdict"),
    [
        ("answer()", 0, "fits"),
        (f"answer('does_not_fit', '', detail={OOM!r})", 1, "does not fit"),
        ("answer('refused', '', kind='host_callback')", 2, "not compiled"),
        ("os.abort()", 2, "not compiled"),
    ],
)
def test_the_exit_status_is_the_verdict(
    body: str,
    status: int,
    verdict: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    found, printed = run(body, tmp_path, monkeypatch, capsys)

    assert found == status
    assert printed.splitlines()[0].startswith("jit_f (step.mlir), for v5e")
    assert printed.splitlines()[0].endswith(verdict)
    assert ("not how fast" in printed) == (status < 2)


def test_a_module_that_cannot_be_read_leaves_the_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The fake's module has a name and no entry computation."""
    _, printed = run("answer()", tmp_path, monkeypatch, capsys)

    assert "memory    300 bytes at the peak" in printed
    assert "padding" not in printed
