"""Where a program's files use names of a package that its framework has replaced."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from xladoctor.recording import bootstrap
from xladoctor.recording.bootstrap._xladoctor import other_names

BOOTSTRAP = Path(next(iter(bootstrap.__path__)))


def found(path: Path, source: str | bytes, users: bool = True) -> list[tuple[str, int, str]]:
    """The uses of torch_xla in a main file: names, lines, functions."""
    path.write_bytes(source if isinstance(source, bytes) else source.encode())
    uses = [*other_names.uses("torch_xla", str(path), lambda file: users and file == str(path))]
    assert {use.file for use in uses} <= {str(path)}
    return [(use.name, use.line, use.function) for use in uses]


@pytest.fixture
def main(tmp_path: Path) -> Path:
    return tmp_path / "train.py"


@pytest.mark.parametrize(
    ("imported", "called", "name"),
    [
        ("import torch_xla", "torch_xla.sync()", "torch_xla.sync"),
        (
            "import torch_xla.core.xla_model as xm",
            "xm.mark_step()",
            "torch_xla.core.xla_model.mark_step",
        ),
        (
            "import torch_xla.core.xla_model",
            "torch_xla.core.xla_model.mark_step()",
            "torch_xla.core.xla_model.mark_step",
        ),
        ("from torch_xla.core import xla_model", "xla_model.save", "torch_xla.core.xla_model.save"),
        ("from torch_xla import launch as go", "go(main)", "torch_xla.launch"),
    ],
)
def test_name_is_given_in_full(main: Path, imported: str, called: str, name: str) -> None:
    source = f"{imported}\n\ndef step():\n    return {called}\n"
    assert found(main, source) == [("torch_xla", 1, "<module>"), (name, 4, "step")]


def test_use_in_another_use_and_in_other_places(main: Path) -> None:
    source = """\
import torch_xla.core.xla_model as xm
@xm.wrapped(xm.a)
async def step(device=xm.xla_device()):
    return [xm.b for _ in xm.c().d]
class Model:
    device = xm.e
"""
    core = "torch_xla.core.xla_model"
    assert found(main, source) == [
        ("torch_xla", 1, "<module>"),
        (f"{core}.wrapped", 2, "<module>"),
        (f"{core}.a", 2, "<module>"),
        (f"{core}.xla_device", 3, "step"),
        (f"{core}.b", 4, "step"),
        (f"{core}.c", 4, "step"),
        (f"{core}.e", 6, "<module>"),
    ]


@pytest.mark.parametrize(
    "source",
    [
        "import torch\ntorch.ones(2)\n",
        "import torch_xla_extras\ntorch_xla_extras.sync()\n",
        "from .torch_xla import sync\nsync()\n",
        "# torch_xla.sync()\ntext = 'torch_xla.sync()'\n",
        "import torch_xla\nx = (\n",
        b"import torch_xla\nx = '\xff'\n",
        b"import torch_xla\0\n",
    ],
    ids=["none", "alike", "own", "text", "syntax", "encoding", "zero"],
)
def test_file_without_a_use_that_can_be_read(main: Path, source: str | bytes) -> None:
    assert found(main, source) == []


def test_missing_main_file(tmp_path: Path) -> None:
    assert [*other_names.uses("torch_xla", str(tmp_path / "gone.py"), lambda _: False)] == []
    assert [*other_names.uses("torch_xla", None, lambda _: False)] == []


def test_modules_of_the_program_and_no_libraries(
    main: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("own", "library"):
        module = ModuleType(f"made_{name}")
        module.__file__ = str(tmp_path / f"{name}.py")
        Path(module.__file__).write_text("import torch_xla\n")
        monkeypatch.setitem(sys.modules, module.__name__, module)
    main.write_text("import own, library\n")
    own = os.fspath(tmp_path / "own.py")
    uses = other_names.uses("torch_xla", str(main), lambda file: file == own)
    assert [(use.file, use.line) for use in uses] == [(own, 1)]


def test_module_whose_import_has_ended_the_program(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text("import torch_xla_that_is_missing\n")
    (tmp_path / "train.py").write_text(
        f"""\
import atexit, sys
sys.path.insert(0, {str(BOOTSTRAP)!r})
main = __file__
from _xladoctor.other_names import uses
def tell():
    for use in uses("torch_xla_that_is_missing", main, lambda file: "model" in file):
        print(use.line, use.file)
atexit.register(tell)
import model
"""
    )
    done = subprocess.run(
        [sys.executable, tmp_path / "train.py"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (1, f"1 {tmp_path / 'model.py'}\n")
