"""What lies outside a frontend's folder knows no framework, and imports none before the program."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from xladoctor.recording import bootstrap
from xladoctor.recording.bootstrap._xladoctor import import_hook

BOOTSTRAP = Path(next(iter(bootstrap.__path__)))
FRONTENDS = BOOTSTRAP / "_xladoctor"
NEUTRAL = sorted(FRONTENDS.glob("*.py"))
FRAMEWORK = re.compile(r"torch|xlac|aten|XLA_|PJRT|jax", re.IGNORECASE)


def imported(statement: str) -> set[str]:
    """The modules of a fresh interpreter after a statement, the bootstrap being on its path."""
    code = f"import sys; sys.path.insert(0, {str(BOOTSTRAP)!r}); {statement}; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


@pytest.mark.parametrize("path", NEUTRAL, ids=lambda path: path.name)
def test_module_outside_the_frontends_names_no_framework(path: Path) -> None:
    lines = path.read_text().splitlines()
    named = [
        line
        for line in lines
        if FRAMEWORK.search(line) and not line.startswith(("FRONTENDS", "BASE"))
    ]
    assert named == []


@pytest.mark.parametrize("path", NEUTRAL, ids=lambda path: path.name)
def test_bootstrap_imports_the_standard_library_alone(path: Path) -> None:
    imports = [
        name.name
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Import)
        for name in node.names
    ]
    imports += [
        node.module or ""
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom) and not node.level
    ]
    assert {name.split(".")[0] for name in imports} <= sys.stdlib_module_names


def test_frontends_are_the_folders_that_are_named() -> None:
    from xladoctor.recording.bootstrap._xladoctor.frontend import FRONTENDS as NAMES
    from xladoctor.recording.bootstrap._xladoctor.frontend import load

    folders = {
        path.parent.name
        for path in FRONTENDS.glob("*/__init__.py")
        if "FRONTEND = " in path.read_text(encoding="utf-8")
    }
    assert set(NAMES) == folders
    assert [load(name).name for name in NAMES] == list(NAMES)


def test_waiting_for_a_framework_imports_no_frontend() -> None:
    modules = imported("import _xladoctor.import_hook as hook; hook.Capture('/nowhere').install()")
    assert not [name for name in modules if name.startswith("_xladoctor.torch_xla")]
    assert "_xladoctor.session" not in modules


def test_frontend_imports_no_framework_by_itself() -> None:
    assert not {"torch", "torch_xla"} & imported("import _xladoctor.torch_xla.framework")


def test_framework_is_captured_from_its_import_on(tmp_path: Path) -> None:
    """By a package that has the name, and nothing else, of a framework."""
    (tmp_path / "torch_xla.py").write_text("ran = True\n")
    imported(
        f"sys.path.insert(0, {str(tmp_path)!r}); import _xladoctor;"
        f" _xladoctor.install({str(tmp_path)!r}); import json, torch_xla;"
        " assert torch_xla.ran"
    )
    said = [line.split(" ", 2)[2] for line in (tmp_path / "python.log").read_text().splitlines()]
    assert said[:2] == ["started", "imported torch_xla"]
    assert said[2].startswith("fault AttributeError")  # it is not the real one, and still imports


def test_framework_is_captured_though_others_have_looked_for_it_before(tmp_path: Path) -> None:
    """As libraries do to know what is installed."""
    (tmp_path / "jax.py").write_text("ran = True\n")
    imported(
        f"sys.path.insert(0, {str(tmp_path)!r}); import _xladoctor, importlib.util;"
        f" _xladoctor.install({str(tmp_path)!r}); assert importlib.util.find_spec('jax');"
        " import json, jax; assert jax.ran"
    )
    said = [line.split(" ", 2)[2] for line in (tmp_path / "python.log").read_text().splitlines()]
    assert said[:2] == ["started", "imported jax"]


def test_capture_that_is_taken_off_leaves_no_finder(tmp_path: Path) -> None:
    before = [*sys.meta_path]
    capture = import_hook.Capture(str(tmp_path))
    capture.install(["not_imported_anywhere"])
    assert sys.meta_path != before
    capture.uninstall()
    assert sys.meta_path == before


def test_framework_whose_import_is_barred_is_not_captured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "barred", None)
    capture = import_hook.Capture(str(tmp_path))
    capture.install(["barred"])
    assert not capture.failed
    capture.uninstall()


def test_module_that_is_imported_later_is_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "imported_later.py").write_text("value = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path])
    told: list[int] = []
    import_hook.when_imported("imported_later", lambda module: told.append(module.value))
    assert told == []
    import_module("imported_later")
    assert told == [1]
    import_hook.when_imported("imported_later", lambda module: told.append(module.value))
    assert told == [1, 1]
    del sys.modules["imported_later"]
