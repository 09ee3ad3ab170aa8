"""Programs before and after the move: all of the text, and what is said about it."""

from __future__ import annotations

import ast
import os
from pathlib import Path

import pytest

from xladoctor.move.interface import FileMove
from xladoctor.move.program import move
from xladoctor.move.targets import table_for, target_of

CASES = Path(__file__).with_name("cases")
NAMES = sorted(path.name.removesuffix(".before.txt") for path in CASES.glob("*.before.txt"))


def moved(text: str, folder: Path, to: str = "torch_tpu", device: str | None = None) -> FileMove:
    script = folder / "train.py"
    script.write_bytes(text.encode())
    names = table_for([script])
    (file,) = move([script], folder, names, target_of(names, to, device), several=False).files
    return file


def described(file: FileMove) -> str:
    """The moved text, with what is said about it as comments."""
    said = [
        f"# {kind} {each.line} {each.code}: {each.text}\n"
        for kind in ("refused", "behaviour", "relies")
        for each in getattr(file, kind)
    ]
    return "".join([file.moved, *said])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("to", "device"), [("torch_tpu", None), ("torch.compile", "cpu")])
def test_program(name: str, to: str, device: str | None, tmp_path: Path) -> None:
    found = described(moved((CASES / f"{name}.before.txt").read_text(), tmp_path, to, device))
    after = CASES / f"{name}.{to}.after.txt"
    if os.environ.get("XLADOCTOR_UPDATE_SNAPSHOTS"):
        after.write_text(found)
    assert found == after.read_text()
    ast.parse(found)


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_line_ends_and_mark_stay(ending: str, mark: str, tmp_path: Path) -> None:
    before = mark + ending.join(
        [
            "import torch",
            "import torch_xla",
            "",
            "x = 1   # odd\t",
            "torch_xla.sync()",
            "y = '''",
            "'''",
        ]
    )
    after = mark + ending.join(["import torch", "", "x = 1   # odd\t", "y = '''", "'''"])
    assert moved(before, tmp_path).moved == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("xm.optimizer_step(a or b)", "(a or b).step()"),
        ("x = (xm.optimizer_step(optimizer))", "x = (optimizer.step())"),
        ("xm.add_step_closure(f)", "f()"),
        ("xm.add_step_closure(f, args=more)", "f(*more)"),
        ("xm.add_step_closure(f, (a, xm.xla_device()))", 'f(a, torch.device("tpu"))'),
        ("xm.mark_step(); f()", "f()"),
        ("f(); xm.mark_step()", "f()"),
        ("if f: xm.mark_step()", "if f: pass"),
        ("for a in b:\n    xm.mark_step()", "for a in b:\n    pass"),
        ("with f() as a, xm.unknown: pass", "with f() as a, xm.unknown: pass"),
        ("xm.mark_step(wait=False)", None),
        ("xm.mark_step(wait=True)", "torch.accelerator.synchronize()"),
        ("unused = xm.mark_step()", None),
        ("used = xm.mark_step()\nprint(used)", "used = xm.mark_step()\nprint(used)"),
        ('a["xla"] = b.to("xla:1")', 'a["tpu"] = b.to("tpu:1")'),
        ('"xla"', '"xla"'),
        ("xm.optimizer_step(**options)", "xm.optimizer_step(**options)"),
    ],
)
def test_statement(before: str, after: str | None, tmp_path: Path) -> None:
    head, kept = "import torch_xla.core.xla_model as xm\nimport torch\n", "import torch\n"
    found = moved(f"{head}{before}\n", tmp_path)
    text = "" if after is None else f"{after}\n"
    assert found.moved == (head if "xm." in text else kept) + text
    assert bool(found.refused) == ("xm." in text)


def test_a_comparison_of_devices_is_named(tmp_path: Path) -> None:
    text = (
        "import torch_xla\nx = torch_xla.device()\ny = a.device == x\nz = a.device.type == 'xla'\n"
    )
    found = moved(text, tmp_path)
    assert [(each.line, each.code) for each in found.relies] == [(3, "a.device == x")]


@pytest.mark.parametrize(
    ("body", "compiled"),
    [
        ("return model(x)", True),
        ("loss = model(x).sum(); loss.backward()", False),
        ("return update(model(x))", False),
        ("return other(model(x))", True),
    ],
)
def test_only_functions_without_a_backward_pass_are_compiled(
    body: str, compiled: bool, tmp_path: Path
) -> None:
    """A compiled function with all of a step in it trains nothing on TorchTPU."""
    helpers = "def update(x):\n    x.backward()\n\ndef other(x):\n    return x\n\n"
    text = f"import torch, torch_xla\n\n{helpers}def f(x):\n    {body}\n\n"
    found = moved(f"{text}g = torch_xla.compile(f, full_graph=True)\n", tmp_path)
    assert found.moved.endswith("g = torch.compile(f)\n" if compiled else "g = f\n")
    assert bool(found.behaviour) != compiled
    decorated = moved(text.replace("def f(", "@torch_xla.compile\ndef f("), tmp_path)
    assert ("@torch.compile\ndef f(" in decorated.moved) == compiled


def test_a_name_that_is_the_programs_own_is_left_to_it(tmp_path: Path) -> None:
    kept = "def f(torch_xla):\n    torch_xla.sync()\n"
    text = f"import torch_xla\n\n{kept}\nrank = torch_xla.runtime.global_ordinal()\n"
    found = moved(text, tmp_path)
    assert kept in found.moved
    assert "rank = get_rank()\n" in found.moved
    assert "def get_rank():" in found.moved
